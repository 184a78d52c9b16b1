"""The simulator's parts, each held to its own law: closed forms, bins, lengths, traffic, sweeps, the knee of a curve."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InputError
from planner.core.simulating.runs import knee, points, read_axis
from planner.core.simulation import PassCost, Traffic, policies, source_of
from planner.core.simulation.decoding import run_seconds, steps_to_reach
from planner.core.simulation.histogram import Histogram
from planner.core.simulation.lengths import Spread
from planner.core.simulation.policy import Policy
from planner.core.simulation.results import quantiles
from planner.core.simulation.traffic import TurnKind

seconds = st.floats(1e-6, 1e4)


@pytest.mark.parametrize("policy", policies().values(), ids=lambda policy: policy.name)
def test_every_policy_found_says_what_it_is(policy: type[Policy]) -> None:
    assert issubclass(policy, Policy)
    assert policy.title
    assert policy.__doc__


@given(wanted=seconds, first=st.floats(1e-4, 10), growth=st.sampled_from([0.0, 1e-9, 1e-5, 0.01]))
def test_the_fewest_steps_that_last_long_enough(wanted: float, first: float, growth: float) -> None:
    steps = steps_to_reach(wanted, first=first, growth=growth)
    assert steps >= 1
    assert run_seconds(steps, first=first, growth=growth) >= wanted * (1 - 1e-12)
    assert steps == 1 or run_seconds(steps - 1, first=first, growth=growth) < wanted * (1 + 1e-12)


@given(
    runs=st.lists(
        st.tuples(st.floats(1e-3, 10), st.sampled_from([0.0, 1e-6, 1e-3, 0.2]), st.integers(1, 300), st.integers(1, 9)),
        min_size=1,
        max_size=6,
    )
)
def test_a_histogram_is_within_one_per_cent_of_the_gaps_it_was_given(runs: list[tuple[float, float, int, int]]) -> None:
    histogram, every = Histogram(), []
    for first, growth, steps, times in runs:
        histogram.add_run(first, growth, steps, times)
        every += [first + growth * step for step in range(steps) for _ in range(times)]
    every.sort()
    assert histogram.total == len(every)
    assert histogram.mean == pytest.approx(math.fsum(every) / len(every))
    assert histogram.longest == pytest.approx(every[-1])
    for share in (0.5, 0.9, 0.95, 0.99):
        exact = every[max(0, math.ceil(share * len(every)) - 1)]
        assert histogram.quantile(share) == pytest.approx(exact, rel=0.0101)


def test_quantiles_are_values_that_occurred() -> None:
    found = quantiles([float(value) for value in range(1, 101)])
    assert found is not None
    assert (found.p50, found.p90, found.p95, found.p99, found.max, found.mean) == (50, 90, 95, 99, 100, 50.5)
    assert quantiles([]) is None


@pytest.mark.parametrize(("spread", "variation"), [(Spread(400), 0.0), (Spread(400, 1.0), 1.0), (Spread(400, shape="exponential"), 1.0)])
def test_lengths_have_the_mean_and_the_variation_they_were_given(spread: Spread, variation: float) -> None:
    random = Random(5)  # noqa: S311 - nothing secret
    drawn = [spread.draw(random) for _ in range(40_000)]
    mean = math.fsum(drawn) / len(drawn)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in drawn) / len(drawn))
    assert mean == pytest.approx(400, rel=0.03)
    assert deviation / mean == pytest.approx(variation, abs=0.05)


def load(**changes: object) -> Traffic:
    given: dict[str, object] = {
        "people": 3,
        "kinds": (TurnKind(name="turns", prompt=Spread(50, 1), output=Spread(20, 1)),),
        "duration_s": 1000.0,
        "think_s": 3.0,
        "turn_s": 5.0,
        "context_tokens": 500,
        **changes,
    }
    return Traffic(**given)  # type: ignore[arg-type]


@given(turns=st.sampled_from([1.0, 5.0, 1000.0]), shared=st.sampled_from([0, 30]), seed=st.integers(0, 99))
def test_a_conversation_grows_by_what_was_said_and_never_past_the_context(turns: float, shared: int, seed: int) -> None:
    source = source_of(load(turns=turns, shared_tokens=shared, seed=seed))
    said: dict[int, int] = {}
    for _ in range(200):
        turn = source.take()
        source.done(turn, turn.arrival_s + 1, refused=False)
        assert turn.history == said.get(turn.conversation, 0)
        assert turn.prompt > max(turn.history, shared)
        assert turn.output >= 1
        assert turn.prompt + turn.output <= 500
        said[turn.conversation] = turn.prompt + turn.output


def test_whoever_is_refused_comes_back_and_not_at_once() -> None:
    source = source_of(load(people=1, arrivals="agents"))
    turn = source.take()
    source.done(turn, 7.0, refused=True)
    assert source.next_s == 8.0


def test_independent_requests_come_as_often_as_all_people_together() -> None:
    source = source_of(load(arrivals="poisson", duration_s=50_000.0))
    count = 0
    while source.next_s < math.inf:
        source.take()
        count += 1
    # Three people, a turn every 5 s each.
    assert count == pytest.approx(30_000, rel=0.03)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"people": 0}, "Between 1 and"),
        ({"duration_s": 0.0}, "longer than 0"),
        ({"duration_s": math.nan}, "longer than 0"),
        ({"kinds": ()}, "add up to 1"),
        ({"arrivals": "poisson", "turn_s": 0.0}, "from one turn of a person"),
        ({"shared_tokens": 499}, "leave room"),
        ({"context_tokens": 1}, "A context of 1 token cannot hold a prompt and an answer"),
    ],
)
def test_a_load_that_means_nothing_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load(**changes)


def test_a_pass_costs_reading_or_arithmetic_whichever_is_more() -> None:
    cost = PassCost(step_s=0.02, token_s=0.001, sequence_s=0.002, cached_token_s=1e-6, attention_s=1e-7)

    def seconds(sequences: int, prompt: int, cached: int = 0, attended: float = 0.0, micro: int | None = None) -> float:
        return cost.pass_seconds(
            sequences=sequences, cached_tokens=cached, prompt_tokens=prompt, attended=attended, micro_batch_tokens=micro
        )

    assert seconds(1, 0) == pytest.approx(0.02)
    assert seconds(4, 0) == pytest.approx(0.026)
    assert seconds(4, 0) == cost.step_seconds(4)
    assert seconds(4, 0, cached=10_000) == pytest.approx(0.036)
    assert seconds(4, 508) == pytest.approx(0.512)
    assert seconds(0, 512, attended=1e6) == pytest.approx(0.612)
    # Sixteen readings of the weights where micro-batches are that small.
    assert seconds(0, 256, micro=16) == pytest.approx(16 * 0.02)


def test_an_axis_is_an_option_and_its_values() -> None:
    axis = read_axis("--max-queue=1, 2,3")
    assert (axis.option, axis.values) == ("max_queue", ("1", "2", "3"))
    assert points([axis, read_axis("batch=512")]) == [{"max_queue": n, "batch": "512"} for n in "123"]
    assert points([]) == [{}]


@pytest.mark.parametrize("text", ["batch", "batch=", "=512", "no-such-option=1,2", "x" * 10_000])
def test_what_is_no_sweep_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="sweep"):
        read_axis(text)


def test_a_sweep_of_too_many_runs_is_refused() -> None:
    with pytest.raises(InputError, match="at most 100 runs, this one has 121"):
        points([read_axis(f"{name}={','.join('1' * 11)}") for name in ("batch", "slots")])


@pytest.mark.parametrize(
    ("curve", "index"),
    [
        ([(1.0, 10.0), (2.0, 2.0), (3.0, 1.5), (4.0, 1.0)], 1),
        ([(256.0, 0.3), (512.0, 0.3), (1024.0, 0.4), (2048.0, 9.0)], 2),
        ([(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)], None),
        ([(1.0, 1.0), (2.0, 5.0), (3.0, 1.1)], None),
        ([(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], None),
        ([(1.0, 1.0), (2.0, 9.0)], None),
    ],
)
def test_the_knee_is_where_a_curve_turns(curve: list[tuple[float, float]], index: int | None) -> None:
    assert knee(curve) == index
