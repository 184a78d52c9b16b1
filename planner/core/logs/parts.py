"""The order of a log's rotated parts, by the first time that each of them says."""

import re
from collections.abc import Sequence
from typing import Final

from planner.core.logs.envelope import wall_clock_s

# How much of a part is looked at, and how many of its lines.
HEAD: Final = 1 << 16
_LINES: Final = 200
_STAMP: Final = re.compile(rb"(\d{1,9})\.(\d\d\.\d{3})\.\d{3} [IWED] ")


def in_order(heads: Sequence[bytes]) -> list[int]:
    """Positions of the parts by their times; as given where not all of them say the time, or more than one begins at a start.

    A wall clock counts before the server's own, which begins again with each start.
    """
    for clock in (_wall_s, _own_s):
        times = [clock(head) for head in heads]
        known = [time for time in times if time is not None]
        if len(known) == len(heads) and (clock is _wall_s or sum(time < 1 for time in known) <= 1):
            return sorted(range(len(heads)), key=known.__getitem__)
    return list(range(len(heads)))


def _starts(head: bytes) -> list[int]:
    starts = [0]
    while len(starts) < _LINES and (newline := head.find(b"\n", starts[-1])) >= 0:
        starts.append(newline + 1)
    return starts


def _wall_s(head: bytes) -> float | None:
    return next((clock_s for start in _starts(head) if (clock_s := wall_clock_s(head, start)) is not None), None)


def _own_s(head: bytes) -> float | None:
    found = next((found for start in _starts(head) if (found := _STAMP.match(head, start))), None)
    return int(found[1]) * 60 + float(found[2]) if found else None
