"""Advice: a draft tried on its own load, and the settings that people would feel chosen by what the simulator says of them."""

from dataclasses import replace
from typing import Final

from planner.core.advice.latency import beyond_limits, felt
from planner.core.advice.passes import passes
from planner.core.advice.queue import with_honest_queue
from planner.core.advice.rehearsal import Budget, NotRehearsedError, Rehearsal, rehearsal, rehearsal_like
from planner.core.advice.slots import with_preemptions
from planner.core.draft import Draft, Passes, Source, batch_choices, draft

__all__ = ["REHEARSED", "advised"]

# Remarks on a plan's own short run. A longer or another run says the same of itself, with its own figures.
REHEARSED: Final = frozenset({"pause_beyond_limit", "wait_beyond_patience", "slots_preempt"})


def advised(drafted: Draft, source: Source) -> Draft:
    """The draft with its passes, its queue and what people will feel from a simulation of its own load; else as it was, with why.

    What a command line states is what runs: it is tried as it is.
    """
    try:
        tried = rehearsal(drafted, source, Budget())
        chosen, tried = _with_passes(drafted, tried, source)
        fit, remarks = with_preemptions(chosen.fit, tried)
        fit = with_honest_queue(fit, tried)
        speed = felt(chosen.speed, tried, max_queue=fit.max_queue)
        beyond = beyond_limits(tried, max_queue=fit.max_queue)
    except NotRehearsedError as reason:
        return replace(drafted, batch_why=f"{drafted.batch_why} Not simulated: {reason}")
    return replace(chosen, fit=fit, speed=speed, remarks=(*chosen.remarks, *remarks, *beyond, *tried.assumed))


def _with_passes(drafted: Draft, tried: Rehearsal, source: Source) -> tuple[Draft, Rehearsal]:
    """The draft with the passes that its load bears, and what to try it with.

    Larger passes may take memory of the cache: where a conversation less would fit, the draft's own are kept.
    """
    slots = tried.server.slots
    choices = tuple(tokens for tokens in batch_choices(drafted.engine, drafted.job) if tokens >= slots) or (slots,)
    tokens, why = passes(tried, choices)
    if tokens == drafted.job.batch_tokens:
        return replace(drafted, batch_why=why), tried
    chosen = draft(drafted.request, source, drafted.engine, Passes(tokens, why))
    if chosen.capacity.slots < drafted.capacity.slots:
        own = max(slots, drafted.job.batch_tokens or tokens)
        why = f"{passes(tried, (own,))[1]} Passes of {tokens:,} would take memory that a conversation needs."
        return replace(drafted, batch_why=why), tried
    return chosen, rehearsal_like(tried, chosen, source)
