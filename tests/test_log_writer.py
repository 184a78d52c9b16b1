"""The log writer: its books add up, its lines are the server's, and its day has the shape of the case this began with."""

import gzip
import json
import math
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from planner.core.logs.reading import read
from planner.core.logs.record import Task
from tests.log_writer import Build, Envelope, Style, Written, clock, write
from tests.schedules import DAY_S, random_schedule, the_case

REAL = Path(__file__).resolve().parent.parent.parent / "shared/truth/logs/own/llama-server"
BUILDS: list[Build] = ["b4798", "b7079", "b9873", "b11434"]
ENVELOPES: list[Envelope] = ["default", "no timestamps", "no prefix", "jsonl", "colors", "journald", "docker"]
# Logs of real servers that show what a build prints of tasks.
LOGS_OF: dict[Build, list[str]] = {
    "b4798": ["old/xllamacpp-0.1.10"],
    "b7079": ["old/xllamacpp-0.2.5"],
    "b9873": ["old/xllamacpp-2026.7.9873"],
    "b11434": ["a_short", "b_overlap_b2048", "c_overlap_b512", "d_lora", "e_cache", "g_queue"],
}


@pytest.fixture(scope="module")
def day() -> Written:
    return write(the_case())


def test_the_case_has_the_shape_of_the_day_it_began_with(day: Written) -> None:
    shares = day.account.shares()
    processing = 1 - shares["waiting"]
    waits = [truth.other_adapter_s for truth in day.truths if truth.other_adapter_s]
    beside, otherwise = day.account.generation_rates()
    assert len(day.truths) == 854
    assert max(truth.ended_s for truth in day.truths) == pytest.approx(DAY_S, rel=0.01)
    assert day.idle_share == pytest.approx(0.92, abs=0.005)
    assert shares["own_generation"] / processing == pytest.approx(0.48, abs=0.01)
    assert shares["contention"] / processing == pytest.approx(0.35, abs=0.01)
    assert shares["own_prefill"] / processing == pytest.approx(0.16, abs=0.01)
    assert beside == pytest.approx(0.34, abs=0.01)
    assert otherwise == pytest.approx(45, abs=2)
    assert (len(waits), sum(waits)) == (40, pytest.approx(540, abs=10))
    assert all(truth.prompt_tokens >= 15_000 for truth in day.truths if truth.kind == 1)


@pytest.mark.parametrize("seed", range(8))
def test_every_second_of_a_task_has_one_cause(seed: int) -> None:
    written = write(random_schedule(seed))
    assert len(written.truths) >= 10
    for truth in written.truths:
        assert truth.arrival_s <= truth.launched_s + 1e-9 <= truth.started_s + 2e-9 < truth.first_token_s <= truth.ended_s
        assert truth.waiting_s == pytest.approx(truth.other_adapter_s + truth.same_adapter_s, abs=1e-6)
        assert truth.contention_s >= -1e-6
        # Nobody is faster in company.
        assert truth.ended_s - truth.first_token_s >= truth.own_generation_s - 1e-6
    assert math.fsum(written.account.shares().values()) == pytest.approx(1)
    assert len({truth.number for truth in written.truths}) == len(written.truths)


def shape(line: str) -> str:
    """A line without its figures."""
    return re.sub(r"\s*\d+(?:\.\d+)*", " #", line).strip()


def messages(text: str) -> list[str]:
    """The lines of tasks, without prefix."""
    return [match.group() for match in re.finditer(r"(?:slot +\w+: |prompt eval time| +eval time| +total time).*", text)]


@pytest.mark.parametrize("seed", [0, 30, 60])
def test_on_an_uneven_machine_passes_differ_and_what_tasks_need_alone_does_not(seed: int) -> None:
    even, uneven = write(random_schedule(seed)), write(random_schedule(seed, noise=0.1))
    assert uneven.text != even.text
    assert uneven.account.busy_s / uneven.account.passes == pytest.approx(even.account.busy_s / even.account.passes, rel=0.05)
    alone = {(truth.computed_tokens, truth.prompt_tokens): truth.own_prefill_s for truth in even.truths}
    shared = [truth for truth in uneven.truths if (truth.computed_tokens, truth.prompt_tokens) in alone]
    assert shared
    assert all(truth.own_prefill_s == alone[truth.computed_tokens, truth.prompt_tokens] for truth in shared)


