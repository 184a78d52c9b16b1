"""Periodic lines in which everybody's answer all but stops: a long prompt is read in between."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Example, Finding
from planner.core.diagnosing.findings.preemptions import preempted
from planner.core.diagnosing.fixes import fix_files
from planner.core.diagnosing.gathering import Worst

_LONG_GAP_S: Final = 1.0
# Less than this share of the steps' time is no reason to change a server.
_LEAST: Final = 0.05
_DEFAULT_BATCH: Final = 2_048
_SMALLEST: Final = 256


def _look(case: Case) -> Finding | None:
    samples, metrics = case.collected.samples, case.metrics
    stalled, steps = samples.stalled(), samples.long_steps
    if steps.seconds < _LEAST * samples.steps_s:
        steps = Worst()
    if not (stalled or steps.count) or preempted(case):
        return None
    gaps = metrics.itl.above(_LONG_GAP_S) if metrics and metrics.itl else None
    told = f" {units.counted(gaps, 'gap')} between tokens of {_LONG_GAP_S:g} s and more by its metrics." if gaps else ""
    batch = case.whole("max_num_batched_tokens") or _DEFAULT_BATCH
    smaller = max(_SMALLEST, batch // 4)
    return Finding(
        code="long_prefill",
        severity="high" if stalled * 10 >= samples.busy or steps.seconds * 10 >= samples.steps_s > 0 else "medium",
        title="Long prompts freeze the other answers",
        evidence=" ".join(_evidence(case, stalled, steps)) + told,
        cause=f"A step computes up to {batch:,} tokens (max_num_batched_tokens): beside a chunk of a long prompt every answer gets one token per step.",
        fix=f"Smaller steps: {smaller:,} tokens give answers a token {batch / smaller:.0f} times as often, and the long prompt takes somewhat longer."
        if smaller < batch
        else "Steps are small already: read long prompts at quiet hours, or on a server of their own.",
        lost_s=steps.seconds or float(gaps or stalled),
        count=stalled or steps.count,
        examples=steps.examples() or _slowest(case),
        files=fix_files(case.facts, "--max-num-batched-tokens", smaller, "Answers get a token after each step.") if smaller < batch else (),
        inferred=True,
    )


def _evidence(case: Case, stalled: int, steps: Worst) -> Iterator[str]:
    samples = case.collected.samples
    if stalled:
        yield (
            f"In {stalled:,} of {samples.count:,} samples every running answer got less than a fifth of the {samples.usual_rate:.1f} tokens/s it gets "
            f"otherwise; up to {samples.prompt_tokens_most:,.0f} prompt tokens were read meanwhile."
        )
    if steps.count:
        yield (
            f"{units.counted(steps.count, 'step')} of {_LONG_GAP_S:g} s and more read prompts while others generated: {units.seconds(steps.seconds)} of "
            f"{units.seconds(samples.steps_s)} in all, the longest {units.seconds(steps.longest)}."
        )


def _slowest(case: Case) -> tuple[Example, ...]:
    return tuple(
        Example(s.at_s, None, 0.0, f"{s.running or 0} running got {s.generation_rate or 0.0:.1f} tokens/s together.")
        for s in case.collected.samples.slowest
    )


FINDING = _look
