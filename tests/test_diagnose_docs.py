"""The example of docs/diagnose.md: its log is written, diagnosed, and held against what the manual says."""

import math
import re
from pathlib import Path

import pytest

from planner.core import units
from planner.core.diagnosing import Diagnosis, diagnose
from planner.core.logs.reading import read
from planner.core.simulation import PassCost, Scheduler
from planner.core.simulation.sequence import Sequence
from tests.log_writer import write
from tests.schedules import Schedule

MANUAL = (Path(__file__).resolve().parent.parent / "docs" / "diagnose.md").read_text()
# When, prompt tokens, answer tokens.
REQUESTS = ((0, 1_000, 251), (10, 1_000, 251), (20, 500, 251), (30, 500, 251), (40, 2_000, 251), (50, 1_000, 401), (51.5, 6_000, 51))


@pytest.fixture(scope="module")
def log() -> str:
    requests = tuple(
        Sequence(arrival_s=at, prompt=prompt, output=output, conversation=number) for number, (at, prompt, output) in enumerate(REQUESTS)
    )
    server = Scheduler(policy="llama-server", slots=2, batch_tokens=2_048, micro_batch_tokens=512, context_tokens=8_192)
    return write(Schedule(scheduler=server, cost=PassCost(step_s=1 / 50, token_s=1 / 1_000), requests=requests)).text


@pytest.fixture(scope="module")
def found(log: str) -> Diagnosis:
    return diagnose(read([log.encode()]))


def test_the_summaries_add_up_to_the_manual_s_table(log: str) -> None:
    prompts = [float(ms) / 1_000 for ms in re.findall(r"prompt eval time = +([\d.]+) ms", log)]
    answers = [float(ms) / 1_000 for ms in re.findall(r"(?<!prompt)  +eval time = +([\d.]+) ms", log)]
    assert (len(prompts), len(answers)) == (7, 7)
    assert f"| together | {sum(each[1] for each in REQUESTS):,} | {sum(each[2] for each in REQUESTS):,} " in MANUAL
    assert f"| {math.fsum(prompts):.3f} s | {math.fsum(answers):.3f} s |" in MANUAL


def test_the_parts_are_those_of_the_manual(found: Diagnosis) -> None:
    whole = found.breakdown
    assert whole is not None
    for name, seconds, shown in (
        ("own prompt", whole.own_prefill_s, 12.0),
        ("own answer", whole.own_generation_s, 34.0),
        ("contention", whole.contention_s, 5.946),
        ("waiting", whole.waiting_s, 0.0),
    ):
        (line,) = re.findall(rf"^    {name} .*= +([\d.]+) s +(\d+ %)$", MANUAL, re.MULTILINE)
        assert seconds == pytest.approx(shown, abs=0.02), name
        assert float(line[0]) == shown, name
        assert line[1] == units.percent(whole.share(seconds)), name
    assert f"{whole.total_s:.3f} s" in MANUAL


def test_the_finding_and_its_effect_are_those_of_the_manual(found: Diagnosis) -> None:
    first = found.findings[0]
    assert f"*{first.title}*" in MANUAL
    assert first.effect is not None
    assert f"goes from {units.seconds(first.effect.before)} to {units.seconds(first.effect.after)}" in MANUAL
    assert found.during_long_prefill.median == pytest.approx(0.5, abs=0.005)
    assert found.otherwise.median == pytest.approx(50, abs=0.5)
