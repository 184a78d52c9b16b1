"""The busiest stretch of a log, kept whole and bounded: what is drawn as bars over time and what is sent again under other settings."""

from dataclasses import dataclass
from typing import Final

from planner.core.diagnosing.diagnosis import Lane

# So many tasks one after another are a stretch.
STRETCH: Final = 1_500


@dataclass(frozen=True, slots=True)
class Sampled:
    """A task of the stretch. `sent_s` is when its request came, where that is known, else when it got its slot; `beside`: somebody's prompt was read while it generated;
    `reread`: its prompt was read anew though it may have been there before; `timed`: it has a summary."""

    lane: Lane
    sent_s: float
    cached_tokens: int
    beside: bool
    reread: bool
    timed: bool


class Stretch:
    """Of consecutive stretches the one with most seconds of tasks per second. `whole` says that it is all there is."""

    __slots__ = ("_best", "_best_load", "_now", "_now_s", "best_s", "stretches", "total_s")

    def __init__(self) -> None:
        self._best: list[Sampled] = []
        self._best_load = -1.0
        self._now: list[Sampled] = []
        self._now_s = 0.0
        self.best_s = 0.0
        self.total_s = 0.0
        self.stretches = 0

    def add(self, sampled: Sampled, seconds: float) -> None:
        self._now.append(sampled)
        self._now_s += seconds
        self.total_s += seconds
        if len(self._now) == STRETCH:
            self._close()

    def _close(self) -> None:
        begin = min(each.lane.launched_s for each in self._now)
        end = max(each.lane.ended_s for each in self._now)
        load = self._now_s / (end - begin) if end > begin else 0.0
        if load > self._best_load:
            self._best, self._best_load, self.best_s = self._now, load, self._now_s
        self._now, self._now_s = [], 0.0
        self.stretches += 1

    def finish(self) -> None:
        """Nothing more comes. A short rest counts only where there is nothing else."""
        if self._now and (not self._best or len(self._now) > STRETCH // 4):
            self._close()

    @property
    def whole(self) -> bool:
        return self.stretches <= 1

    def tasks(self) -> list[Sampled]:
        return sorted(self._best, key=lambda each: each.lane.launched_s)
