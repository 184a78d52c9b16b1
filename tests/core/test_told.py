"""A run told in a sentence, tried at both ends of estimated speeds, and the curves around it."""

from collections.abc import Mapping
from typing import Any

import pytest

from planner.core.draft import Source
from planner.core.request import read_as
from planner.core.simulating.around import axes_around, held
from planner.core.simulating.runs import Trial, ends, read_axis, trials
from planner.core.simulating.told import told
from planner.core.simulation.request import SimulationRequest
from planner.sources import find_model

PLAN = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "users": "20", "prompt_tokens": "1500", "output_tokens": "300", "think_seconds": "60", "duration": "900"}  # fmt: skip
MEASURED = {"prefill_rate": "800", "decode_rate": "52"}


def source(values: Mapping[str, Any]) -> Source:
    return find_model(read_as(SimulationRequest, values), None)


def trial(**changes: str) -> Trial:
    values = PLAN | changes
    return next(trials(values, source(values)))


def test_a_run_within_the_limits_says_what_people_feel_and_what_was_simulated() -> None:
    said = told(trial(**MEASURED, engine="vllm", users="4"))
    assert (said.state, said.word) == ("fits", "Within your limits")
    assert said.sentence.startswith("half of the first tokens come within ")
    assert "no pause is longer than" in said.sentence
    assert said.limits.endswith("Nobody is refused.")
    assert said.load.startswith(
        "4 users for 15 min, each sends, reads, thinks and sends again; turns of 1,500 prompt and 300 answer tokens"
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"slots": "1", "users": "60"}, "more than the 30 s people are ready to wait"),
        ({"pause_target": "0.01", "batch": "8192", "slots": "8"}, "more than the 0.01 s you set"),
        ({"max_queue": "0", "slots": "1"}, "of the turns are refused or lost"),
    ],
)
def test_a_run_beyond_a_limit_names_it_with_both_figures(changes: dict[str, str], sentence: str) -> None:
    said = told(trial(**MEASURED, **changes))
    assert (said.state, said.word) == ("does_not_fit", "Beyond your limits")
    assert sentence in said.limits


def test_answers_of_one_token_have_no_pause_and_a_run_without_answers_says_so() -> None:
    assert "no answer has a second token" in told(trial(output_tokens="1", variation="0")).sentence
    nobody = told(trial(duration="0.001", arrivals="poisson", users="1"))
    assert (nobody.state, nobody.word, nobody.sentence) == ("tight", "Nothing to judge", "not one turn is sent.")
    assert nobody.limits == "Nobody sends anything in so short a time: simulate a longer one."


def test_a_measured_machine_has_no_ends_and_an_estimated_one_is_faster_and_slower() -> None:
    assert ends(trial(**MEASURED)) is None
    middle = trial(users="2")
    both = ends(middle)
    assert both
    fast, slow = both
    for measure in ("ttft", "itl", "pause"):
        assert getattr(fast.everyone, measure).p50 < getattr(middle.run.everyone, measure).p50 < getattr(slow.everyone, measure).p50, (
            measure
        )
    only_decode = ends(trial(users="2", prefill_rate="800"))
    assert only_decode
    assert only_decode[0].everyone.itl.p50 < only_decode[1].everyone.itl.p50  # type: ignore[union-attr]


@pytest.mark.parametrize("changes", [{}, {"users": "1"}, {"users": "3", "batch": "100"}, {"slots": "200", "users": "1000", "duration": "10"}, {"policy": "serial"}])  # fmt: skip
def test_the_curves_go_from_below_to_above_the_run_and_through_it(changes: dict[str, str]) -> None:
    middle = trial(**changes)
    own = {"batch": middle.set_up.scheduler.batch_tokens, "users": middle.set_up.traffic.people, "slots": middle.set_up.scheduler.slots}
    for axis in axes_around(middle):
        values = [int(value) for value in axis.values]
        assert values == sorted(set(values))
        assert axis.option != "slots" or values[-1] <= 256
        assert own[axis.option] in values
        assert len(values) == 1 or values[-1] > own[axis.option] or values[0] < own[axis.option]
        assert all(value >= 1 for value in values)


def test_at_its_own_value_a_curve_is_the_run_itself() -> None:
    middle = trial()
    values = PLAN | {name: str(value) for name, value in held(middle).items()}
    for option, own in (("batch", middle.set_up.scheduler.batch_tokens), ("users", 20), ("slots", middle.set_up.scheduler.slots)):
        (again,) = trials(values, source(values), [read_axis(f"{option}={own}")])
        assert again.run == middle.run, option


def test_over_policies_only_the_scheduler_differs() -> None:
    found = list(trials(PLAN | {"engine": "vllm"}, source(PLAN), [read_axis("policy=vllm,llama-server,static")]))
    assert [each.set_up.scheduler.policy for each in found] == ["vllm", "llama-server", "static"]
    assert (
        len({(each.set_up.cost, each.set_up.scheduler.slots, each.set_up.scheduler.batch_tokens, each.set_up.traffic) for each in found})
        == 1
    )


def test_runs_share_a_bound_on_what_they_cost() -> None:
    axis = [read_axis("seed=1,2,3")]
    cost = [each.run.events for each in trials(PLAN, source(PLAN), axis)]
    running = trials(PLAN, source(PLAN), axis, events_in_all=cost[0] + cost[1] - 1)
    assert next(running).run.events == cost[0]
    with pytest.raises(Exception, match="takes too long to simulate"):
        next(running)
