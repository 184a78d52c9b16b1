"""Something took too long and was given up."""

from planner.core import units
from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding


def _look(case: Case) -> Finding | None:
    noticed = case.noticed("timeout")
    if not noticed.count:
        return None
    return Finding(
        code="timeout",
        severity="medium",
        title="Requests or starts run into a time limit",
        evidence=f"{units.counted(noticed.count, 'line')} of the log say that something took too long and was given up.",
        cause="The server's, the proxy's or the client's limit is shorter than the longest turn; the work until then was for nothing.",
        fix="Set limits from the longest prompt and answer (the planner writes them), and stream answers so that a proxy sees bytes.",
        count=noticed.count,
        examples=examples_of(noticed, "a time limit was reached"),
    )


FINDING = _look
