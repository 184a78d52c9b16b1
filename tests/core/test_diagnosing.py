"""A diagnosis of records written by hand: each cause by itself, and what cannot be known."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.diagnosing import Diagnosis, Given, Options, diagnose, sweep
from planner.core.diagnosing.calls import UNKNOWN, read_calls
from planner.core.diagnosing.collecting import collect
from planner.core.diagnosing.comparing import compare
from planner.core.diagnosing.findings import kinds
from planner.core.diagnosing.report import diagnosis_json
from planner.core.diagnosing.report_text import diagnosis_text
from planner.core.errors import InputError
from planner.core.logs.metrics import read_metrics
from planner.core.logs.record import Counts, Facts, Mark, Notice, Sample, Task
from planner.core.logs.vmstat import read_vmstat
from planner.core.request import read_request

Item = Task | Sample | Notice
READ, STEP = 1_000.0, 0.02


class Records:
    """A reading that was never a file."""

    def __init__(self, items: Sequence[Item], engine: str = "llama-server", **facts: object) -> None:
        self._items = items
        self.facts = Facts(engine=engine, starts=1, values={"n_slots": 4, "n_ctx_slot": 8_192, **facts})
        self.counts = Counts(lines=len(items))

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)


def task(number: int, launched: float, **given: Any) -> Task:
    """A task that ran alone: a prompt at `READ` tokens per second, an answer with a token every `STEP` seconds, `waited` before both."""
    prompt, output = given.pop("prompt", 200), given.pop("output", 51)
    cached, waited = given.pop("cached", 0), given.pop("waited", 0.0)
    prefill = given.pop("prefill", (prompt - cached) / READ)
    generate = given.pop("generate", (output - 1) * STEP)
    end = launched + waited + prefill + generate
    values = {
        "slot": number % 4, "run": 1, "line": number, "ending": "finished", "launched_s": launched, "released_s": end, "summary_s": end,
        "prompt_tokens": prompt, "computed_tokens": prompt - cached, "output_tokens": output, "prefill_s": prefill, "generate_s": generate,
    }  # fmt: skip
    return Task(number=number, **{**values, **given})


def cut_off(number: int, launched: float, released: float | None, **given: Any) -> Task:
    """A task without a summary."""
    return Task(
        number=number, run=1, slot=0, line=number, **{"ending": "cancelled", "launched_s": launched, "released_s": released, **given}
    )


def in_order(*tasks: Task) -> list[Item]:
    """As a log has them: when they end."""
    return sorted(tasks, key=lambda each: each.released_s or 0.0)


def quiet(count: int = 8, start: float = 0.0) -> list[Task]:
    """Turns one after another, from which the speeds follow."""
    return [task(number, start + number * 10, prompt=200 + 50 * number, output=51 + 10 * number) for number in range(count)]


def found(diagnosis: Diagnosis, code: str) -> Any:
    return next(finding for finding in diagnosis.findings if finding.code == code)


def codes(diagnosis: Diagnosis) -> list[str]:
    return [finding.code for finding in diagnosis.findings]


def test_tasks_that_ran_alone_are_all_own_work_and_nothing_is_found() -> None:
    answer = diagnose(Records(quiet()))
    assert answer.breakdown is not None
    assert answer.breakdown.contention_s == pytest.approx(0, abs=0.1)
    assert answer.breakdown.waiting_s == 0
    assert answer.breakdown.own_prefill_s == pytest.approx(sum(200 + 50 * n for n in range(8)) / READ, rel=0.02)
    assert answer.rates.prefill == pytest.approx(READ, rel=0.02)
    assert answer.rates.decode == pytest.approx(1 / STEP, rel=0.02)
    assert codes(answer) == []
    assert (answer.tasks, answer.finished, answer.in_flight_max) == (8, 8, 1)
    assert answer.two_or_more_share == 0
    assert answer.ttft is not None
    assert answer.ttft.max == pytest.approx(0.55, rel=0.01)


def test_given_rates_stand_in_for_the_fitted_ones() -> None:
    answer = diagnose(Records(quiet()), Options(given=Given(prefill=500.0, decode=25.0)))
    assert (answer.rates.prefill, answer.rates.decode, answer.rates.given) == (500.0, 25.0, True)
    assert answer.rates.cost is not None
    assert (answer.rates.cost.token_s, answer.rates.cost.step_s) == (0.002, 0.04)


def stalled_stream(prompt: int = 8_000) -> list[Task]:
    """A stream that gets one token per pass of 2,048 while a prompt is read; its progress lines show it."""
    read_s = prompt / READ
    passes = -(-prompt // 2_047)
    marks = [Mark(102.0 + 3.0, 101, prefill=False)]
    reader = task(21, 106.0, prompt=prompt, output=11, prefill=read_s, generate=0.5)
    steps = [Mark(106.0 + read_s * n / passes, min(prompt, 2_047 * n), prefill=True) for n in range(2, passes)]
    after = 106.0 + read_s
    marks.append(Mark(after, 150 + passes, prefill=False))
    stream = task(20, 101.8, prompt=200, output=150 + passes + 101, prefill=0.2, generate=after - 102.0 + 2.2, marks=tuple(marks))
    return [stream, replace(reader, marks=tuple(steps))]


def test_a_stream_beside_a_long_prompt_is_found_by_its_effect() -> None:
    answer = diagnose(Records(in_order(*quiet(), *stalled_stream())))
    finding = found(answer, "long_prefill")
    assert codes(answer)[0] == "long_prefill"
    assert answer.during_long_prefill.n == 1
    assert answer.during_long_prefill.mean == pytest.approx(4 / 8, rel=0.1)
    assert answer.otherwise.mean == pytest.approx(1 / STEP, rel=0.15)
    assert finding.lost_s == pytest.approx(8, rel=0.1)
    assert finding.examples[0].task == 20
    assert "LLAMA_ARG_BATCH=" in finding.files[0].content
    assert finding.effect.after < finding.effect.before
    assert answer.lanes[-2].stalls


def test_a_stall_is_found_whatever_the_length_that_sorts_the_tables() -> None:
    answer = diagnose(Records(in_order(*quiet(), *stalled_stream())), Options(long_prefill=50_000))
    assert codes(answer)[0] == "long_prefill"
    assert answer.during_long_prefill.n == 0


def test_a_slot_without_a_pass_while_others_only_generate_waits_for_another_adapter() -> None:
    long_answer = task(20, 101.0, prompt=200, output=501)
    waiting = task(21, 102.0, waited=long_answer.released_s - 102.0)  # type: ignore[operator]
    answer = diagnose(Records(in_order(*quiet(), long_answer, waiting)))
    wait = next(each for each in answer.waits if each.cause == "other_adapter")
    assert (wait.count, wait.inferred) == (1, True)
    assert wait.total_s == pytest.approx(9.2, rel=0.01)
    assert found(answer, "adapter_switching").inferred


def test_a_slot_without_a_pass_while_a_prompt_is_read_waits_behind_it() -> None:
    reader = task(20, 101.0, prompt=8_000, output=51)
    behind = task(21, 101.5, waited=6.5)
    answer = diagnose(Records(in_order(*quiet(), reader, behind)))
    waits = {each.cause: each for each in answer.waits}
    assert (waits["same_adapter"].count, waits["other_adapter"].count) == (1, 0)
    assert "engine" in found(answer, "hidden_wait").evidence or "prompt eval time" in found(answer, "hidden_wait").evidence


def test_a_wait_while_nobody_runs_has_no_cause_in_the_log() -> None:
    answer = diagnose(Records([*quiet(), task(20, 101.0, waited=2.0)]))
    wait = next(each for each in answer.waits if each.cause == "nothing")
    assert (wait.count, wait.inferred) == (1, False)


def queue_of(rounds: int) -> list[Task]:
    """Four slots without a break: each task begins the moment another ends."""
    return [
        task(40 + index * 4 + slot, 101.0 + index * 5.0 + slot * 0.001, output=241, prefill=0.19, slot=slot)
        for index in range(rounds)
        for slot in range(4)
    ]


def test_tasks_that_start_the_moment_a_busy_slot_comes_free_had_queued() -> None:
    answer = diagnose(Records(in_order(*quiet(), *queue_of(4))))
    finding = found(answer, "slots_full")
    assert finding.inferred
    assert finding.count >= 11
    assert "LLAMA_ARG_N_PARALLEL=8" in finding.files[0].content
    wait = next(each for each in answer.waits if each.cause == "slots_full")
    assert wait.total_s is None


def test_conversations_that_are_read_again_are_counted_and_hits_are_not() -> None:
    again = [task(20 + n, 101.0 + 10 * n, prompt=4_000 + n, output=21) for n in range(4)]
    hits = [task(30 + n, 201.0 + 10 * n, prompt=4_100 + n, output=21, cached=4_000) for n in range(4)]
    answer = diagnose(Records([*again, *hits]))
    assert answer.prompt_cache.misses == 3
    assert answer.prompt_cache.reread_tokens == 12_006
    assert answer.prompt_cache.hit_rate == pytest.approx(16_000 / (16_006 + 16_406), rel=0.01)
    assert found(answer, "prompt_cache").inferred


def test_a_cancelled_request_that_held_a_pass_is_found() -> None:
    gone = Notice(code="cancelled", line=1, at_s=103.0, task=20)
    answer = diagnose(Records([*quiet(), gone, cut_off(20, 101.0, 115.0), task(21, 120.0)]))
    assert found(answer, "cancelled_hold").lost_s == pytest.approx(12)
    assert (answer.tasks, answer.finished, answer.cancelled) == (10, 9, 1)
    assert any(remark.code == "cut_tasks" for remark in answer.warnings)


def test_refused_prompts_name_the_context_that_they_need() -> None:
    notices = [Notice(code="too_long", line=n, at_s=101.0 + n, task=20 + n, value=9_000 + n) for n in range(3)]
    refused = [cut_off(20 + n, 101.0 + n, 101.0 + n, ending="refused", asked_tokens=9_000 + n) for n in range(3)]
    answer = diagnose(Records([*quiet(), *notices, *refused]))
    finding = found(answer, "context_overflow")
    assert finding.count == 3
    # 9,002 tokens and room for an answer, in whole thousands, for each of four slots.
    assert "LLAMA_ARG_CTX_SIZE=40960" in finding.files[0].content
    assert answer.in_flight_max == 1


# Code of a notice, code of the finding that it makes.
NOTICED = [
    ("queue_full", "rejections"),
    ("context_shift", "truncation"),
    ("truncated_input", "truncation"),
    ("pool_full", "pool_full"),
    ("context_exceeded", "pool_full"),
    ("full_reprocess", "prompt_cache"),
    ("preempted", "preemptions"),
    ("layers_on_cpu", "layers_on_cpu"),
    ("timeout", "timeout"),
    ("out_of_memory", "out_of_memory"),
    ("start_failed", "start_failed"),
]


@pytest.mark.parametrize(("code", "finding"), NOTICED)
@pytest.mark.parametrize("count", [1, 3])
def test_a_line_that_reports_trouble_by_itself_is_a_finding(code: str, finding: str, count: int) -> None:
    answer = diagnose(Records([*quiet(), *(Notice(code=code, line=n, at_s=90.0 + n) for n in range(count))]))
    assert finding in codes(answer)
    assert answer.notices == {code: count}
    assert found(answer, finding).examples


def test_layers_that_were_left_on_the_cpu_are_counted_and_a_machine_without_a_gpu_is_none() -> None:
    assert found(diagnose(Records(quiet(), layers_on_gpu=30, layers=37)), "layers_on_cpu").count == 7
    assert codes(diagnose(Records(quiet(), layers_on_gpu=0, layers=37))) == []


def test_swapping_comes_from_vmstat_and_its_absence_is_said() -> None:
    head = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
    calm = " 1  0      0 100000   1000  50000    0    0     0     0  100  200 10  1 89  0  0"
    busy = " 3  2  90000   1000   1000  50000 2048 4096     0     0  100  200 10  1 49 40  0"
    swapping = diagnose(Records(quiet()), Options(vmstat=read_vmstat([head, calm, busy, busy, busy])))
    assert found(swapping, "swapping").count == 3
    resting = diagnose(Records(quiet()), Options(vmstat=read_vmstat([head, calm, calm, calm])))
    assert "swapping" not in codes(resting)
    assert "Swapping" in {each.hypothesis for each in resting.ruled_out}


def test_a_log_without_times_says_what_cannot_be_known_and_answers_the_rest() -> None:
    untimed = [replace(each, launched_s=None, released_s=None, summary_s=None) for each in quiet()]
    answer = diagnose(Records(untimed))
    assert (answer.tasks, answer.finished) == (8, 8)
    assert answer.breakdown is answer.busy_share is answer.ttft is answer.in_flight_max is None
    assert answer.rates.prefill == pytest.approx(READ, rel=0.02)
    assert answer.rates.decode == pytest.approx(1 / STEP, rel=0.02)
    assert answer.itl is not None
    assert "no_times" in {remark.code for remark in answer.warnings}


def test_a_batch_that_no_line_shows_follows_from_what_answers_got_beside_prompts() -> None:
    tasks = quiet(12)
    for index in range(6):
        at = 200.0 + 40 * index
        # 5,000 tokens in 2 s are too short for a progress line; at 512 tokens a pass they give a stream ten tokens.
        tasks.append(task(100 + 2 * index, at, output=211, generate=2.0 + 200 * STEP))
        tasks.append(task(101 + 2 * index, at + 1.0, prompt=5_000, output=2, prefill=2.0, generate=0.0))
    answer = diagnose(Records(in_order(*tasks)))
    assert (answer.rates.batch_tokens, answer.rates.batch_source) == (512, "inferred")
    assert answer.during_long_prefill.mean == pytest.approx(5.0, rel=0.05)


CALLS = """time,purpose,prompt_tokens,gate_wait
1000.5,turn,200,0
1009.0,turn,250,0.5
1019.0,summary,300,2
5000.0,turn,999,
"""


def test_calls_are_joined_by_time_and_tokens_on_a_clock_of_their_own() -> None:
    # The application's clock is 1,000 s before the log's; its third call waited 1.5 s for a slot.
    tasks = [task(0, 0.6, prompt=200), task(1, 9.1, prompt=250), task(2, 20.5, prompt=300), task(3, 40.0, prompt=777)]
    answer = diagnose(Records(tasks), Options(calls=read_calls(CALLS.splitlines())))
    rows = {row.name: row for row in answer.purposes}
    assert [(rows[name].calls, rows[name].tasks) for name in ("turn", "summary", UNKNOWN)] == [(3, 2), (1, 1), (0, 1)]
    assert answer.ttft_from == "sending"
    assert rows["summary"].queue is not None
    assert rows["summary"].queue.max == pytest.approx(1.4, abs=0.05)
    assert rows["summary"].gate is not None
    assert rows["summary"].gate.max == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no call"), ("purpose\nturn\n", "no time"), ('{"time": }\n', "no JSON object"), ("time\nyesterday\n", "no time")],
)
def test_calls_that_cannot_be_used_are_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_calls(text.splitlines())


def test_calls_may_be_json_lines_with_dates() -> None:
    calls = read_calls(
        ['{"time": "2026-11-29T10:00:00+01:00", "purpose": "turn", "prompt_tokens": 12}', '{"time": "2026-11-29T09:00:01Z"}']
    )
    assert calls.sent[1] - calls.sent[0] == 1
    assert calls.purposes == ["turn", "calls"]


def test_samples_in_which_all_but_stop_are_a_long_prompt() -> None:
    good = [Sample(at_s=10.0 * n, running=4, waiting=0, prompt_rate=0.0, generation_rate=200.0, cache_share=0.2) for n in range(20)]
    bad = [Sample(at_s=200.0 + 10 * n, running=4, waiting=0, prompt_rate=600.0, generation_rate=8.0, cache_share=0.3) for n in range(3)]
    answer = diagnose(Records([*good, *bad], engine="vllm", max_num_batched_tokens=8_192))
    assert found(answer, "long_prefill").count == 3
    assert "max-num-batched-tokens: 2048" in found(answer, "long_prefill").files[0].content
    assert codes(diagnose(Records(good, engine="vllm"))) == []


def test_preemptions_come_from_the_metrics_and_quieten_what_they_explain() -> None:
    full = [Sample(at_s=10.0 * n, running=4, waiting=3, prompt_rate=5.0, generation_rate=100.0, cache_share=0.95) for n in range(5)]
    metrics = [
        'vllm:num_preemptions_total{engine="0"} 7',
        'vllm:request_success_total{finished_reason="stop"} 20',
        'vllm:time_to_first_token_seconds_bucket{le="1"} 10',
        'vllm:time_to_first_token_seconds_bucket{le="+Inf"} 20',
    ]
    told = diagnose(Records(full, engine="vllm"), Options(metrics=read_metrics(metrics)))
    assert codes(told) == ["preemptions"]
    assert (told.preemptions, told.tasks) == (7, 20)
    untold = diagnose(Records(full, engine="vllm"))
    assert codes(untold) == ["oversubscribed_cache"]
    assert untold.preemptions is None


def test_two_logs_are_compared_within_like_groups_and_warned_of() -> None:
    before = diagnose(Records(quiet(25, 200.0)))
    after = diagnose(Records(in_order(*quiet(25, 200.0), *stalled_stream()), n_slots=8, n_ctx_slot=4_096))
    comparison = compare(before, after)
    row = next(row for row in comparison.rows if row.group == "alone")
    assert (row.before.count, row.after.count) == (25, 25)
    assert {"n_slots: 4 → 8", "n_ctx_slot: 8192 → 4096"} <= set(comparison.changed)
    assert {"several_changes", "small_group", "load_differs"} <= {warning.code for warning in comparison.warnings}
    same = compare(before, before)
    assert same.changed == ()
    assert {warning.code for warning in same.warnings} <= {"small_group"}


def test_the_speeds_and_the_load_open_the_planner() -> None:
    answer = diagnose(Records(quiet(20)))
    assert answer.query is not None
    values = dict(pair.split("=") for pair in answer.query.split("&"))
    request = read_request(values)
    assert request.prefill_rate == pytest.approx(READ, rel=0.02)
    assert request.decode_rate == pytest.approx(1 / STEP, rel=0.02)
    assert (request.users, request.context, request.engine) == (1, 8_192, "llama-server")


def test_the_json_has_every_key_that_scripts_rely_on_and_names_what_is_null() -> None:
    text = json.dumps(diagnosis_json(diagnose(Records(in_order(*quiet(), *stalled_stream())))), allow_nan=False)
    answer = json.loads(text)
    keys = (
        "schema engine format lines unparsed_lines span tasks busy_share two_or_more_share in_flight_max rates breakdown ttft itl wait "
        "generation_rate waits_by_cause prompt_cache preemptions rejections findings ruled_out"
    )
    assert set(keys.split()) <= set(answer)
    assert {"count", "finished", "cancelled"} <= set(answer["tasks"])
    assert {"prefill", "decode", "prefill_by_batch"} <= set(answer["rates"])
    assert set(answer["breakdown"]) == {"own_generation", "own_prefill", "contention", "waiting"}
    assert {"p50", "p90", "p95", "max"} <= set(answer["ttft"])
    assert {wait["cause"] for wait in answer["waits_by_cause"]} == {"other_adapter", "same_adapter", "slots_full", "nothing"}
    finding = answer["findings"][0]
    assert {"code", "severity", "title", "evidence", "cause", "fix", "files", "expected_effect"} <= set(finding)
    nulls = [key for key, value in answer.items() if value is None and key != "comparison"]
    told = next(warning["message"] for warning in answer["warnings"] if warning["code"] == "not_known")
    assert all(key in told for key in nulls if key != "breakdown_shares")


def test_the_terminal_shows_the_finding_its_file_and_what_was_ruled_out() -> None:
    text = diagnosis_text(diagnose(Records(in_order(*quiet(), *stalled_stream()))))
    for part in (
        "1. Long prompts freeze the other answers",
        "LLAMA_ARG_BATCH",
        "Expected:",
        "Ruled out:",
        "What if:",
        "These speeds in a plan",
    ):
        assert part in text


def test_a_log_without_a_request_claims_nothing() -> None:
    assert "No request was found" in diagnosis_text(diagnose(Records([])))


def test_every_kind_of_finding_is_quiet_where_nothing_is_wrong() -> None:
    assert len(kinds()) >= 15
    assert codes(diagnose(Records([task(number, number * 10.0, prompt=300) for number in range(40)]))) == []


HOSTILE = st.builds(
    lambda number, launched, waited, prefill, generate, prompt, output, marks, ending: task(
        number,
        launched,
        waited=waited,
        prefill=prefill,
        generate=generate,
        prompt=prompt,
        output=output,
        ending=ending,
        marks=tuple(Mark(launched + at, tokens, prefill=kind) for at, tokens, kind in marks),
    ),
    st.integers(0, 9),
    st.floats(0, 1e6) | st.floats(0, 100),
    st.floats(0, 100),
    st.floats(0, 100),
    st.floats(0, 100),
    st.integers(0, 10**7),
    st.integers(0, 10**7),
    st.lists(st.tuples(st.floats(0, 50), st.integers(0, 10**7), st.booleans()), max_size=5),
    st.sampled_from(["finished", "cancelled", "failed", "cut", "refused"]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(HOSTILE, max_size=12))
def test_records_that_no_server_would_write_are_answered_with_numbers(tasks: list[Task]) -> None:
    answer = diagnosis_json(diagnose(Records(tasks), Options(tries=len(tasks) < 4)))
    json.dumps(answer, allow_nan=False)
    for name in ("busy_share", "two_or_more_share"):
        assert answer[name] is None or 0 <= answer[name] <= 1
    if answer["breakdown"]:
        assert all(value >= 0 and math.isfinite(value) for value in answer["breakdown"].values())


@settings(max_examples=60, deadline=None)
@given(st.lists(HOSTILE, max_size=12))
def test_whoever_was_in_flight_has_left_in_the_end(tasks: list[Task]) -> None:
    assert collect(Records(tasks), long_prefill=5_000, calls=None).sweep.idle


def test_more_tasks_take_no_more_memory_for_their_figures() -> None:
    def turns(count: int) -> Records:
        return Records([task(number, number * 10.0, prompt=300) for number in range(count)])

    small, large = diagnose(turns(1_600), Options(tries=False)), diagnose(turns(4_800), Options(tries=False))
    assert len(large.lanes) == len(small.lanes) == 1_500
    assert len(large.in_flight) <= 1_440
    assert (small.lanes_thinned, large.lanes_thinned) == (False, True)


def crowd(tasks: int) -> list[Task]:
    """So many at once that each reads its prompt beside all the others' answers."""
    return [task(number, float(number), prompt=100, prefill=0.5, output=2_000, generate=tasks * 2.0) for number in range(tasks)]


