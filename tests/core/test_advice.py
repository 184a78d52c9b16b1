"""Settings chosen by simulation: the passes, the queue, the slots and what people feel, each against the plan's own load."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.answer import answer
from planner.core.advice import advised
from planner.core.advice.rehearsal import Budget, NotRehearsedError, rehearsal
from planner.core.draft import Draft, batch_choices
from planner.core.engines import engines
from planner.core.plan import Plan
from planner.core.planning import choose_engine, make_plan
from planner.core.request import read_request
from planner.core.simulated import with_batch
from planner.core.simulation import simulate
from planner.sources import find_model

# A machine as slow as a production server of 2026 that was measured: 800 tokens/s of prefill, 52 of decode.
SLOW = {"prefill_rate": 800, "decode_rate": 52, "users": 8, "prompt_tokens": 3000, "output_tokens": 300, "think_seconds": 60}
ENGINES = ["vllm", "llama-server", "ollama"]


def planned(**inputs: Any) -> Plan:
    return answer(read_request({"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "engine": "llama-server", **inputs}), hub=None).plan


def drafted(**inputs: Any) -> tuple[Draft, Any]:
    request = read_request({"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "engine": "llama-server", **inputs})
    source = find_model(request, None)
    return choose_engine(request, source)[0], source


def why(plan: Plan, flag: str) -> str:

    handed = make_plan(plan.request, find_model(plan.request, None))[1]
    return next(setting.why for setting in handed.settings if (setting.flag or setting.env) == flag)


def test_long_prompts_on_a_slow_machine_get_the_largest_passes_that_keep_the_pause() -> None:
    draft, source = drafted(**SLOW)
    tried = rehearsal(draft, source, Budget())
    pauses = {tokens: tried.run(with_batch(tried.server, tokens)).everyone.pause.p95 for tokens in batch_choices(draft.engine, draft.job)}
    chosen = advised(draft, source).job.batch_tokens
    assert pauses[chosen] <= 1.0
    assert all(pause > 1.0 for tokens, pause in pauses.items() if tokens > chosen)


def test_the_reason_has_the_figures_of_both_and_what_it_costs_the_first_token() -> None:
    plan = planned(**SLOW)
    assert plan.engine.batch_tokens < 2048
    text = plan.engine.batch_tokens_why
    assert text.startswith(f"Simulated: with passes of {plan.engine.batch_tokens:,} prompt tokens the longest pause is at most ")
    assert "with 2,048 it would be " in text
    assert ", instead of " in text
    assert why(plan, "--batch-size") == text


def test_nobody_else_to_wait_means_the_largest_passes() -> None:
    assert planned(**{**SLOW, "users": 1}).engine.batch_tokens == 2048


def test_short_prompts_may_take_larger_passes_than_the_closed_form_allows() -> None:
    short = {**SLOW, "prompt_tokens": 100}
    assert drafted(**short)[0].job.batch_tokens == 512
    assert planned(**short).engine.batch_tokens == 2048


def test_where_no_passes_keep_the_pause_the_ones_that_help_are_taken() -> None:
    plan = planned(**{**SLOW, "decode_rate": 0.5, "pause_target": 0.1})
    assert "no choice keeps the longest pause within your limit of 0.1 s" in plan.engine.batch_tokens_why


def test_a_command_line_is_what_runs_and_what_is_felt() -> None:
    chosen, stated = planned(**SLOW), planned(**SLOW, engine_args="-b 2048")
    assert stated.speed.pause_seconds.p95 > 2 * chosen.speed.pause_seconds.p95
    assert "The plan would take" in why(stated, "--batch-size")


@pytest.mark.parametrize(
    ("engine", "words", "tokens"),
    [
        ("llama-server", "-b 256", 256),
        ("vllm", "--max-num-batched-tokens 512", 512),
        ("ollama", "OLLAMA_NUM_PARALLEL=2", None),
        ("vllm", "", None),
    ],
)
def test_passes_on_a_command_line_are_read(engine: str, words: str, tokens: int | None) -> None:
    draft, _ = drafted(engine=engine, engine_args=words)
    assert draft.engine.stated_batch_tokens(draft.job) == tokens


def test_ollama_has_no_passes_to_choose() -> None:
    assert planned(**{**SLOW, "engine": "ollama", "pause_target": 0.1}).engine.batch_tokens == 512


def test_larger_passes_never_cost_a_conversation() -> None:
    for model in ("Qwen/Qwen3-8B", "google/gemma-3-27b-it", "openai/gpt-oss-20b"):
        request = read_request({"model": model, "device": "rtx-5090", "engine": "vllm", "pause_target": 0.3, "users": 30})
        source = find_model(request, None)
        draft = choose_engine(request, source)[0]
        assert advised(draft, source).capacity.slots >= draft.capacity.slots


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"device": None, "ram": "16GiB", "weights_quant": "Q4_K_M"}, "Not simulated: the speeds are not known."),
        (
            {"device": None, "gpu_memory": "2GiB", "ram": "2GiB", "prefill_rate": 500, "decode_rate": 20},
            "Not simulated: not one request fits.",
        ),
        ({"users": 5000}, "Not simulated: more than 500 users take longer than a page may."),
    ],
)
def test_what_cannot_be_tried_keeps_the_closed_form_and_says_so(inputs: dict[str, Any], reason: str) -> None:
    draft, source = drafted(**inputs)
    kept = advised(draft, source)
    assert kept.batch_why.startswith(f"{draft.batch_why} {reason}")
    assert (kept.fit, kept.speed, kept.job) == (draft.fit, draft.speed, draft.job)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_people_feel_is_filled_and_has_a_range_where_speeds_are_estimated(engine: str) -> None:
    speed = planned(engine=engine).speed
    assert speed.felt_source.startswith("Simulated at estimated speeds")
    for name in ("ttft_seconds", "itl_seconds", "pause_seconds"):
        middle, low, high = (getattr(each, name) for each in (speed, speed.fastest, speed.slowest))
        for share in ("p50", "p95", "p99", "max"):
            assert getattr(low, share) <= getattr(middle, share) <= getattr(high, share)
        assert middle.p50 <= middle.p95 <= middle.p99 <= middle.max
    known = planned(engine=engine, prefill_rate=3000, decode_rate=60).speed
    assert known.felt_source.startswith("Simulated: ")
    assert known.fastest is known.slowest is None


def test_lengths_that_were_assumed_are_said() -> None:
    said = {remark.code for remark in planned().remarks}
    assert {"prompt_tokens_assumed", "output_tokens_assumed"} <= said
    given = {remark.code for remark in planned(**SLOW).remarks}
    assert not {"prompt_tokens_assumed", "output_tokens_assumed"} & given


@pytest.mark.parametrize(
    ("inputs", "codes"),
    [
        ({}, set()),
        ({**SLOW, "pause_target": 0.01, "patience": 1}, {"pause_beyond_limit", "wait_beyond_patience"}),
        # Four adapters take turns in one llama-server, so that even with a slot for everyone a turn waits for the others' to end.
        ({"model": "meta-llama/Llama-3.1-8B-Instruct", "adapters": 4, "context": 4096}, {"wait_beyond_patience"}),
    ],
)
def test_limits_that_the_plan_s_own_load_does_not_keep_are_said(inputs: dict[str, Any], codes: set[str]) -> None:
    said = {remark.code for remark in planned(**inputs).remarks}
    assert said & {"pause_beyond_limit", "wait_beyond_patience"} == codes


def test_an_assumed_answer_takes_the_seconds_of_the_workload() -> None:
    """A generation among those in flight lasts what the request says, so the simulated load is the one of the queueing formulas."""
    draft, source = drafted(generate_seconds=12, turn_seconds=90)
    run = rehearsal(draft, source, Budget()).run()
    assert run.slots_busy == pytest.approx(draft.load.in_flight_mean, rel=0.25)


def test_slots_that_overfill_the_cache_are_counted_and_the_most_without_is_named() -> None:
    plan = planned(engine="vllm", slots=40, users=60, prompt_tokens=4000, output_tokens=400, think_seconds=20)
    assert plan.fit.preemptions > 0
    assert plan.fit.preemptions_why.endswith(" slots none is.")
    assert plan.fit.preemptions_why in why(plan, "--max-num-seqs")
    assert "slots_preempt" in {remark.code for remark in plan.remarks}


def test_slots_within_memory_push_nobody_out() -> None:
    plan = planned(engine="vllm")
    assert plan.fit.preemptions == 0
    assert "pushed out of the cache" in why(plan, "--max-num-seqs")


def test_private_slots_have_nothing_to_push_out() -> None:
    assert planned().fit.preemptions is None


def test_all_runs_of_a_plan_together_stay_within_their_bound() -> None:
    budget = Budget()
    whole = budget.left
    draft, source = drafted(engine="vllm", slots=40, users=60, prompt_tokens=4000, output_tokens=400, think_seconds=20, pause_target=0.05)
    tried = rehearsal(draft, source, budget)
    made = tried.run().events
    assert 0 < made < whole - budget.left
    left = budget.left
    tried.run()
    assert budget.left == left
    tried.run(with_batch(tried.server, 512))
    assert budget.left == left - tried.run(with_batch(tried.server, 512)).events
    budget.left = 1
    with pytest.raises(NotRehearsedError, match="longer than a page may"):
        tried.run(with_batch(tried.server, 256))
    assert budget.left == 0


def test_a_queue_that_lets_people_wait_too_long_is_shortened() -> None:
    crowded = {**SLOW, "users": 60, "slots": 2, "patience": 60}
    draft, source = drafted(**crowded)
    kept = advised(draft, source).fit
    assert 1 <= kept.max_queue < draft.fit.max_queue
    assert f"with {kept.max_queue:,} in the queue" in kept.max_queue_why


def test_a_queue_is_left_alone_where_a_shorter_one_helps_little() -> None:
    hopeless = {**SLOW, "users": 60, "slots": 1, "patience": 0.5}
    draft, source = drafted(**hopeless)
    kept = advised(draft, source).fit
    assert kept.max_queue == draft.fit.max_queue
    assert "waits at most" in kept.max_queue_why
    # The mean of the formula, which would keep the patience, is not said beside a simulation that does not.
    assert "within the 0.5 s" not in kept.max_queue_why
    assert "people are ready to wait 0.5 s. None is shorter; more slots or shorter turns may." in kept.max_queue_why


# Loads that an empty server answers at first and then falls behind: what counts is how it goes on. From a run of a working day.
CROWDED = [
    {
        "device": "h100-sxm",
        "engine": "vllm",
        "users": 200,
        "prompt_tokens": 3000,
        "output_tokens": 500,
        "think_seconds": 30,
        "context": 16384,
    },
    {
        "device": "rtx-3090",
        "engine": "ollama",
        "users": 100,
        "prompt_tokens": 2000,
        "output_tokens": 300,
        "think_seconds": 10,
        "context": 8192,
    },
    {"users": 20, "engine": "vllm"},
]


@pytest.mark.parametrize("inputs", CROWDED)
def test_what_a_plan_says_people_feel_is_what_a_working_day_of_the_same_gives(inputs: dict[str, Any]) -> None:
    plan = planned(**inputs)
    draft, source = drafted(**inputs)
    tried = rehearsal(draft, source, Budget())
    server = with_batch(tried.server, plan.engine.batch_tokens or tried.server.batch_tokens)
    day = simulate(server, tried.cost, replace(tried.load, duration_s=8 * 3600.0)).everyone
    assert plan.speed.ttft_seconds.p50 == pytest.approx(day.ttft.p50, rel=0.2)
    assert plan.speed.ttft_seconds.p95 == pytest.approx(day.ttft.p95, rel=0.2)
    assert plan.speed.pause_seconds.p95 == pytest.approx(day.pause.p95, rel=0.1)


def test_few_people_with_long_prompts_are_tried_too() -> None:
    """Five people whose turns read a history of 15,000 tokens take hundreds of small passes each."""
    five = {"prefill_rate": 800, "decode_rate": 52, "users": 5, "prompt_tokens": 15_000, "output_tokens": 400, "think_seconds": 60}
    for adapters in (0, 2):
        plan = planned(**five, context=32_768, adapters=adapters, switch_seconds=0.74)
        assert plan.speed.felt_source.startswith("Simulated: ")
        assert plan.engine.batch_tokens_why.startswith("Simulated: ")


def test_what_is_felt_without_the_queue_s_bound_says_so() -> None:
    crowded = planned(**SLOW | {"users": 60, "slots": 2})
    assert crowded.speed.felt_source.endswith("turns of your load, with nobody turned away.")
    assert "with nobody turned away, a turn waits" in next(r.message for r in crowded.remarks if r.code == "wait_beyond_patience")
    assert "nobody turned away" not in planned(users=2).speed.felt_source


@pytest.mark.parametrize(
    ("inputs", "awaited"),
    [
        ({"slots": 2, "users": 40}, "a slot"),
        ({"slots": 2, "users": 40, "adapters": 2}, "a slot or for another adapter's turn to end"),
        # vLLM reads the turns of all adapters in one step.
        ({"engine": "vllm", "users": 60, "adapters": 2}, "a slot"),
        ({"engine": "vllm", "users": 40, "slots": 64, "context": 8192, "output_tokens": 1500}, "room in the cache"),
    ],
)
def test_a_wait_is_for_what_the_engine_makes_people_wait_for(inputs: dict[str, Any], awaited: str) -> None:
    plan = planned(**SLOW | {"patience": 1} | inputs)
    said = next(remark.message for remark in plan.remarks if remark.code == "wait_beyond_patience")
    assert f" for {awaited} (95 % of turns)" in said


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"adapters": 2}, "switch_seconds_assumed"),
        ({"adapters": 2, "switch_seconds": 0.74}, None),
        ({"adapters": 1}, None),
        ({"adapters": 2, "engine": "ollama"}, "switch_seconds_assumed"),
        ({"adapters": 2, "engine": "vllm"}, None),
        ({"adapters": 2, "engine": "vllm", "switch_seconds": 0.74}, "switch_seconds_unused"),
    ],
)
def test_what_a_change_of_adapter_costs_is_given_or_said(inputs: dict[str, Any], code: str | None) -> None:
    said = {remark.code for remark in planned(**inputs).remarks if remark.code.startswith("switch_seconds")}
    assert said == ({code} if code else set())


def test_a_change_of_adapter_costs_what_the_request_says() -> None:
    alone, quick, slow = (
        planned(**SLOW, slots=4, adapters=adapters, switch_seconds=seconds).speed for adapters, seconds in ((1, 5), (2, 0), (2, 5))
    )
    assert alone.ttft_seconds.p95 < quick.ttft_seconds.p95 < slow.ttft_seconds.p95


ASKED = st.fixed_dictionaries(
    {
        "engine": st.sampled_from(ENGINES),
        "users": st.integers(1, 200),
        "slots": st.integers(0, 12),
        "patience": st.floats(1, 120),
        "prompt_tokens": st.none() | st.integers(1, 6000),
        "pause_target": st.floats(0.05, 3),
    }
)


@settings(max_examples=25, deadline=None)
@given(asked=ASKED)
def test_the_same_request_is_the_same_plan_and_its_queue_never_longer_than_people(asked: dict[str, Any]) -> None:
    draft, source = drafted(**asked)
    first, second = advised(draft, source), advised(draft, source)
    assert first == second
    assert 1 <= first.fit.max_queue <= max(1, asked["users"] - first.fit.slots)
    assert first.fit.max_queue <= draft.fit.max_queue
    assert first.job.batch_tokens in batch_choices(engines()[asked["engine"]], draft.job)


def test_what_a_shorter_queue_cannot_do_one_adapter_for_all_may() -> None:
    said = planned(**SLOW | {"users": 20, "slots": 8, "adapters": 4, "switch_seconds": 2, "patience": 10}).fit.max_queue_why
    assert "does not keep that either (" in said
    assert "; one adapter for all may." in said
