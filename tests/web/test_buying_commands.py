"""`manage.py sensitivity`, `ladder`, `ledger` and `note`: what scripts read, what people read, and refusals in one line with status 2."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import ManagementUtility

MACHINE = ("Qwen/Qwen3-8B", "--device", "rtx-4090", "--users", "20", "--engine", "vllm", "--generate-seconds", "12", "--turn-seconds", "90")
PRICES = "device,price,currency,condition\nrtx-3090,750,EUR,used\nrtx-3090,1300,EUR,new\n"


class Ran:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command in this process, as manage.py would."""

    def call(*words: str) -> Ran:
        status: Any = 0
        try:
            ManagementUtility(["manage.py", *words]).execute()
        except SystemExit as stop:
            status = stop.code or 0
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call


@pytest.fixture
def price_list(tmp_path: Path) -> str:
    path = tmp_path / "prices.csv"
    path.write_text(PRICES)
    return str(path)


def test_sensitivity_has_the_break_points(run: Any) -> None:
    found = run("sensitivity", *MACHINE, "--json").json
    users = next(each for each in found["ranges"] if each["field"] == "users")
    assert (users["down"]["last"], users["up"]["last"], users["up"]["beyond"]) == (8, 39, 40)
    assert users["up"]["verdict"] == "does_not_fit"
    assert "At 40 users it does not fit" in run("sensitivity", *MACHINE).out


def test_ladder_has_its_rungs_in_order_of_cost(run: Any, price_list: str) -> None:
    found = run("ladder", "Qwen/Qwen3-8B", "--have", "rtx-3090", "--users", "120", "--prices", price_list, "--json").json
    assert found["target"] == 120
    assert {"change", "users", "users_gained", "price", "price_words", "watts", "quality_risk", "next_limit"} <= found["rungs"][0].keys()
    card = next(rung for rung in found["rungs"] if rung["kind"] == "card")
    assert (card["price"], [price["condition"] for price in card["prices"]]) == (750, ["used", "new"])


def test_ledger_has_slots_and_peaks(run: Any) -> None:
    found = run("ledger", *MACHINE, "--beside", "desktop,reranker=2GiB", "--json").json
    assert [each["name"] for each in found["entries"]] == ["A desktop", "reranker"]
    assert found["peaks"][0]["outlook"] == "does_not_fit"
    assert "will not restart while the old instance drains" in run("ledger", *MACHINE).out


def test_note_has_every_section(run: Any, price_list: str) -> None:
    words = ("note", *MACHINE, "--prices", price_list, "--kwh-price", "0.3", "--no-simulation", "--compare", "rtx-3090,rtx-4090,l40s")
    found = run(*words, "--json").json
    assert {"need", "assumptions", "options", "choice", "rejected", "holds", "cost", "power", "check"} <= {
        section["key"] for section in found["sections"]
    }
    assert found["currency"] == "EUR"


# Words, what the one line says.
REFUSED = [
    (("sensitivity", "Qwen/Qwen3-8B"), "--device: Say what it runs on"),
    (("ladder", "Qwen/Qwen3-8B", "--have", "rtx-9999"), "--have: “rtx-9999” is not in the catalogue"),
    (("ladder", "Qwen/Qwen3-8B", "--have", "rtx-3090", "--prices", "/nonexistent.csv"), "--prices"),
    (("ledger", *MACHINE, "--beside", "nonsense"), "--beside: “nonsense” is not known here"),
    (("note", *MACHINE, "--hours", "25"), "--hours: A day has 24 hours"),
    (("note", *MACHINE, "--idle-watts", "50"), "--busy-watts: Give both"),
    (("note", *MACHINE, "--idle-watts", "500", "--busy-watts", "50"), "--busy-watts: A busy machine"),
    (("note", *MACHINE, "--months", "0"), "--months: Give 1 to 240 months"),
    (("note", *MACHINE, "--months", "1.5"), "--months: “1.5” is no whole number"),
    (("note", *MACHINE, "--api-output", "-3"), "--api-output: “-3” is out of range"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line(run: Any, words: tuple[str, ...], said: str) -> None:
    ran = run(*words)
    assert ran.status == 2
    assert ran.out == ""
    assert said in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("command", ["sensitivity", "ladder", "ledger", "note"])
def test_help_has_an_example(run: Any, command: str) -> None:
    assert f"manage.py {command} Qwen/Qwen3-8B" in run(command, "--help").out
