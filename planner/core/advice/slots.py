"""Slots that the cache bears: how often a reply is pushed out of it under the plan's load, and the slots that would be without it."""

from dataclasses import replace

from planner.core import units
from planner.core.advice.passes import preface
from planner.core.advice.rehearsal import NotRehearsedError, Rehearsal
from planner.core.plan import Fit, Remark
from planner.core.simulation import Run


def with_preemptions(fit: Fit, tried: Rehearsal) -> tuple[Fit, tuple[Remark, ...]]:
    """The fit with the preemptions of its load, and a remark where the slots that were asked for push replies out of the cache."""
    if tried.server.cache_tokens is None:
        return fit, ()
    run = tried.run()
    lost = _pushed_out(run)
    turns = f"{units.counted(run.everyone.turns, 'turn')} of your load"
    if not lost:
        return replace(fit, preemptions=0, preemptions_why=f"{preface(tried)}: none of {turns} is pushed out of the cache."), ()
    without = _slots_without(fit, tried)
    how = "lost" if run.everyone.failed else "pushed out of the cache and computed again"
    said = f"{preface(tried)}: in {turns} a reply is {how} {lost:,} times; with {units.counted(without, 'slot')} none is."
    return replace(fit, preemptions=lost, preemptions_why=said), (Remark("slots_preempt", said, "slots"),)


def _pushed_out(run: Run) -> int:
    return run.preempted + run.everyone.failed


def _slots_without(fit: Fit, tried: Rehearsal) -> int:
    """The most slots that push nobody out, as far as they may be looked for.

    They lie between those that fit with full conversations, which cannot push each other out, and those of the server.
    """
    server = tried.server
    low, high = max(1, min(fit.slots_that_fit, server.slots - 1)), server.slots
    while high - low > 1:
        middle = (low + high) // 2
        try:
            lost = _pushed_out(tried.run(replace(server, slots=middle)))
        except NotRehearsedError:
            break
        low, high = (low, middle) if lost else (middle, high)
    return low
