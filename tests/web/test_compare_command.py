"""`manage.py compare`: what a script gets, what a terminal shows, and the sentences for what cannot be used."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

QWEN = "Qwen/Qwen3-8B"
FEW = ("--device", "rtx-4090,l40s", "--count", "1,2")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    call_command("compare", *arguments)
    return capsys.readouterr().out


def options(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    found = json.loads(run(capsys, *arguments, "--json"))
    assert found["schema"] == 1
    return found["options"]


def test_json_has_every_row_of_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    rows = options(capsys, QWEN, *FEW, "--users", "200")
    assert {(row["device"], row["count"]) for row in rows} == {("rtx-4090", 1), ("rtx-4090", 2), ("l40s", 1), ("l40s", 2)}
    assert {row["verdict"] for row in rows} == {"fits", "tight", "does_not_fit"}
    assert all(isinstance(row["price"], int | float) and isinstance(row["watts"], int) for row in rows)


def test_a_row_is_the_plan_of_its_changes(capsys: pytest.CaptureFixture[str]) -> None:
    row = options(capsys, QWEN, *FEW)[0]
    changes = [word for name, value in row["changes"].items() for word in (f"--{name.replace('_', '-')}", str(value))]
    call_command("plan", QWEN, *changes, "--json")
    fit = json.loads(capsys.readouterr().out)["fit"]
    assert (fit["verdict"], fit["slots_needed"]) == (row["verdict"], row["slots_needed"])


def test_every_option_of_a_plan_counts(capsys: pytest.CaptureFixture[str]) -> None:
    rows = options(capsys, QWEN, *FEW, "--engine", "vllm", "--weights-quant", "awq", "--cache-type", "fp8", "--context", "32k")
    assert {(row["engine"], row["weights"], row["cache_type"], row["context"]) for row in rows} == {("vllm", "AWQ", "fp8", 32_768)}


def test_limits_and_what_stands_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("device;price;currency\nrtx-4090;1900;EUR\nl40s;7500;EUR\n", encoding="utf-8")
    rows = options(capsys, QWEN, *FEW, "--prices", str(prices), "--have", "rtx-4090", "--max-price", "2000", "--max-watts", "900")
    assert {(row["device"], row["count"], row["price"]) for row in rows} == {("rtx-4090", 1, 0), ("rtx-4090", 2, 1900)}
    assert rows[0]["unit_price"]["currency"] == "EUR"


def test_csv_has_a_line_for_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, QWEN, *FEW, "--csv", "--sort", "watts")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(options(capsys, QWEN, *FEW))
    assert [int(row["watts"]) for row in rows] == sorted(int(row["watts"]) for row in rows)
    assert float(rows[0]["ttft_p95_low"]) <= float(rows[0]["ttft_p95"]) <= float(rows[0]["ttft_p95_high"])


def test_a_terminal_shows_the_best_of_each_machine(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, QWEN, *FEW, "--kwh-price", "0.3", "--hours", "10")
    lines = text.splitlines()
    assert lines[0].split()[:3] == ["verdict", "machine", "engine"]
    assert lines[0].endswith("a month")
    assert len([line for line in lines if line.startswith(("fits", "tight"))]) == 4
    assert "(2022)" in text
    assert len(run(capsys, QWEN, *FEW, "--all", "--top", "7").split("\n\n")[0].splitlines()) == 8


def test_where_nothing_passes_it_says_what_each_wish_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, QWEN, *FEW, "--max-price", "10", "--vendor", "nvidia")
    assert "--max-price alone leaves 0; --vendor alone leaves" in text


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("--device", "rtx-9999"), "--device: “rtx-9999” is not in the catalogue"),
        (("--count", "1;2"), "--count: “1;2” is no number of devices"),
        (("--have", "what"), "not in the catalogue"),
        (("--gpu-memory", "24GB"), "--gpu-memory: The table is of catalogue devices"),
        (("--max-price", "cheap"), "--max-price: “cheap” is not a number"),
        (("--max-watts", "1.5"), "--max-watts: “1.5” is no whole number"),
        (("--vendor", "acme"), "--vendor: “acme” is no maker"),
        (("--verdict", "maybe"), "--verdict: “maybe” is no verdict"),
        (("--sort", "luck"), "--sort: “luck” is nothing to sort by"),
        (("--hours", "25"), "--hours: A day has 24 hours"),
        (("--prices", "/nowhere.csv"), "--prices: /nowhere.csv cannot be read"),
        (("--context", "1M"), "--context: The model was trained for"),
        (("--engine-args", "-c 1"), "--engine: A command line belongs to one engine"),
        (("--users", "0"), "--users"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_status_2(arguments: tuple[str, ...], match: str) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("compare", QWEN, *arguments)
    assert refused.value.returncode == 2
    assert match in str(refused.value)
