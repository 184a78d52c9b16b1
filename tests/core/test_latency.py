"""What people feel, in closed form: held against the simulator, against the exact tail of the queue, and against its own laws."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.comparing import Scope, compare
from planner.core.latency import pause_p95, ttft_p95
from planner.core.plan import Figure
from planner.core.queueing import slot_trade, wait_quantile
from planner.core.request import read_as, read_request
from planner.core.simulating.set_up import set_up
from planner.core.simulation import simulate
from planner.core.simulation.request import SimulationRequest
from planner.core.workload import workload
from planner.sources import find_model

QWEN = "Qwen/Qwen3-8B"
# (model, device, count, engine, weights, users, prompt tokens): slots to spare and none, short prompts and long.
SIMULATED = [
    (QWEN, "rtx-4090", 1, "vllm", "BF16", 20, 1000),
    (QWEN, "rtx-4090", 1, "vllm", "AWQ", 20, 1000),
    (QWEN, "rtx-3060-12gb", 1, "llama-server", "Q4_K_M", 10, 6000),
    ("openai/gpt-oss-120b", "strix-halo-395", 1, "llama-server", "MXFP4_MOE", 20, 1000),
]


@pytest.mark.parametrize("case", SIMULATED, ids=lambda case: "-".join(map(str, case)))
def test_the_simulator_lies_within_the_range(case: tuple[str, str, int, str, str, int, int]) -> None:
    model, device, count, engine, weights, users, prompt = case
    values = {"model": model, "users": users, "prompt_tokens": prompt}
    request = read_request(values)
    source = find_model(request, None)
    row = next(r for r in compare(request, source, Scope((device,), (count,))) if (r.engine, r.weights) == (engine, weights))
    own = read_as(SimulationRequest, {**values, **dict(row.changes), "duration": 5400})
    made = set_up(own, source)
    felt = simulate(made.scheduler, made.cost, made.traffic).everyone
    assert row.ttft_p95.low <= felt.ttft.p95 <= row.ttft_p95.high
    assert row.ttft_p95.value / 4 <= felt.ttft.p95 <= row.ttft_p95.value * 4
    assert row.pause_p95.low <= felt.pause.p95 <= row.pause_p95.high


def test_one_slot_for_two_people_waits_as_exponential_services_do() -> None:
    """Whoever finds the other in service (probability g / (g + z)) waits one exponential service: P(W > t) = p × exp(−t / g)."""
    p = 10 / (10 + 30)
    wait = wait_quantile(users=2, slots=1, generate_seconds=10, turn_seconds=40, share=0.95)
    assert wait == pytest.approx(10 * math.log(p / 0.05), abs=0.02)


def test_people_who_never_pause_wait_for_all_in_front() -> None:
    """Three with one slot: two services each time, Erlang(2): 1 − e^−x (1 + x) = 0.95 at x = 4.744."""
    wait = wait_quantile(users=3, slots=1, generate_seconds=10, turn_seconds=10, share=0.95)
    assert wait == pytest.approx(47.44, abs=0.05)


@settings(max_examples=60, deadline=None)
@given(users=st.integers(1, 400), slots=st.integers(1, 60), duty=st.floats(0.02, 0.95))
def test_the_tail_of_the_wait_agrees_with_the_share_that_waits(users: int, slots: int, duty: float) -> None:
    asked = {"users": users, "slots": slots, "generate_seconds": 10.0, "turn_seconds": 10.0 / duty}
    waits = slot_trade(**asked).wait_probability
    assert (wait_quantile(**asked, share=0.95) == 0) == (waits <= 0.05 + 1e-12)
    assert wait_quantile(**asked, share=0.99) >= wait_quantile(**asked, share=0.95)


def figure(value: float, *, spread: float = 1.5) -> Figure:
    return Figure(value, "estimated", "", value / spread, value * spread)


@settings(max_examples=60, deadline=None)
@given(users=st.integers(1, 300), slots=st.integers(1, 40), prompt=st.integers(1, 30_000), rate=st.floats(20, 50_000))
def test_a_value_lies_in_its_range_and_slower_prompts_are_felt(users: int, slots: int, prompt: int, rate: float) -> None:
    load = workload(users=users, generate_seconds=12, turn_seconds=90)
    shared = {"step": figure(0.03), "load": load, "prompt_tokens": prompt, "slots": slots}

    def both(speed: float) -> tuple[Figure, Figure]:
        prefill = figure(speed)
        return pause_p95(prefill=prefill, batch_tokens=2048, **shared), ttft_p95(prefill=prefill, decode=figure(50), **shared)

    for fast, slow in zip(both(rate), both(rate / 2), strict=True):
        for each in (fast, slow):
            assert 0 < each.low <= each.value <= each.high < math.inf
        assert slow.value >= fast.value


def test_one_person_alone_reads_the_prompt_and_pauses_for_nobody() -> None:
    load = workload(users=1, generate_seconds=12, turn_seconds=90)
    measured = Figure(1000, "measured", "")
    step = Figure(0.02, "measured", "")
    assert pause_p95(prefill=measured, step=step, load=load, prompt_tokens=500, batch_tokens=2048, slots=1).value == 0.02
    first = ttft_p95(prefill=measured, decode=Figure(50, "measured", ""), step=step, load=load, prompt_tokens=500, slots=1)
    assert first.low == pytest.approx(0.52)
    assert first.grade == "computed"
