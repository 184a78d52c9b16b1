"""The simulator: equal to a plain loop over every pass, conserving what it is given, and true to the queueing formulas."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from planner.core.errors import InputError
from planner.core.queueing import slot_trade
from planner.core.simulation import PassCost, Scheduler, Source, Traffic, policies, replay, simulate, source_of
from planner.core.simulation.lengths import Spread
from planner.core.simulation.results import Quantiles, Run
from planner.core.simulation.sequence import Sequence
from planner.core.simulation.traffic import Replay, TurnKind
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


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=40, phases=[Phase.reuse, Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_nothing_is_lost_and_the_seed_decides(policy: str, data: st.DataObject) -> None:
    load, cost = data.draw(loads()), data.draw(costs)
    scheduler = data.draw(servers(policy, load.context_tokens))
    source = Counted(source_of(load))
    run = replay(scheduler, cost, source, kinds=tuple(kind.name for kind in load.kinds), shared_tokens=load.shared_tokens)
    assert run == simulate(scheduler, cost, load)
    everyone = run.everyone
    answered = [asked for asked in source.taken if asked.produced == asked.output]
    assert len(source.taken) == len(answered) + everyone.rejected + everyone.failed
    assert run.output_tokens == sum(asked.produced for asked in source.taken)
    assert run.prompt_tokens == sum(asked.prompt for asked in answered)
    assert all(asked.cached < asked.prompt for asked in answered)
    if everyone.itl and everyone.pause and not everyone.failed:
        assert everyone.itl.count == sum(asked.output - 1 for asked in answered)
        assert everyone.itl.max == pytest.approx(everyone.pause.max)
    if not everyone.failed:
        # Every prompt token is computed or found; again after a preemption, and then with it the token that came out last.
        resumed = run.computed_tokens - (run.prompt_tokens - run.cached_tokens + run.recomputed_tokens)
        assert 0 <= resumed <= run.preempted
    assert 0 <= run.idle <= 1
    assert run.slots_busy <= scheduler.slots + 1e-9


class Counted:
    """A source that remembers what was taken from it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.taken: list[Sequence] = []

    @property
    def next_s(self) -> float:
        return self._source.next_s

    def take(self) -> Sequence:
        self.taken.append(self._source.take())
        return self.taken[-1]

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:
        self._source.done(sequence, now_s, refused=refused)


@pytest.mark.parametrize(
    ("users", "slots", "generate_s", "think_s", "seed"),
    [(8, 3, 12.0, 20.0, 1), (5, 1, 2.0, 20.0, 7), (30, 2, 3.0, 60.0, 3)],
)
def test_a_closed_queue_waits_as_its_formula_says(users: int, slots: int, generate_s: float, think_s: float, seed: int) -> None:
    """Exponential times, 10^5 turns, and a step that costs the same for everyone: within 2 %."""
    formula = slot_trade(users=users, slots=slots, generate_seconds=generate_s, turn_seconds=generate_s + think_s)
    step_s = generate_s / 2400
    around = generate_s + think_s + formula.mean_wait_seconds
    load = Traffic(
        people=users,
        kinds=(TurnKind(name="turns", prompt=Spread(1), output=Spread(2400, shape="exponential")),),
        duration_s=1e5 * around / users,
        think_s=think_s,
        context_tokens=10**9,
        seed=seed,
    )
    run = simulate(Scheduler(policy="llama-server", slots=slots, batch_tokens=512, context_tokens=10**9), PassCost(step_s, 1e-9), load)
    assert run.everyone.wait is not None
    assert run.everyone.turns == pytest.approx(1e5, rel=0.01)
    assert run.everyone.wait.mean == pytest.approx(formula.mean_wait_seconds, rel=0.02)
    assert run.slots_busy == pytest.approx(users * generate_s / around, rel=0.02)


def turns(*sequences: Sequence) -> Replay:
    return Replay(sequences)


