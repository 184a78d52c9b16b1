"""A running request loses its cache to another and is computed again: long gaps inside answers, and nothing in the text log."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding
from planner.core.diagnosing.fixes import fix_files

_LONG_GAP_S: Final = 1.0


def preempted(case: Case) -> int | None:
    """How often, from the metrics, the samples or the lines; None where nothing says so."""
    if case.metrics and (count := case.metrics.preemptions) is not None:
        return count
    noticed = case.noticed("preempted").count
    samples = case.collected.samples.preemptions
    return noticed or samples if noticed or samples is not None else None


def _look(case: Case) -> Finding | None:
    count = preempted(case)
    if not count:
        return None
    samples, metrics = case.collected.samples, case.metrics
    gaps = metrics.itl.above(_LONG_GAP_S) if metrics and metrics.itl else 0
    requests = metrics.finished if metrics else None
    tokens = case.whole("kv_cache_tokens")
    running = samples.running_max
    fewer = max(1, running - 1 - running // 4)
    return Finding(
        code="preemptions",
        severity="high" if not requests or count * 10 >= requests else "medium",
        title="Running requests lose their cache and are computed again",
        evidence=f"{units.counted(count, 'preemption')}{f' of {requests:,} requests' if requests else ''}; the cache was up to "
        f"{units.percent(samples.cache_max)} full with {samples.waiting_max} waiting; {units.counted(gaps, 'gap')} of {_LONG_GAP_S:g} s and more inside answers.",
        cause=f"{f'The cache holds {tokens:,} tokens, and the' if tokens else 'The'} requests that run together grow beyond it: the last one admitted "
        "gives its blocks back, waits, and is read again from the beginning.",
        fix=f"Let fewer requests run at a time ({fewer} instead of {running}), so that all of them fit at their full length, or give the cache more memory.",
        count=count,
        lost_s=float(gaps),
        examples=examples_of(case.noticed("preempted"), "a request was preempted"),
        files=fix_files(case.facts, "--max-num-seqs", fewer, f"As many as fit in the cache at their full length; {running} ran together."),
    )


FINDING = _look
