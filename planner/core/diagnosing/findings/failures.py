"""The server did not start, ran out of memory, or answered with errors."""

from planner.core import units
from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding


def _look(case: Case) -> Finding | None:
    memory, start = case.noticed("out_of_memory"), case.noticed("start_failed")
    if not memory.count and not start.count:
        return None
    what = "ran out of memory" if memory.count else "refused to start"
    return Finding(
        code="out_of_memory" if memory.count else "start_failed",
        severity="high",
        title=f"The server {what}",
        evidence=" ".join(
            f"{units.counted(count, 'line')} of the log {'reports' if count == 1 else 'report'} {what}."
            for count, what in ((memory.count, "missing memory"), (start.count, "a failed start"))
            if count
        ),
        cause="Weights, cache and buffers together are larger than the memory there is, or an option was not accepted."
        if memory.count
        else "An option, a file or the memory was not as the server needs it: the line says which.",
        fix="Plan the model on this machine: the planner says what fits and writes options that the version accepts.",
        count=memory.count + start.count,
        examples=(*examples_of(memory, "memory ran out"), *examples_of(start, "the server refused to start"))[:3],
    )


FINDING = _look
