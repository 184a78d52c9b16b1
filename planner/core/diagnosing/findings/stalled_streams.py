"""Periodic lines in which everybody's answer all but stops: a long prompt is read in between."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Example, Finding
from planner.core.diagnosing.findings.preemptions import preempted
from planner.core.diagnosing.fixes import fix_files

_LONG_GAP_S: Final = 1.0
_DEFAULT_BATCH: Final = 2_048
_SMALLEST: Final = 256


def _look(case: Case) -> Finding | None:
    samples, metrics = case.collected.samples, case.metrics
    stalled = samples.stalled()
    if not stalled or preempted(case):
        return None
    usual = samples.usual_rate
    gaps = metrics.itl.above(_LONG_GAP_S) if metrics and metrics.itl else None
    told = f"; {units.counted(gaps, 'gap')} between tokens of {_LONG_GAP_S:g} s and more by its metrics" if gaps else ""
    batch = case.whole("max_num_batched_tokens") or _DEFAULT_BATCH
    smaller = max(_SMALLEST, batch // 4)
    return Finding(
        code="long_prefill",
        severity="high" if stalled * 10 >= samples.busy else "medium",
        title="Long prompts freeze the other answers",
        evidence=f"In {stalled:,} of {samples.count:,} samples every running answer got less than a fifth of the {usual:.1f} tokens/s it gets otherwise; "
        f"up to {samples.prompt_tokens_most:,.0f} prompt tokens were read between two samples{told}.",
        cause=f"A step computes up to {batch:,} tokens (max_num_batched_tokens): beside a chunk of a long prompt every answer gets one token per step.",
        fix=f"Smaller steps: {smaller:,} tokens give answers a token {batch / smaller:.0f} times as often, and the long prompt takes somewhat longer."
        if smaller < batch
        else "Steps are small already: read long prompts at quiet hours, or on a server of their own.",
        lost_s=float(gaps or stalled),
        count=stalled,
        examples=tuple(
            Example(s.at_s, None, 0.0, f"{s.running or 0} running got {s.generation_rate or 0.0:.1f} tokens/s together.")
            for s in samples.slowest
        ),
        files=fix_files(case.facts, "--max-num-batched-tokens", smaller, "Answers get a token after each step.") if smaller < batch else (),
        inferred=True,
    )


FINDING = _look
