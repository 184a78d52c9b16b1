"""Requests are turned away because the queue is full."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding
from planner.core.diagnosing.fixes import fix_files

# Ollama's OLLAMA_MAX_QUEUE unless told otherwise.
_DEFAULT_QUEUE: Final = 512


def _look(case: Case) -> Finding | None:
    refused = case.noticed("queue_full")
    counted = refused.count or _from_metrics(case)
    if not counted:
        return None
    return Finding(
        code="rejections",
        severity="high",
        title="Requests are turned away",
        evidence=f"{units.counted(counted, 'request')} met a full queue and got an error instead of an answer.",
        cause="As many requests as the queue may hold were waiting already: more is asked than the server can answer.",
        fix="More requests at a time if memory allows, else a longer queue for short bursts; where the queue is never empty, only more speed helps.",
        count=counted,
        examples=examples_of(refused, "a request was refused"),
        files=fix_files(
            case.facts, "OLLAMA_MAX_QUEUE", 2 * (case.whole("max_queue") or _DEFAULT_QUEUE), "A burst waits instead of being refused."
        )
        if case.engine == "ollama"
        else (),
    )


def _from_metrics(case: Case) -> int:
    return (case.metrics.rejections or 0) if case.metrics else 0


FINDING = _look
