"""Waits between slot and first pass, and before a slot: how long, and for whom as far as it follows from who ran meanwhile."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.diagnosis import CAUSES, Cause
from planner.core.diagnosing.gathering import Values, Worst
from planner.core.diagnosing.life import Life

# A wait between slot and first pass that is shorter than this is the server's own business.
WAIT_LEAST_S: Final = 0.05


class Waits:
    """`seconds` of every answered task, and the waits `by_cause`."""

    def __init__(self) -> None:
        self.seconds = Values()
        self.by_cause: dict[Cause, Worst] = {cause: Worst() for cause in CAUSES}

    def waited(self, life: Life, *, behind_prefill_s: float, behind_streams_s: float, alone: bool, gap_s: float) -> None:
        """`gap_s` is the usual time from token to token."""
        seconds = life.began - life.launched
        if seconds < WAIT_LEAST_S:
            self.seconds.add(0.0)
            return
        self.seconds.add(seconds)
        cause: Cause = "nothing"
        # Prompts of the same adapter join every pass that has room: who waits while others only generate waits for their adapter.
        if behind_streams_s > max(WAIT_LEAST_S, 2 * gap_s) or (alone and behind_prefill_s + behind_streams_s > seconds / 2):
            cause = "other_adapter"
        elif behind_prefill_s > seconds / 2:
            cause = "same_adapter"
        self.by_cause[cause].add(
            at_s=life.launched,
            task=life.task.number,
            seconds=seconds,
            text=lambda: f"Task {life.task.number} had its slot and waited {units.seconds(seconds)} for its first pass.",
        )

    def queued(self, life: Life, *, full_s: float) -> None:
        # It came somewhere between the moment the last slot was taken and the one it was given.
        life.sent = life.launched - full_s / 2
        self.by_cause["slots_full"].add(
            at_s=life.launched,
            task=life.task.number,
            seconds=full_s,
            text=lambda: f"Task {life.task.number} got the slot that came free after all had been busy for {units.seconds(full_s)}.",
        )