def test_a_generating_slot_gets_one_token_a_pass() -> None:
    # 2,048 tokens at 800 tokens/s are 2.56 s: 0.39 tokens/s; 512 are 0.64 s: 1.56.
    for batch, rate in ((2048, 0.39), (512, 1.56)):
        asked = (
            Sequence(arrival_s=0, prompt=1, output=25_000 // (batch - 1)),
            Sequence(arrival_s=0.001, prompt=25_000, output=1, conversation=1, kind=1),
        )
        scheduler = Scheduler(policy="llama-server", slots=2, batch_tokens=batch, context_tokens=32_768)
        run = replay(scheduler, PassCost(step_s=1 / 52, token_s=1 / 800), turns(*asked), kinds=("generating", "prefill"))
        gaps = run.kinds[0].itl
        assert gaps is not None
        assert 1 / gaps.p50 == pytest.approx(rate, abs=0.005)
        # The prefill itself takes as long whatever the batch: 31 s.
        assert asked[1].first_token_s == pytest.approx(31.3, abs=0.1)


def test_where_checkpoints_are_made_a_short_prompt_takes_three_passes() -> None:
    asked = Sequence(arrival_s=0, prompt=700, output=1)
    scheduler = Scheduler(policy="llama-server", slots=1, batch_tokens=2048, micro_batch_tokens=512, context_tokens=4096, checkpoints=True)
    assert replay(scheduler, PassCost(0.01, 0.001), turns(asked)).steps == 3


def test_another_adapter_waits_until_the_slots_at_work_are_done() -> None:
    first = [Sequence(arrival_s=number * 0.5, prompt=10, output=90, conversation=number) for number in range(6)]
    other = Sequence(arrival_s=0.1, prompt=40, output=5, conversation=9, adapter=1)
    scheduler = Scheduler(policy="llama-server", slots=4, batch_tokens=512, context_tokens=4096)
    replay(scheduler, PassCost(0.01, 0.001), turns(*first, other))
    assert other.started_s >= max(each.first_token_s for each in first)


@pytest.mark.parametrize(("max_queue", "refused"), [(0, 5), (3, 2), (None, 0)])
def test_a_queue_refuses_whoever_finds_it_full(max_queue: int | None, refused: int) -> None:
    asked = [Sequence(arrival_s=0.001 * number, prompt=10, output=50, conversation=number) for number in range(7)]
    scheduler = Scheduler(policy="ollama", slots=2, batch_tokens=512, context_tokens=4096, max_queue=max_queue)
    assert replay(scheduler, PassCost(0.01, 0.001), turns(*asked)).everyone.rejected == refused


def test_a_full_unified_cache_fails_everyone_at_work() -> None:
    asked = [Sequence(arrival_s=0, prompt=400, output=300, conversation=number) for number in range(2)]
    scheduler = Scheduler(policy="llama-server", slots=2, batch_tokens=512, context_tokens=1000, cache_tokens=1000, unified=True)
    run = replay(scheduler, PassCost(0.01, 0.001), turns(*asked))
    assert (run.everyone.failed, run.everyone.turns) == (2, 2)
    # 1,000 cells: two prompts of 400, and 200 tokens that were generated and computed. The last one came out and has no cell.
    assert run.output_tokens == 201


def test_the_last_admitted_is_preempted_and_its_first_tokens_stay_delivered() -> None:
    asked = [Sequence(arrival_s=0.01 * number, prompt=100, output=200, conversation=number) for number in range(2)]
    scheduler = Scheduler(policy="vllm", slots=8, batch_tokens=2048, context_tokens=320, cache_tokens=400, prefix_cache=False)
    run = replay(scheduler, PassCost(0.01, 0.001), turns(*asked))
    assert [each.preemptions for each in asked] == [0, 1]
    assert run.recomputed_tokens > 100
    assert run.everyone.pause is not None
    assert asked[1].pause_s == run.everyone.pause.max


def test_a_conversation_finds_its_history_in_the_cache() -> None:
    for policy in ("llama-server", "vllm"):
        asked = (
            Sequence(arrival_s=0, prompt=100, output=61),
            Sequence(arrival_s=60, prompt=200, output=10, history=161),
            Sequence(arrival_s=120, prompt=200, output=10, history=0, conversation=5),
        )
        replay(Scheduler(policy=policy, slots=1, batch_tokens=512, context_tokens=4096), PassCost(0.01, 0.001), turns(*asked))
        assert [each.cached for each in asked] == [0, 160, 0]


def test_the_same_people_say_the_same_whatever_serves_them() -> None:
    load = Traffic(
        people=3,
        kinds=(TurnKind(name="turns", prompt=Spread(50, 1), output=Spread(20, 1)),),
        duration_s=60,
        think_s=3,
        context_tokens=500,
        turns=4,
    )
    said = []
    for policy in ("serial", "vllm"):
        source = Counted(source_of(load))
        replay(Scheduler(policy=policy, slots=2, batch_tokens=64, context_tokens=500), PassCost(0.05, 0.001), source)
        said.append([[(a.prompt, a.output) for a in source.taken if a.person == person][:5] for person in range(3)])
    assert said[0] == said[1]


def test_what_would_take_too_long_is_refused() -> None:
    load = Traffic(
        people=50, kinds=(TurnKind(name="turns", prompt=Spread(1), output=Spread(1)),), duration_s=86_400, think_s=0.1, context_tokens=100
    )
    scheduler = Scheduler(policy="vllm", slots=8, batch_tokens=64, context_tokens=100)
    with pytest.raises(InputError, match="too long to simulate"):
        simulate(scheduler, PassCost(0.01, 0.001), load, max_events=10_000)


def test_refusals_during_one_endless_reply_are_counted_too() -> None:
    load = Traffic(
        people=50, kinds=(TurnKind(name="turns", prompt=Spread(1), output=Spread(10_000_000)),), duration_s=86_400, context_tokens=10**8
    )
    scheduler = Scheduler(policy="serial", slots=1, batch_tokens=64, context_tokens=10**8, max_queue=0)
    with pytest.raises(InputError, match="too long to simulate"):
        simulate(scheduler, PassCost(0.1, 0.001), load, max_events=10_000)


@pytest.mark.parametrize(
    ("settings_given", "sentence"),
    [
        ({"slots": 0}, "between 1 and"),
        ({"slots": 100, "batch_tokens": 99}, "cannot hold a token of each"),
        ({"policy": "vllm", "cache_tokens": 100}, "would not start"),
        ({"max_queue": -1}, "cannot be shorter"),
    ],
)
def test_settings_no_server_starts_with_are_refused(settings_given: dict[str, object], sentence: str) -> None:
    given: dict[str, object] = {"policy": "llama-server", "slots": 4, "batch_tokens": 512, "context_tokens": 4096, **settings_given}
    with pytest.raises(InputError, match=sentence):
        Scheduler(**given)  # type: ignore[arg-type]


def test_an_unknown_policy_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="“fair” is no scheduling policy"):
        replay(Scheduler(policy="fair", slots=1, batch_tokens=1, context_tokens=9), PassCost(1, 1), turns())
