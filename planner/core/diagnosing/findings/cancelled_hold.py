"""A client went away, and the server went on reading its prompt: a pass is not broken off."""

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Example, Finding


def _look(case: Case) -> Finding | None:
    totals = case.collected.totals
    if not totals.held_count:
        return None
    longest = totals.held[0][0]
    batch = case.rates.batch_tokens
    return Finding(
        code="cancelled_hold",
        severity=case.severity(totals.held_s, totals.held_count),
        title="Cancelled requests hold the server until their pass ends",
        evidence=f"{units.counted(totals.held_count, 'cancelled request')} kept the server for {case.of_all(totals.held_s)} after the client had gone, "
        f"the longest for {units.seconds(longest)}.",
        cause="A cancel is looked at between passes; one that comes while a prompt is read takes effect when the pass is over.",
        fix=f"A smaller batch than {batch:,} makes passes shorter; clients should not give up sooner than a prompt takes."
        if batch
        else "Shorter passes.",
        lost_s=totals.held_s,
        count=totals.held_count,
        examples=tuple(
            Example(task.released_s, task.number, held, f"Task {task.number} went on for {units.seconds(held)} after it was cancelled.")
            for held, task in totals.held
        ),
    )


FINDING = _look