def test_a_crowd_beyond_any_server_is_looked_at_in_part_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = diagnose(Records(in_order(*crowd(60))), Options(tries=False))
    assert "not_analysed" not in {warning.code for warning in everything.warnings}
    monkeypatch.setattr(sweep, "_AT_FIRST", 100)
    monkeypatch.setattr(sweep, "_PER_TASK", 4)
    records = Records(in_order(*crowd(60)))
    looked_at = collect(records, long_prefill=5_000, calls=None).sweep.overlaps_told
    # 60 × 59 / 2 pairs of an answer and a later prompt.
    assert (looked_at.left, looked_at.over) == (0, 60 * 59 // 2 - 100 - 60 * 4)
    warned = {warning.code: warning.message for warning in diagnose(Records(in_order(*crowd(60))), Options(tries=False)).warnings}
    assert f"{looked_at.over:,} overlaps" in warned["not_analysed"]


def test_prompts_of_millions_of_tokens_have_a_bounded_number_of_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_AT_FIRST", 2_000)
    long = [task(number, number * 20_000.0, prompt=10_000_000) for number in range(50)]
    told = collect(Records(in_order(*long)), long_prefill=5_000, calls=None).sweep
    assert told.passes_told.over == 50
    assert told.passes_told.left == 0
    # Each has one that ends with it all the same.
    assert told.busy_s == pytest.approx(sum(each.prefill_s + each.generate_s for each in long if each.prefill_s and each.generate_s))


def test_an_engine_without_lines_for_requests_rules_out_nothing_about_them() -> None:
    samples = [
        Sample(at_s=10.0 * n, running=2, waiting=0, generation_rate=60.0, prompt_rate=10.0, cache_share=0.1, prefix_hit_share=0.0)
        for n in range(9)
    ]
    said = {each.hypothesis for each in diagnose(Records(list(samples), engine="vllm")).ruled_out}
    assert "The KV cache is too small" in said
    assert "Conversations read again" not in said


def test_short_prompts_say_nothing_of_long_contexts() -> None:
    hypotheses = {each.hypothesis for each in diagnose(Records(in_order(*quiet(30)))).ruled_out}
    short = diagnose(Records(in_order(*(task(n, n * 10.0, prompt=100 + n) for n in range(30)))))
    assert "Long contexts slow the answers down" in hypotheses
    assert "Long contexts slow the answers down" not in {each.hypothesis for each in short.ruled_out}


def test_a_finding_without_a_replay_says_so() -> None:
    refused = cut_off(99, 90.0, 90.1, ending="refused", asked_tokens=9_000)
    diagnosis = diagnose(Records([*quiet(), refused, Notice(code="too_long", line=99, at_s=90.0, task=99, value=9_000)]))
    assert found(diagnosis, "context_overflow").effect is None
    assert "Expected: not tried on this log" in diagnosis_text(diagnosis)
    assert "expected_effect" in next(each["message"] for each in diagnosis_json(diagnosis)["warnings"] if each["code"] == "not_known")


def test_a_change_that_a_replay_cannot_tell_from_none_is_not_given_a_figure() -> None:
    changes = {each.change: each.text for each in diagnose(Records(quiet(), n_slots=4)).what_if}
    assert "no difference that a replay could tell" in changes["more_slots"]


def test_a_task_whose_beginning_is_cut_off_is_not_blamed_on_the_build() -> None:
    headless = replace(task(99, 200.0), launched_s=None)
    told = {each.code: each.message for each in diagnose(Records([*quiet(), headless])).warnings}
    assert told["no_times"].startswith("1 of 9 tasks")
    assert "--log-timestamps" not in told["no_times"]
    untimed = [replace(each, launched_s=None) for each in quiet()]
    assert "--log-prefix --log-timestamps" in {each.code: each.message for each in diagnose(Records(untimed)).warnings}["no_times"]
