"""What a diagnosis finds out again: of simulated schedules whose every second is accounted for, and of real logs whose cause is known."""

import gzip
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.core.diagnosing import Options, diagnose
from planner.core.diagnosing.calls import read_calls
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.collecting import collect
from planner.core.diagnosing.diagnosis import Breakdown, Diagnosis
from planner.core.diagnosing.replaying import Replayer, with_batch
from planner.core.diagnosing.setting_up import case_of
from planner.core.logs.metrics import read_metrics
from planner.core.logs.reading import read
from tests.log_writer import Written, write
from tests.schedules import random_schedule, the_case

OWN = Path(__file__).resolve().parents[3] / "shared" / "truth" / "logs" / "own"
# Waits shorter than this are no waits to anyone.
LEAST_S = 0.05

shared = pytest.mark.skipif(not OWN.exists(), reason="the measured logs are not here")


def chunks(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as file:
        while chunk := file.read(1 << 16):
            yield chunk


def diagnosed(written: Written, **options: object) -> Diagnosis:
    return diagnose(read([written.text.encode()]), Options(**options))  # type: ignore[arg-type]


def shares(whole: Breakdown) -> dict[str, float]:
    return {
        "own_generation": whole.share(whole.own_generation_s),
        "own_prefill": whole.share(whole.own_prefill_s),
        "contention": whole.share(whole.contention_s),
        "waiting": whole.share(whole.waiting_s),
    }


@pytest.mark.parametrize("seed", range(100))
def test_a_simulated_schedule_is_found_out_again(seed: int) -> None:
    written = write(random_schedule(seed))
    found = diagnosed(written, tries=False)
    assert found.breakdown is not None
    assert shares(found.breakdown) == pytest.approx(written.account.shares(), abs=0.03)
    waits = {wait.cause: wait for wait in found.waits}
    for_adapters = [truth.waiting_s for truth in written.truths if truth.other_adapter_s > LEAST_S]
    assert waits["other_adapter"].total_s == pytest.approx(sum(for_adapters), rel=0.1, abs=LEAST_S)
    assert abs(waits["other_adapter"].count - len(for_adapters)) <= 1
    beside = sum(len(truth.overlaps) for truth in written.truths)
    # Where one adapter's prompt is put off in the middle for another one's answers, the log has both at once.
    assert found.during_long_prefill.n == pytest.approx(beside, abs=1 if for_adapters else 0)
    assert (found.tasks, found.finished) == (len(written.truths), len(written.truths))
    _, otherwise = written.account.generation_rates()
    assert found.otherwise.mean == pytest.approx(otherwise, rel=0.08)


@pytest.fixture(scope="module")
def day() -> Written:
    return write(the_case())


def test_the_day_this_began_with_is_explained(day: Written) -> None:
    found = diagnosed(day)
    assert found.breakdown is not None
    assert shares(found.breakdown) == pytest.approx(day.account.shares(), abs=0.03)
    assert (found.tasks, found.finished) == (854, 854)
    assert found.busy_share == pytest.approx(0.08, abs=0.005)
    assert found.during_long_prefill.mean == pytest.approx(0.34, abs=0.02)
    assert found.otherwise.mean == pytest.approx(45, abs=2)
    assert found.during_long_prefill.n == sum(len(truth.overlaps) for truth in day.truths)
    adapters = next(wait for wait in found.waits if wait.cause == "other_adapter")
    assert (adapters.count, adapters.inferred) == (40, True)
    assert adapters.total_s == pytest.approx(540, rel=0.1)
    assert [finding.code for finding in found.findings if finding.severity == "high"] == ["long_prefill"]
    assert {"adapter_switching"} <= {finding.code for finding in found.findings}
    out = {each.hypothesis: each.evidence for each in found.ruled_out}
    assert "idle 92 %" in out["The server is overloaded"]
    assert "GPU capacity" in out
    assert found.rates.cost is not None
    assert found.rates.cost.step_s == pytest.approx(1 / 53, rel=0.05)
    assert found.rates.cost.token_s == pytest.approx(1 / 800, rel=0.05)
    assert found.rates.batch_tokens == 2048


def test_a_shorter_history_saves_more_than_a_smaller_batch_and_slots_save_nothing(day: Written) -> None:
    saved = {each.change: each.seconds_a_day for each in diagnosed(day).what_if}
    assert saved["shorter_histories"] > 10 * saved["smaller_batch"]
    assert abs(saved["more_slots"]) < 0.01 * saved["shorter_histories"]


# Log, and the kind of the first finding; None where nothing was wrong.
PLANTED = [
    ("llama-server/a_short", None),
    ("llama-server/i_auto_defaults", None),
    ("llama-server/v_debug", None),
    ("llama-server/b_overlap_b2048", "long_prefill"),
    ("llama-server/c_overlap_b512", "long_prefill"),
    ("llama-server/stall/stall1.b2048", "long_prefill"),
    ("llama-server/d_lora", "adapter_switching"),
    ("llama-server/e_cache", "prompt_cache"),
    ("llama-server/f_errors", "context_overflow"),
    ("llama-server/g_queue", "slots_full"),
    ("llama-server/old/xllamacpp-2026.7.9873", "long_prefill"),
    ("vllm/preempt_8c_80blocks", "preemptions"),
    ("vllm/nopreempt_8c_240blocks", None),
    ("vllm/interf_mnbt2048", "long_prefill"),
    ("vllm/interf_mnbt512", "long_prefill"),
    ("vllm/prefixshare_iterdetails", None),
]


@shared
@pytest.mark.parametrize(("name", "code"), PLANTED, ids=[name for name, _ in PLANTED])
def test_the_cause_that_was_planted_is_the_first_finding(name: str, code: str | None) -> None:
    path = OWN / f"{name}.metrics.txt"
    metrics = read_metrics(path.read_text().splitlines()) if path.exists() else None
    found = diagnose(read(chunks(OWN / f"{name}.log.gz")), Options(metrics=metrics))
    assert [finding.code for finding in found.findings][:1] == ([code] if code else [])


@shared
def test_the_replay_of_a_smaller_batch_predicts_the_pauses_that_were_measured_with_it() -> None:
    measured = {row["b"]: row for row in json.loads((OWN / "llama-server/stall/stall1.json").read_text())}
    replayer = replayer_of(OWN / "llama-server/stall/stall1.b2048.log.gz")
    assert replayer.base is not None
    assert replayer.base.pause == pytest.approx(measured[2048]["gap_max_ms"] / 1e3, rel=0.2)
    after = replayer.run(with_batch(512))
    assert after is not None
    assert after.pause == pytest.approx(measured[512]["gap_max_ms"] / 1e3, rel=0.2)


# With the clients' sending times the time to first token is theirs, the queue before a slot included.
@shared
@pytest.mark.parametrize("name", ["a_short", "b_overlap_b2048", "c_overlap_b512", "d_lora", "e_cache", "g_queue", "i_auto_defaults"])
def test_the_time_to_first_token_is_the_clients(name: str) -> None:
    asked = json.loads((OWN / f"llama-server/{name}.client.json").read_text())["requests"]
    rows = [
        f"{request['t_send_s']},{request['server_timings']['prompt_n'] + request['server_timings']['cache_n']}"
        for request in asked
        if "predicted_n" in request.get("server_timings", ())
    ]
    calls = read_calls(["time,prompt_tokens", *rows])
    found = diagnose(read(chunks(OWN / f"llama-server/{name}.log.gz")), Options(calls=calls, tries=False))
    assert found.ttft is not None
    assert found.ttft_from == "sending"
    times = [request["ttft_s"] for request in asked if request.get("ttft_s")]
    assert found.ttft.p50 == pytest.approx(statistics.median_low(times), rel=0.011, abs=0.05)
    assert found.ttft.max == pytest.approx(max(times), rel=0.01)


@shared
@pytest.mark.parametrize("name", ["a_short", "e_cache", "i_auto_defaults"])
def test_without_them_it_counts_from_the_launch_and_is_theirs_where_nothing_queued(name: str) -> None:
    asked = json.loads((OWN / f"llama-server/{name}.client.json").read_text())["requests"]
    found = diagnose(read(chunks(OWN / f"llama-server/{name}.log.gz")), Options(tries=False))
    assert found.ttft is not None
    assert found.ttft.p50 == pytest.approx(statistics.median_low(request["ttft_s"] for request in asked), rel=0.1, abs=0.05)


def replayer_of(path: Path) -> Replayer:
    log = read(chunks(path))
    case: Case = case_of(log, collect(log, long_prefill=5_000, calls=None), Options())
    assert case.replayer is not None
    return case.replayer
