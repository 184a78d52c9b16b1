"""One axis of seconds for a whole log: clocks restart and jump, the axis does not."""

from math import isnan, nan
from typing import Final

# Lines of different threads are written out of order by less than this; it is no jump.
_JITTER_S: Final = 1.0


class Axis:
    """Turns a log's own clock into seconds since its first line, never falling.

    After `restart` the clock may begin anywhere: the axis goes on where it was. A jump back without one is counted in `backwards`,
    and the axis goes on likewise; a smaller step back (threads writing out of order) is held at the latest moment.
    """

    __slots__ = ("backwards", "first_clock_s", "now_s", "offset_s")

    def __init__(self) -> None:
        self.now_s = 0.0
        self.backwards = 0
        self.first_clock_s: float | None = None
        self.offset_s = nan

    def restart(self) -> None:
        self.offset_s = nan

    def at(self, clock_s: float) -> float:
        moment = clock_s + self.offset_s
        if moment >= self.now_s:
            self.now_s = moment
        elif moment < self.now_s - _JITTER_S:
            self.backwards += 1
            self.offset_s = self.now_s - clock_s
        elif isnan(moment):  # the clock has only begun
            self.offset_s = self.now_s - clock_s
            if self.first_clock_s is None:
                self.first_clock_s = clock_s
        return self.now_s
