"""What was not the reason, each with its number: that is what stops people from buying hardware they do not need."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Finding, RuledOut

# Below these a suspect is none.
_TOGETHER: Final = 0.05
_BUSY: Final = 0.5
_SHARE: Final = 0.02
# With the longest prompt an answer still has this share of its speed.
_STILL_FAST: Final = 0.7
# Fewer answers that show no growth do not show that there is none.
_ENOUGH: Final = 20
# Prompts that are all shorter than this say nothing of long contexts.
_LONG: Final = 1_000


def ruled_out(case: Case, found: tuple[Finding, ...]) -> tuple[RuledOut, ...]:
    """Hypotheses that the log speaks against and that no finding holds."""
    codes = {finding.code for finding in found}
    return tuple(out for code, out in _checked(case) if code not in codes)


def _checked(case: Case) -> Iterator[tuple[str, RuledOut]]:
    yield from _capacity(case)
    yield from _speed(case)
    yield from _waits(case)
    yield from _cache(case)
    yield from _machine(case)
    yield from _errors(case)


def _capacity(case: Case) -> Iterator[tuple[str, RuledOut]]:
    sweep, span = case.collected.sweep, case.span_s
    if span and case.collected.totals.tasks > case.collected.totals.untimed and sweep.busy_s:
        busy, together = min(1.0, sweep.busy_s / span), min(1.0, sweep.two_or_more_s / span)
        if busy < _BUSY:
            yield "capacity", RuledOut("The server is overloaded", f"It was idle {units.percent(1 - busy)} of the time.")
        if together < _TOGETHER:
            yield "gpu_capacity", RuledOut("GPU capacity", f"Two or more tasks ran together {units.percent(together)} of the time.")
    slots, most = case.slots, sweep.in_flight_max
    if slots and 0 < most < slots:
        yield "slots_full", RuledOut("Too few slots", f"No more than {most} of {slots} slots were busy at once.")
    elif slots and case.collected.observed.waits.by_cause["slots_full"].count == 0 and most:
        yield "slots_full", RuledOut("Too few slots", "No task started at the moment another one's slot came free while all were busy.")


def _speed(case: Case) -> Iterator[tuple[str, RuledOut]]:
    cost, own = case.rates.cost, case.collected.observed.own
    if cost is None or not own.steps:
        return
    longest = case.collected.totals.prompt_max
    first, last = 1 / cost.step_seconds(1), 1 / (cost.step_seconds(1) + longest * cost.cached_token_s)
    told = longest >= _LONG and (cost.cached_token_s > 0 or own.tasks >= _ENOUGH)
    if told and last >= _STILL_FAST * first:
        yield (
            "long_contexts",
            RuledOut(
                "Long contexts slow the answers down",
                f"Alone, an answer comes at {first:.1f} tokens/s at the beginning of a conversation and at {last:.1f} after {longest:,} tokens.",
            ),
        )


def _waits(case: Case) -> Iterator[tuple[str, RuledOut]]:
    seen = case.collected.observed
    if seen.waits.seconds.count:
        if not seen.waits.by_cause["other_adapter"].count:
            yield (
                "adapter_switching",
                RuledOut(
                    "Waiting for another adapter",
                    f"None of {units.counted(seen.waits.seconds.count, 'task')} waited for others' answers to end.",
                ),
            )
        if seen.waits.by_cause["same_adapter"].seconds < _SHARE * case.total_s:
            waited = seen.waits.by_cause["same_adapter"].seconds
            yield (
                "hidden_wait",
                RuledOut(
                    "Waiting behind other prompts",
                    f"All tasks together waited {units.seconds(waited)} for them between slot and first pass.",
                ),
            )
        if seen.beside.stalls.seconds < _SHARE * case.total_s:
            yield (
                "long_prefill",
                RuledOut(
                    "Long prompts freezing other answers", f"Answers stood still for {units.seconds(seen.beside.stalls.seconds)} in all."
                ),
            )
    samples = case.collected.samples
    if samples.count > 1 and not samples.stalled():
        yield (
            "long_prefill",
            RuledOut(
                "Long prompts freezing other answers",
                f"In none of {samples.count:,} samples did the running answers get less than a fifth of their usual speed.",
            ),
        )


def _cache(case: Case) -> Iterator[tuple[str, RuledOut]]:
    cache = case.prompt_cache
    # Periodic lines do not say whose prompts were read.
    if case.collected.totals.prompts and cache.hit_rate is not None and cache.reread_s < _SHARE * max(case.total_s, 1e-9):
        yield (
            "prompt_cache",
            RuledOut(
                "Conversations read again",
                f"{units.percent(cache.hit_rate)} of the prompt tokens were in the cache, and {cache.misses:,} conversations were read anew.",
            ),
        )
    samples = case.collected.samples
    if samples.count and samples.cache_max < 0.9:
        yield "oversubscribed_cache", RuledOut("The KV cache is too small", f"It was {units.percent(samples.cache_max)} full at most.")
    if case.metrics and case.metrics.preemptions == 0:
        yield "preemptions", RuledOut("Preemptions", "The metrics count none.")


def _machine(case: Case) -> Iterator[tuple[str, RuledOut]]:
    if case.vmstat is not None and not case.vmstat.swapping:
        yield "swapping", RuledOut("Swapping", f"None of {units.counted(case.vmstat.lines, 'line')} of vmstat shows any.")


def _errors(case: Case) -> Iterator[tuple[str, RuledOut]]:
    totals = case.collected.totals
    if totals.tasks and not totals.refused and not case.noticed("too_long").count:
        yield (
            "context_overflow",
            RuledOut(
                "Prompts longer than the context", f"None of {totals.tasks:,} was refused; the longest had {totals.prompt_max:,} tokens."
            ),
        )
    if totals.tasks and not case.noticed("queue_full", "http_error").count:
        yield "rejections", RuledOut("Requests turned away", "No line says so.")
