"""The paged cache is full while requests wait: more run together than it holds."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Example, Finding
from planner.core.diagnosing.findings.preemptions import preempted

_LEAST: Final = 2


def _look(case: Case) -> Finding | None:
    samples = case.collected.samples
    if samples.full < _LEAST or preempted(case):
        return None
    length, tokens = case.whole("max_model_len"), case.whole("kv_cache_tokens")
    fits = f" It holds {tokens:,} tokens: {tokens / length:.1f} requests at the full {length:,}." if tokens and length else ""
    unknown = " Whether running requests were thrown out is only in /metrics: give --metrics." if case.metrics is None else ""
    return Finding(
        code="oversubscribed_cache",
        severity="medium",
        title="The KV cache is full and requests wait for it",
        evidence=f"In {samples.full:,} of {samples.count:,} samples the cache was at least 90 % full with requests waiting, "
        f"at most {units.percent(samples.cache_max)} and {samples.waiting_max} waiting.{fits}{unknown}",
        cause="Requests are admitted as long as their prompts fit; as their answers grow, there is no room for the next one.",
        fix="Give the cache more memory (an 8-bit cache type, a higher memory utilization), shorten the longest requests, or accept the queue.",
        count=samples.full,
        examples=tuple(
            Example(s.at_s, None, 0.0, f"{s.running or 0} running, {s.waiting or 0} waiting.") for s in samples.slowest if s.waiting
        ),
        inferred=True,
    )


FINDING = _look
