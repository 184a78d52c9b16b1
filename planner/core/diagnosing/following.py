"""Recorded requests sent again: each so long after the one whose end it followed, as people who read an answer first do."""

import math
from collections.abc import Sequence as Many
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from planner.core.simulation.sequence import Sequence

# Who comes later than this after the last answer did not wait for it.
LINKED_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request with the moments at which it was sent to the log's server, and ended there."""

    turn: Sequence
    sent_s: float
    ended_s: float


class Following:
    """A `Source`. A request that was sent within `LINKED_S` of an earlier one's end is sent as long after that one's end here;
    any other at its own time. So a faster server is asked sooner, and who ran beside whom stays as it was.
    """

    def __init__(self, recorded: Many[Recorded]) -> None:
        self._after: dict[Sequence, list[tuple[float, int, Sequence]]] = {}
        self._coming: list[tuple[float, int, Sequence]] = []
        by_end = sorted(recorded, key=lambda each: each.ended_s)
        ended = 0
        for number, each in enumerate(sorted(recorded, key=lambda each: each.sent_s)):
            while ended < len(by_end) and by_end[ended].ended_s <= each.sent_s:
                ended += 1
            before = by_end[ended - 1] if ended else None
            if before is not None and before is not each and each.sent_s - before.ended_s <= LINKED_S:
                self._after.setdefault(before.turn, []).append((each.sent_s - before.ended_s, number, each.turn))
            else:
                self._coming.append((each.turn.arrival_s, number, each.turn))
        heapify(self._coming)
        self._look()

    def take(self) -> Sequence:
        at_s, _, turn = heappop(self._coming)
        turn.arrival_s = at_s
        self._look()
        return turn

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:  # noqa: ARG002 - as a Source has it
        """Whoever followed it comes now, after their pause."""
        for pause, number, turn in self._after.pop(sequence, ()):
            heappush(self._coming, (now_s + pause, number, turn))
        self._look()

    def _look(self) -> None:
        self.next_s = self._coming[0][0] if self._coming else math.inf
