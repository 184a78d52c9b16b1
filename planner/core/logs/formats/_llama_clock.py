"""When a llama-server line was written: by the server's own clock, or by that of what wrote its output down."""

import re
from typing import Final

from planner.core.logs.axis import Axis
from planner.core.logs.envelope import wall_clock_s

# common/log.cpp, common_log_entry::print: minutes without bound, seconds, milliseconds, microseconds since the start.
_STAMP: Final = re.compile(rb"(\d{1,9})\.(\d\d\.\d{3})\.(\d{3}) ")
_LATER_STAMP: Final = re.compile(rb"(?<![\d.])\d{1,9}\.\d\d\.\d{3}\.\d{3} [IWED] ")
# --log-jsonl: microseconds since the start.
_JSONL: Final = re.compile(rb'\{"type":"log","time":(\d{1,15}),')


class Clock:
    """`at` gives a line's second on the axis; None where nothing says it.

    `skip` bytes of a line stand before its time. `own` is true once the server's own clock was read from a line's text.
    It begins again with each start; a wall clock does not, so a restart leaves it alone.
    """

    __slots__ = ("_axis", "_wall", "own", "skip")

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self.skip = -1  # before the line: the first one is searched for its time
        self._wall = False
        self.own = False

    def restart(self) -> None:
        if not self._wall:
            self._axis.restart()

    def at(self, block: bytes, start: int, before: int) -> float | None:
        """Of the line that begins at `start` and says something from `before` on."""
        found = _STAMP.match(block, start + self.skip)
        if found is None:
            return self._elsewhere(block, start, before)
        minutes, seconds, micros = found.groups()
        return self._axis.at(int(minutes) * 60 + int(seconds.replace(b".", b"") + micros) * 1e-6)

    def _elsewhere(self, block: bytes, start: int, before: int) -> float | None:
        if found := _JSONL.match(block, start):
            return self._axis.at(int(found[1]) * 1e-6)
        if found := _LATER_STAMP.search(block, start, before):
            self.skip = found.start() - start
            self.own = True
            return self.at(block, start, before)
        wall = wall_clock_s(block, start)
        if wall is None:
            return None
        self._wall = True
        return self._axis.at(wall)