@pytest.mark.parametrize("build", BUILDS)
def test_every_line_of_a_task_is_one_that_the_real_build_prints(build: Build) -> None:
    if not REAL.exists():
        pytest.skip("the real servers' logs are not here")
    real = {shape(line) for name in LOGS_OF[build] for line in messages(gzip.decompress((REAL / f"{name}.log.gz").read_bytes()).decode())}
    written = {shape(line) for seed in (0, 30, 35) for line in messages(write(random_schedule(seed), Style(build)).text)}
    if build in {"b7079", "b9873"}:  # their logs have no such choice of a slot in them
        written = {line for line in written if "LCP similarity" not in line}
    assert written <= real


def test_the_lines_of_a_task_stand_in_the_order_of_a_real_log() -> None:
    order = ["get_availabl", "launch_slot_", "prompt processing", "n_gen", "prompt eval", "       eval", "total", "graphs", "release"]
    for truth in (written := write(random_schedule(35))).truths[:20]:
        lines = [line for line in written.text.splitlines() if f"| task {truth.number} |" in line]
        ranks = [next(rank for rank, mark in enumerate(order) if mark in line) for line in lines]
        assert ranks == sorted(ranks)
        assert ranks[-5:] == [4, 5, 6, 7, 8]


def test_progress_is_printed_once_a_pass_and_once_in_three_seconds(day: Written) -> None:
    # A real log: n_tokens steps by 2048 less the streams (b_overlap_b2048: 2045 beside three), tg_3s over 3 s or a stall.
    long = next(truth for truth in day.truths if truth.kind == 1)
    steps = [int(found) for found in re.findall(rf"task {long.number} \| prompt processing, n_tokens = +(\d+)", day.text)]
    assert {b - a for a, b in pairwise(steps)} <= {2_045, 2_046, 2_047}
    times = {truth.number: [truth.first_token_s] for truth in day.truths}
    for m, s, ms, us, task in re.findall(r"(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) I slot print_timing: id +\d+ \| task (\d+) \| n_gen", day.text):
        times[int(task)].append(int(m) * 60 + int(s) + int(ms) / 1e3 + int(us) / 1e6)
    assert all(b - a >= 2.999999 for printed in times.values() for a, b in pairwise(printed))


STYLES = [Style(build, envelope) for build in BUILDS for envelope in ENVELOPES if envelope != "jsonl" or build in {"b9873", "b11434"}]


@cache
def small(style: Style) -> Written:
    """Some dozens of turns, long ones among them."""
    return write(random_schedule(60), style)


@pytest.mark.parametrize("style", STYLES, ids=lambda style: f"{style.build}, {style.envelope}")
def test_every_envelope_carries_the_same_lines(style: Style) -> None:
    plain = small(Style(style.build, "no prefix")).text.splitlines()
    wrapped = small(style).text.splitlines()
    if style.envelope == "jsonl":
        wrapped = [json.loads(entry)["msg"].removesuffix("\n") for entry in wrapped]
    assert len(wrapped) == len(plain)
    assert all(line.endswith(message) for line, message in zip(wrapped, plain, strict=True))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: f"{style.build}, {style.envelope}")
def test_what_was_written_is_read_again(style: Style) -> None:
    written = small(style)
    found = read([written.text.encode()])
    tasks = {task.number: task for task in found if isinstance(task, Task)}
    assert (found.facts.engine, found.counts.unparsed_lines, found.counts.other_lines) == ("llama-server", 0, 0)
    assert len(tasks) == len(written.truths)
    for truth in written.truths:
        task = tasks[truth.number]
        assert (task.ending, task.slot) == ("finished", truth.slot)
        assert (task.prompt_tokens, task.computed_tokens, task.output_tokens) == (
            truth.prompt_tokens,
            truth.computed_tokens,
            truth.output_tokens,
        )
        assert task.prefill_s == pytest.approx(truth.first_token_s - truth.started_s, abs=1e-5)
        assert task.generate_s == pytest.approx(truth.ended_s - truth.first_token_s, abs=1e-5)
        if style.build in {"b9873", "b11434"} and style.envelope not in {"no timestamps", "no prefix"}:
            assert task.launched_s == pytest.approx(truth.launched_s, abs=1e-5)
            assert task.started_s == pytest.approx(truth.started_s, abs=2e-5)


@pytest.mark.parametrize(
    ("at_s", "printed"),
    [(0.003243, "0.00.003.243"), (85.196944, "1.25.196.944"), (3517 * 60 + 9.125958, "3517.09.125.958")],  # the last from a two days' log
)
def test_the_clock_counts_minutes_without_end(at_s: float, printed: str) -> None:
    assert clock(at_s) == printed
