"""A task has its slot and waits for its first pass behind other prompts: the engine's own prompt timing does not count it."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Finding

_LEAST: Final = 0.01


def _look(case: Case) -> Finding | None:
    seen = case.collected.observed
    behind, other = seen.waits.by_cause["same_adapter"], seen.waits.by_cause["nothing"]
    count, seconds = behind.count + other.count, behind.seconds + other.seconds
    if not count or seconds < _LEAST * case.total_s:
        return None
    worst = sorted((*behind.examples(), *other.examples()), key=lambda each: -each.seconds)[:3]
    return Finding(
        code="hidden_wait",
        severity=case.severity(seconds, count),
        title="Tasks wait for their first pass, and the engine's timings do not say so",
        evidence=f"{units.counted(count, 'task')} waited {case.of_all(seconds)} between the slot and the first pass, {behind.count:,} of them while "
        f"somebody else's prompt filled the passes; the longest {units.seconds(max(behind.longest, other.longest))}. "
        "“prompt eval time” begins only with the first pass.",
        cause="Prompts are read in the order of their slots, and a pass has room for one batch: whoever comes behind a long prompt waits for it.",
        fix="Shorten the long prompts or send them at quiet hours; a second server for them keeps the short ones fast. A smaller batch does not help here.",
        lost_s=seconds,
        count=count,
        examples=tuple(worst),
    )


FINDING = _look
