"""`manage.py diagnose`: files as they come, the object scripts rely on, and refusals in one line with status 2."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import ManagementUtility

from tests.log_writer import write
from tests.schedules import random_schedule

KEYS = {
    "schema", "engine", "format", "lines", "unparsed_lines", "span", "tasks", "busy_share", "two_or_more_share", "in_flight_max", "rates", "breakdown",
    "ttft", "itl", "wait", "generation_rate", "waits_by_cause", "prompt_cache", "preemptions", "rejections", "findings", "ruled_out",
}  # fmt: skip


class Ran:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command in this process, as manage.py would."""

    def call(*words: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status: Any = 0
        try:
            ManagementUtility(["manage.py", "diagnose", *words]).execute()
        except SystemExit as stop:
            status = stop.code or 0
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with long prompts beside streams."""
    path = tmp_path_factory.mktemp("logs") / "server.log"
    path.write_text(write(random_schedule(27)).text)
    return path


def test_the_object_that_scripts_rely_on(run: Any, log: Path) -> None:
    answer = run(str(log), "--json").json
    assert set(answer) >= KEYS
    assert (answer["schema"], answer["engine"], answer["unparsed_lines"]) == (1, "llama-server", 0)
    assert answer["tasks"]["count"] == answer["tasks"]["finished"] == 50
    assert answer["findings"][0]["code"] == "long_prefill"


def test_a_pipe_a_packed_file_and_a_log_in_two_pieces_give_the_same_answer(run: Any, log: Path, tmp_path: Path) -> None:
    whole = run(str(log), "--json").json
    assert run("-", "--json", stdin=log.read_bytes()).json == whole
    assert run("-", "--json", stdin=gzip.compress(log.read_bytes())).json == whole
    packed = tmp_path / "server.log.1.gz"
    lines = log.read_bytes().split(b"\n")
    half = len(lines) // 2
    packed.write_bytes(gzip.compress(b"\n".join(lines[:half])))
    rest = tmp_path / "server.log"
    rest.write_bytes(b"\n".join(lines[half:]))
    assert run(str(packed), str(rest), "--json").json == whole


def test_the_terminal_shows_the_findings(run: Any, log: Path) -> None:
    shown = run(str(log))
    assert shown.status == 0
    assert "1. Long prompts freeze the other answers" in shown.out
    assert "Ruled out:" in shown.out


def test_given_speeds_and_the_bound_of_a_long_prompt_are_used(run: Any, log: Path) -> None:
    answer = run(str(log), "--json", "--prefill-rate", "900", "--decode-rate", "25", "--long-prefill", "1,000,000").json
    assert (answer["rates"]["prefill"], answer["rates"]["decode"]) == (900, 25)
    assert answer["generation_rate"]["during_long_prefill"]["n"] == 0
    assert answer["findings"][0]["code"] == "long_prefill"


def test_two_logs_are_compared_group_by_group(run: Any, log: Path) -> None:
    answer = run(str(log), "--before", str(log), "--json").json
    assert answer["comparison"]["changed"] == []
    assert all(row["before"] == row["after"] for row in answer["comparison"]["rows"])
    assert "Before → after" in run(str(log), "--before", str(log)).out


def test_the_report_is_written_beside_what_is_printed(run: Any, log: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    shown = run(str(log), "--html", str(report))
    assert shown.status == 0
    assert "Ruled out:" in shown.out
    page = report.read_text()
    assert page.startswith("<!doctype html>")
    assert "Long prompts freeze the other answers" in page


def test_what_was_taken_beside_the_log_is_read(run: Any, log: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls.csv"
    calls.write_text(
        "".join(
            [
                "time,purpose,prompt_tokens\n",
                *(f"{truth.arrival_s},turn,{truth.prompt_tokens}\n" for truth in write(random_schedule(27)).truths),
            ]
        )
    )
    vmstat = tmp_path / "vmstat.txt"
    vmstat.write_text(
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        + " 1  0  0 1 1 1  0  0  0  0  1  2 1  1 98  0  0\n" * 3
    )
    answer = run(str(log), "--json", "--calls", str(calls), "--vmstat", str(vmstat)).json
    assert answer["ttft_from"] == "sending"
    assert [(row["purpose"], row["tasks"]) for row in answer["purposes"]] == [("turn", 50)]
    assert "Swapping" in {each["hypothesis"] for each in answer["ruled_out"]}


# Words, and what the one line on stderr must say.
REFUSED = [
    (("missing.log",), "cannot be read"),
    (("{log}", "--prefill-rate", "fast"), "is not a number"),
    (("{log}", "--decode-rate", "0"), "above 0"),
    (("{log}", "--long-prefill", "-3"), "is not understood"),
    (("{log}", "--calls", "{log}"), "has no time"),
    (("{log}", "--metrics", "{log}"), "No metric"),
    (("{log}", "--vmstat", "{log}"), "vmstat prints"),
    (("{log}", "--before", "missing.log"), "cannot be read"),
    (("{log}", "--html", "/nowhere/report.html"), "cannot be written"),
    ((), "required"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line(run: Any, log: Path, words: tuple[str, ...], said: str) -> None:
    refused = run(*(word.format(log=log) for word in words))
    assert refused.status == 2
    assert said in refused.err
    assert refused.err.count("\n") == 1
    assert not refused.out
    # The logs are given by their place: no option is called that.
    assert "--logs" not in refused.err


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 5_000, b"hello\n", b"\x1f\x8bbroken"])
def test_what_is_no_log_is_refused_in_one_line(run: Any, content: bytes) -> None:
    refused = run("-", stdin=content)
    assert refused.status == 2
    assert refused.err.count("\n") == 1
