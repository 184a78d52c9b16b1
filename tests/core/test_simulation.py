"""The simulator: equal to a plain loop over every pass, true to the queueing formulas, and to what real servers did."""


import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from planner.core.simulation import PassCost, Scheduler, Traffic, policies, simulate, source_of
from planner.core.simulation.lengths import Spread
from planner.core.simulation.results import Quantiles, Run
from planner.core.simulation.traffic import TurnKind
from tests.core.simulation_reference import Outcome, step_by_step

POLICIES = sorted(policies())
EXACT = {"rel": 1e-9, "abs": 1e-9}


@st.composite
def loads(draw: st.DrawFn) -> Traffic:
    context = draw(st.integers(40, 400))
    kinds = draw(st.integers(1, 2))
    return Traffic(
        people=draw(st.integers(1, 9)),
        kinds=tuple(
            TurnKind(
                name=f"kind {index}",
                prompt=Spread(draw(st.integers(1, 150)), draw(st.sampled_from([0.0, 1.5]))),
                output=Spread(draw(st.integers(1, 40)), draw(st.sampled_from([0.0, 1.0]))),
                share=1 / kinds,
            )
            for index in range(kinds)
        ),
        duration_s=draw(st.floats(0.5, 12.0)),
        think_s=draw(st.floats(0.1, 5.0)),
        turn_s=draw(st.floats(0.5, 5.0)),
        arrivals=draw(st.sampled_from(["closed", "closed", "poisson", "agents"])),
        context_tokens=context,
        turns=draw(st.sampled_from([1.0, 3.0, 20.0])),
        shared_tokens=draw(st.sampled_from([0, 0, 17, 35])),
        cached_share=draw(st.sampled_from([None, None, 0.0, 0.7])),
        adapters=draw(st.sampled_from([1, 1, 2, 3])),
        together=draw(st.booleans()),
        seed=draw(st.integers(0, 10_000)),
    )


@st.composite
def servers(draw: st.DrawFn, policy: str, context: int) -> Scheduler:
    slots = draw(st.integers(1, 6))
    unified = policy == "llama-server" and draw(st.booleans())
    block = draw(st.sampled_from([1, 4, 16]))
    pool = draw(st.sampled_from([None, context + 2 * block, 2 * context, 4 * context])) if policy == "vllm" or unified else None
    if unified and pool is None:
        pool = 3 * context
    return Scheduler(
        policy=policy,
        slots=slots,
        batch_tokens=draw(st.integers(slots, 80)),
        micro_batch_tokens=draw(st.sampled_from([None, 16, 64])),
        context_tokens=context,
        max_queue=draw(st.sampled_from([None, None, 0, 2])),
        cache_tokens=pool,
        unified=unified,
        block_tokens=block,
        prefix_cache=draw(st.booleans()),
        watermark=draw(st.sampled_from([0.0, 0.05])),
        host_cache_tokens=draw(st.sampled_from([0, context, 5 * context])),
        checkpoints=draw(st.booleans()),
        switch_s=draw(st.sampled_from([0.0, 0.013])),
        adapters_take_turns=draw(st.booleans()),
    )


costs = st.builds(
    PassCost,
    step_s=st.floats(0.003, 0.05),
    token_s=st.floats(0.0001, 0.01),
    sequence_s=st.floats(0.0, 0.01),
    cached_token_s=st.sampled_from([0.0, 3.1e-6, 1.7e-4]),
    attention_s=st.sampled_from([0.0, 2.3e-6]),
)


def assert_same(mine: Quantiles | None, plain: Quantiles | None) -> None:
    assert (mine is None) == (plain is None)
    if mine and plain:
        for name in ("count", "mean", "p50", "p90", "p95", "p99", "max"):
            assert getattr(mine, name) == pytest.approx(getattr(plain, name), **EXACT), name


def assert_equal(run: Run, out: Outcome) -> None:
    """Nine digits of everything that both know."""
    everyone = run.everyone
    assert (everyone.rejected, everyone.failed) == (out.rejected, out.failed)
    assert (run.steps, run.computed_tokens, run.preempted, run.recomputed_tokens) == (
        out.steps,
        out.computed,
        out.preempted,
        out.recomputed,
    )
    assert run.output_tokens == sum(len(job.times) for job in out.jobs)
    assert run.cached_tokens == sum(job.cached for job in out.jobs if job.done)
    assert run.end_s == pytest.approx(out.end_s, **EXACT)
    assert run.utilization * run.end_s == pytest.approx(out.busy_s, rel=1e-9, abs=1e-8)
    assert run.slots_busy * run.end_s == pytest.approx(out.served_s, rel=1e-9, abs=1e-8)
    assert_same(everyone.ttft, out.ttft())
    assert_same(everyone.wait, out.wait())
    assert_same(everyone.pause, out.pause())
    assert run.beside.turns == len(out.beside)
    for kind, felt in enumerate(run.kinds):
        assert_same(felt.itl, out.itl(kind))


@pytest.mark.parametrize("policy", POLICIES)
# Shrinking is left out: a simulation has no smaller version of itself, and the drawn settings say what is needed.
@settings(max_examples=500, phases=[Phase.reuse, Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_run_equals_a_plain_loop_over_every_pass(policy: str, data: st.DataObject) -> None:
    load, cost = data.draw(loads()), data.draw(costs)
    scheduler = data.draw(servers(policy, load.context_tokens))
    run = simulate(scheduler, cost, load)
    assert_equal(run, step_by_step(scheduler, cost, source_of(load), shared=load.shared_tokens))
