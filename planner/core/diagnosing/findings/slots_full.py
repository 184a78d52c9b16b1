"""All slots are busy, and the next request waits outside: the log shows only that it starts the moment one comes free."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Effect, Finding
from planner.core.diagnosing.fixes import fix_files
from planner.core.diagnosing.replaying import with_slots
from planner.core.engines.contract import File

_LEAST: Final = 3
_LEAST_SHARE: Final = 0.02


def _look(case: Case) -> Finding | None:
    full = case.collected.observed.waits.by_cause["slots_full"]
    if full.count < _LEAST or full.count < _LEAST_SHARE * case.collected.totals.tasks or case.slots is None:
        return None
    joined = case.collected.joined
    queue = joined.queue_all.spread() if joined and joined.matched else None
    # Someone who waits came somewhere between the moment the last slot was taken and the one it was given.
    lost = full.seconds / 2
    known = (
        f" By the application's calls half of all requests waited {units.seconds(queue.p50)} or less for a slot, the worst {units.seconds(queue.max)}."
        if queue
        else " How long they had waited is not in the log."
    )
    more = max(case.slots + 1, case.slots * 2)
    return Finding(
        code="slots_full",
        severity=case.severity(lost, full.count),
        title="All slots are busy and requests queue for one",
        evidence=f"{full.count:,} of {case.collected.totals.tasks:,} tasks started within a tenth of a second after one of {case.slots} busy slots came "
        f"free, at the longest after {units.seconds(full.longest)} with all of them busy.{known}",
        cause=f"The server answers {case.slots} requests at a time; the next one waits unseen until a slot is free.",
        fix=f"More slots, as far as memory allows: {more} instead of {case.slots}, with the context raised in proportion. "
        "The planner says what fits. Shorter answers free slots sooner.",
        lost_s=lost,
        count=full.count,
        examples=full.examples(),
        files=_files(case, more),
        effect=_effect(case, more),
        inferred=True,
    )


def _files(case: Case, more: int) -> tuple[File, ...]:
    if case.engine == "ollama":
        return fix_files(case.facts, "OLLAMA_NUM_PARALLEL", more, f"{more} requests at a time instead of {case.slots}.")
    return fix_files(
        case.facts, "--parallel", more, f"{more} slots instead of {case.slots}; --ctx-size is divided by them, so raise it too."
    )


def _effect(case: Case, more: int) -> Effect | None:
    replayer = case.replayer
    if replayer is None or replayer.base is None:
        return None
    after = replayer.run(with_slots(more))
    wait, ttft = replayer.base.run.everyone.wait, replayer.base.run.everyone.ttft
    if after is None or wait is None or ttft is None or after.run.everyone.ttft is None:
        return None
    new = after.run.everyone.ttft
    return Effect(
        measure="95th percentile of the time to first token, s",
        before=ttft.p95,
        after=new.p95,
        low=new.p95 * (1 - replayer.error),
        high=new.p95 * (1 + replayer.error),
        seconds_a_day=replayer.saved_a_day(after),
        text=f"Replayed with {more} slots: the 95th percentile of the time to first token goes from {units.seconds(ttft.p95)} to "
        f"{units.seconds(new.p95)} ({units.seconds(new.p95 * (1 - replayer.error))} to {units.seconds(new.p95 * (1 + replayer.error))}). The log has the times of the slots, not of the requests: each is taken to have come halfway between the last free slot and its own.",
    )


FINDING = _look
