"""Break points: neighbours that were both planned, one with the plan's verdict and one without, over plans of every kind."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.answer import Answer, answer
from planner.core.draft import Passes, draft
from planner.core.engines import engines
from planner.core.errors import InputError
from planner.core.plan import Verdict
from planner.core.request import PlanRequest, read_request
from planner.core.sensitivity import Range, held, most_users, sensitivity
from planner.core.sensitivity.inputs import shown
from planner.core.sensitivity.ranges import said
from planner.core.sensitivity.report import sensitivity_json, sensitivity_text
from planner.core.sensitivity.search import flip
from planner.core.sensitivity.users import bears


def planned(**inputs: Any) -> Answer:
    values = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "context": 8192, "users": 20, **inputs}
    return answer(read_request(values), None, simulated=False)


def verdict(request: PlanRequest, made: Answer, **changes: Any) -> Verdict | None:
    """The verdict of the request planned afresh, on the engine and with the passes of the plan; None where it is refused."""
    engine = engines()[made.plan.engine.name]
    changed = request.model_copy(update=changes)
    try:
        return draft(changed, made.source, engine, Passes(made.plan.engine.batch_tokens, "")).fit.verdict
    except InputError:
        return None


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    machine = draw(
        st.sampled_from(
            [
                {"device": "rtx-3090"},
                {"device": "rtx-4090", "count": 2},
                {"device": "2x3090+1x4090", "engine": "llama-server"},
                {"device": "apple-m4-max-16-64gb"},
                {"gpu_memory": 17_000_000_000, "engine": "llama-server"},
                {"ram": 64 * 2**30},
                {"device": "l40s", "engine": "vllm"},
            ]
        )
    )
    load = draw(
        st.sampled_from(
            [
                {"usage": "chat"},
                {"usage": "agents"},
                {"generate_seconds": 7.25, "turn_seconds": 41.0},
                {"prompt_tokens": 900, "output_tokens": 250, "think_seconds": 30, "prefill_rate": 3000, "decode_rate": 60},
            ]
        )
    )
    return {
        **machine,
        **load,
        "users": draw(st.integers(1, 300)),
        "context": draw(st.integers(1024, 40_000)),
        "wait_target": draw(st.sampled_from([0.0, 0.05, 0.2])),
        "weights_quant": "Q4_K_M" if machine.get("engine") == "llama-server" else None,
    }


@settings(max_examples=12, deadline=None)
@given(requests())
def test_one_step_more_moves_the_verdict_and_one_fewer_does_not(inputs: dict[str, Any]) -> None:
    made = planned(**inputs)
    found = sensitivity(made.plan, made.source)
    assert found.verdict == made.plan.fit.verdict
    for each in found.ranges:
        for end in (each.down, each.up):
            own = each.value if end.last == each.value else end.last
            assert verdict(made.plan.request, made, **{each.field: _typed(each, own)}) == found.verdict
            if end.beyond is not None:
                assert verdict(made.plan.request, made, **{each.field: _typed(each, end.beyond)}) == end.verdict != found.verdict
                assert abs(end.beyond - end.last) <= each.step * (1 + 1e-9)


def _typed(each: Range, value: float) -> float:
    return int(value) if each.unit in {"users", "tokens", "bytes"} else float(value)


@settings(max_examples=40, deadline=None)
@given(inputs=requests(), bar=st.sampled_from(["serves", "bears"]))
def test_one_user_more_than_are_served_is_too_many(inputs: dict[str, Any], bar: str) -> None:
    made = planned(**inputs)
    kept = held(made.plan, made.source)
    holds: Callable[[Any], bool] = bears if bar == "bears" else lambda o: bears(o) and o.outcome.slots >= o.outcome.slots_needed
    most = most_users(kept, {}, holds)
    if most:
        assert holds(kept.outline({"users": most}))
    if most < 10_000:
        assert not holds(kept.outline({"users": most + 1}))


@given(st.integers(-50, 50), st.integers(-2000, 2000), st.sets(st.integers(-60, 60), max_size=6))
def test_a_flip_is_between_neighbours_whatever_the_answers(start: int, end: int, holes: set[int]) -> None:
    def same(n: int) -> bool:
        return n == start or n not in holes

    found = flip(same, start=start, end=end)
    assert same(found.last)
    if found.first is None:
        assert found.last == end
    else:
        assert not same(found.first)
        assert abs(found.first - found.last) == 1


def test_an_answer_that_changes_back_is_said_to() -> None:
    found = flip(lambda n: not 130 <= n < 250, start=0, end=1000)
    assert (found.last, found.first, found.monotone) == (129, 130, False)


def test_the_break_points_of_the_worked_example() -> None:
    made = planned(engine="vllm", engine_version="0.33.0", generate_seconds=12, turn_seconds=90)
    found = {each.field: each for each in sensitivity(made.plan, made.source).ranges}
    users, context = found["users"], found["context"]
    # By hand from the plan's own figures: four conversations fit, and with M/M/4//N the mean wait passes 30 s between 39 and 40 users.
    assert (users.up.last, users.up.beyond, users.up.verdict) == (39, 40, "does_not_fit")
    # Three slots are enough for 7 users, so that four leave one to spare.
    assert (users.down.last, users.down.beyond, users.down.verdict) == (8, 7, "fits")
    assert context.up.verdict == "does_not_fit"
    assert context.monotone
    assert "At 40 users it does not fit: 10 slots are needed, and 4 fit" in said(users)


def test_a_roomy_plan_says_where_it_gets_tight_and_where_it_fails() -> None:
    made = planned(engine="llama-server", generate_seconds=12, turn_seconds=90)
    users = next(each for each in sensitivity(made.plan, made.source).ranges if each.field == "users")
    assert users.up.verdict == "tight"
    assert users.up.fails is not None
    assert verdict(made.plan.request, made, users=int(users.up.fails)) == "does_not_fit"
    assert verdict(made.plan.request, made, users=int(users.up.fails) - 1) == "tight"


def test_an_estimated_speed_whose_range_crosses_a_break_point_is_in_doubt() -> None:
    made = planned(engine="vllm", users=34, prompt_tokens=2000, output_tokens=600, think_seconds=30)
    rates = [each for each in sensitivity(made.plan, made.source).ranges if each.unit == "tokens_per_s"]
    assert rates
    assert all(each.low is not None and each.high is not None for each in rates)
    doubted = [each for each in rates if each.in_doubt]
    for each in doubted:
        assert "measure it" in said(each)
        assert any(end.beyond is not None and (each.low or 0) <= end.beyond <= (each.high or 0) for end in (each.down, each.up))


def test_other_formats_stand_beside_the_plans_own() -> None:
    made = planned(engine="vllm")
    swaps = sensitivity(made.plan, made.source).swaps
    assert [(swap.field, swap.value) for swap in swaps if swap.own] == [("cache_type", "bfloat16"), ("weights_quant", "BF16")]
    assert {(swap.field, swap.value): swap.verdict for swap in swaps}["weights_quant", "AWQ"] == "fits"


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("users", 37, "37 users"),
        ("users", 1, "1 user"),
        ("tokens", 21_504, "21,504 tokens"),
        ("seconds", 14.2, "14.2 s"),
        ("share", 0.613, "61.3 %"),
        ("bytes", 3060 * 2**20, "3,060 MiB"),
        ("tokens_per_s", 3.6, "3.6 tokens/s"),
    ],
)
def test_values_as_people_read_them(unit: Any, value: float, text: str) -> None:
    assert shown(unit, value) == text


def test_the_report_has_every_range_as_text_and_as_json() -> None:
    made = planned(engine="vllm")
    found = sensitivity(made.plan, made.source)
    text, written = sensitivity_text(found), sensitivity_json(found)
    assert [each["field"] for each in written["ranges"]] == [each.field for each in found.ranges]
    assert all(each.title in text for each in found.ranges)
    assert "bfloat16: tight (this plan)" in text
