"""What a diagnosis is made of: fits that find the law behind points, bounded sums, a source that follows, the batch from its effect."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.diagnosing.batch import Beside, Mixed, batch_of
from planner.core.diagnosing.fixes import fix_files
from planner.core.diagnosing.following import Following, Recorded
from planner.core.diagnosing.gathering import Load, Thinned, Values, Worst
from planner.core.diagnosing.life import Life
from planner.core.diagnosing.speeds import ReadPoint, StepFit, StepPoint, fit_reading, fit_steps
from planner.core.logs.record import Facts, Mark, Task
from planner.core.simulation.sequence import Sequence


@given(st.floats(1e-5, 1e-2), st.floats(0, 1e-6))
def test_the_law_of_reading_is_found_behind_clean_points(token_s: float, attention_s: float) -> None:
    points = [
        ReadPoint(n, before, n * (token_s + attention_s * before), 1) for n in (300, 800, 2_000) for before in (150.0, 4_000.0, 20_000.0)
    ]
    fit = fit_reading(points, 0.0)
    assert fit is not None
    assert fit.token_s == pytest.approx(token_s, rel=0.01)
    assert fit.attention_s == pytest.approx(attention_s, rel=0.02, abs=token_s * 1e-7)


def test_points_that_something_else_slowed_down_do_not_move_the_fit() -> None:
    clean = [ReadPoint(1_000, 500.0, 1.0, 1) for _ in range(20)]
    slowed = [ReadPoint(1_000, 500.0, 9.0, 1) for _ in range(5)]
    fit = fit_reading([*clean, *slowed], 0.0)
    assert fit is not None
    assert fit.token_s + 500 * fit.attention_s == pytest.approx(0.001, rel=0.01)


def test_passes_that_only_read_the_weights_say_nothing_of_the_prompt() -> None:
    # Ten tokens take as long as a decode step of 20 ms; a thousand take a second.
    points = [ReadPoint(10, 5.0, 0.02, 1) for _ in range(50)] + [ReadPoint(1_000, 500.0, 1.0, 1)]
    fit = fit_reading(points, 0.02)
    assert fit is not None
    assert fit.token_s == pytest.approx(0.001, rel=0.01)


@given(st.floats(1e-3, 0.1), st.floats(0, 0.5), st.floats(0, 0.5))
def test_the_law_of_a_decode_step_is_found_behind_clean_points(step_s: float, further: float, cached: float) -> None:
    sequence_s, token_s = step_s * further, step_s * cached / 10_000
    points = [
        StepPoint(100, 100 * (step_s + sequence_s * (streams - 1) + token_s * context), streams, context)
        for streams in (1.0, 2.0, 4.0)
        for context in (200.0, 3_000.0, 9_000.0)
    ]
    fit = fit_steps(points)
    assert fit is not None
    assert (fit.step_s, fit.streams) == (pytest.approx(step_s, rel=0.02), 1)
    assert fit.sequence_s == pytest.approx(sequence_s, rel=0.05, abs=step_s * 0.01)
    assert fit.cached_token_s * 9_000 == pytest.approx(token_s * 9_000, rel=0.05, abs=step_s * 0.01)
    assert fit.spread == pytest.approx(0, abs=0.01)


def test_nothing_is_fitted_to_nothing() -> None:
    assert fit_reading([], 0.0) is None
    assert fit_steps([]) is None


def test_a_single_point_is_its_own_law() -> None:
    fit = fit_steps([StepPoint(50, 1.0, 3.0, 900.0)])
    assert fit is not None
    assert (fit.step_s, fit.sequence_s, fit.streams) == (pytest.approx(0.02), 0, 3)


def answers(batch: int, *, noise: float = 0.0) -> list[Mixed]:
    """Answers beside prompts of several lengths under `batch`, at 20 ms a token otherwise."""
    found = []
    for index, prompt in enumerate((600, 1_500, 3_000, 5_000, 9_000)):
        beside = Beside(prompt, 1.0, 1, long=False)
        clean = 4.0 * (1 + noise * (-1) ** index)
        found.append(Mixed(steps=200 + beside.passes(batch), clean_s=clean, streams=1.0, context=0.0, short=0, beside=(beside,)))
    return found


@pytest.mark.parametrize("batch", [64, 128, 256, 512, 1_024])
def test_the_batch_follows_from_what_answers_got_beside_prompts(batch: int) -> None:
    assert batch_of(answers(batch), StepFit(0.02, 0.0, 0.0, 1), 2_048) == batch


def test_the_default_batch_is_not_put_in_question() -> None:
    assert batch_of(answers(2_048), StepFit(0.02, 0.0, 0.0, 1), 2_048) is None


def test_speeds_that_vary_more_than_a_batch_would_tell_nothing_of_it() -> None:
    assert batch_of(answers(512, noise=0.2), StepFit(0.02, 0.0, 0.0, 1, spread=0.2), 2_048) is None


@given(st.lists(st.floats(1e-4, 1e6), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_a_quantile_is_within_a_bin_of_the_exact_one(given_values: list[float], share: float) -> None:
    values = Values()
    for value in given_values:
        values.add(value)
    exact = sorted(given_values)[max(0, math.ceil(share * len(given_values) - 1e-9) - 1)]
    assert values.quantile(share) == pytest.approx(exact, rel=0.0102)
    assert values.longest == max(given_values)
    assert sum(bar.count for bar in values.bars()) == len(given_values)


def test_values_too_small_for_a_bin_count_as_zero() -> None:
    values = Values()
    values.add(0.0, 3)
    values.add(2.0)
    assert (values.count, values.quantile(0.5), values.quantile(1.0)) == (4, 0.0, pytest.approx(2.0))
    assert values.bars()[0].count == 3


def test_the_worst_cases_are_kept_and_all_are_counted() -> None:
    worst = Worst()
    for number in range(1_000):
        worst.add(at_s=None, task=number, seconds=float(number), text=lambda number=number: f"case {number}")
    assert [(example.task, example.text) for example in worst.examples()] == [(999, "case 999"), (998, "case 998"), (997, "case 997")]
    assert (worst.count, worst.seconds, worst.longest) == (1_000, 499_500.0, 999.0)


@given(st.lists(st.tuples(st.floats(0.0, 500.0), st.integers(0, 9)), min_size=1, max_size=40))
def test_a_load_keeps_its_area_whatever_the_width_of_its_bins(steps: list[tuple[float, int]]) -> None:
    load, now, area = Load(), 0.0, 0.0
    for seconds, in_flight in steps:
        load.add(now, now + seconds, in_flight)
        now += seconds
        area += seconds * in_flight
    moments = load.moments()
    assert sum(moment.mean for moment in moments) * load.width == pytest.approx(area, rel=1e-6, abs=1e-6)
    assert len(moments) <= Load.LIMIT
    assert max((moment.most for moment in moments), default=0) <= max(in_flight for _, in_flight in steps)


def test_a_thinned_sample_is_spread_over_everything() -> None:
    sample: Thinned[int] = Thinned(100)
    for number in range(10_000):
        sample.offer(lambda number=number: number)
    assert 50 <= len(sample.items) <= 100
    assert sample.items == list(range(0, 10_000, sample.every))


def turn(arrival_s: float) -> Sequence:
    return Sequence(arrival_s=arrival_s, prompt=10, output=5)


def test_a_request_is_sent_again_as_long_after_the_one_it_followed() -> None:
    first, second, later = turn(0.0), turn(12.0), turn(500.0)
    source = Following([Recorded(first, 0.0, 10.0), Recorded(second, 12.0, 20.0), Recorded(later, 500.0, 510.0)])
    assert source.next_s == 0.0
    assert source.take() is first
    # Nobody waited eight minutes for the second answer: that request comes at its own time.
    assert source.next_s == 500.0
    source.done(first, 3.0, refused=False)
    assert source.next_s == 5.0
    assert source.take() is second


def test_requests_that_ran_together_are_all_sent() -> None:
    recorded = [Recorded(turn(float(n)), float(n), n + 30.0) for n in range(10)]
    source, taken = Following(recorded), 0
    while source.next_s < math.inf:
        sequence = source.take()
        source.done(sequence, sequence.arrival_s + 1.0, refused=False)
        taken += 1
    assert taken == 10


def life(*marks: Mark, computed: int = 8_000, started: float = 0.0, read_s: float = 8.0) -> Life:
    task = Task(
        number=1, run=1, slot=0, line=1, ending="finished", launched_s=started, released_s=started + read_s + 1, summary_s=started + read_s + 1,
        prompt_tokens=computed, computed_tokens=computed, output_tokens=10, prefill_s=read_s, generate_s=1.0, marks=marks,
    )  # fmt: skip
    return Life(task, started, started + read_s + 1, long_prefill=5_000)


def test_passes_end_at_progress_lines_and_evenly_between() -> None:
    marks = [Mark(4.0, 4_096, prefill=True), Mark(6.0, 6_144, prefill=True)]
    ends = life(*marks).pass_ends(2_048)
    assert ends == pytest.approx([2.0, 4.0, 6.0, 8.0], abs=0.02)
    assert life().pass_ends(2_048) == pytest.approx([2.0, 4.0, 6.0, 8.0], abs=0.02)
    assert len(life(computed=100).pass_ends(2_048)) == 1


def test_a_fix_is_one_setting_in_the_engines_own_file() -> None:
    (drop_in,) = fix_files(Facts(engine="llama-server", values={"version": "b11434"}), "--batch-size", 512, "Shorter passes.")
    assert drop_in.path == "/etc/systemd/system/llama-server.service.d/90-diagnosis-batch-size.conf"
    assert "Environment=LLAMA_ARG_BATCH=512" in drop_in.content
    assert "# Shorter passes." in drop_in.content
    (yaml,) = fix_files(Facts(engine="vllm"), "--max-num-seqs", 4, "Fits.")
    assert "max-num-seqs: 4" in yaml.content
    assert fix_files(Facts(engine="ollama"), "OLLAMA_NUM_PARALLEL", 4, "More at a time.")[0].path.startswith(
        "/etc/systemd/system/ollama.service.d/"
    )
    assert fix_files(Facts(engine="ollama"), "--batch-size", 512, "No such variable.") == ()
    assert fix_files(Facts(engine="else"), "--batch-size", 512, "No such engine.") == ()
