"""What `vmstat 1` said beside a log: whether the machine swapped, waited for its disk or had more to run than processors."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappush, heappushpop
from typing import Final

from planner.core.errors import InputError
from planner.core.logs.record import Notice

MAX_LINES: Final = 1_000_000
_LONGEST_LINE: Final = 1_000
_COLUMNS: Final = ("r", "b", "swpd", "si", "so", "wa")
_NUMBER: Final = re.compile(r"\d{1,15}")
_STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\s{0,8}$")
# A line's date and time, of which the headings have the zone only.
_STAMP_WORDS: Final = 1
_WORST: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Vmstat:
    """Lines read, all but the first, which is an average since the machine started.

    Swapping in KiB per second as vmstat prints it without -S; `swapping` lines had any, the `worst` of them first.
    Processes: those that ran or could have (`running`), and those that waited for the disk (`blocked`). `disk_wait` is the share
    of processor time spent waiting for it, 0 to 1. `other_lines` were none of vmstat's.
    """

    lines: int
    swapping: int
    worst: tuple[Notice, ...]
    swap_in_max: int
    swap_out_max: int
    swapped_kib_max: int
    running_mean: float
    running_max: int
    blocked_max: int
    disk_wait_mean: float
    disk_wait_max: float
    other_lines: int


@dataclass(slots=True)
class _Sums:
    lines: int = 0
    swapping: int = 0
    worst: list[tuple[int, int, float | None]] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COLUMNS, 0))
    most: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COLUMNS, 0))

    def add(self, figures: dict[str, int], number: int, at_s: float | None) -> None:
        self.lines += 1
        for name in _COLUMNS:
            self.totals[name] += figures[name]
            self.most[name] = max(self.most[name], figures[name])
        rate = figures["si"] + figures["so"]
        if rate:
            self.swapping += 1
            entry = (rate, -number, at_s)
            if len(self.worst) < _WORST:
                heappush(self.worst, entry)
            else:
                heappushpop(self.worst, entry)


def read_vmstat(lines: Iterable[str]) -> Vmstat:
    """Columns are found by the headings, which may come again; with -t the times count from the first line.

    Raises InputError where no line is vmstat's, or there are far too many.
    """
    sums, places, widest, other = _Sums(), None, 0, 0
    first: datetime | None = None
    skipped_first: tuple[dict[str, int], int] | None = None
    for number, line in enumerate(lines, 1):
        if number > MAX_LINES:
            raise InputError(f"More than {MAX_LINES:,} lines are more than a vmstat beside a log has: give a part of it.", field="vmstat")
        words = line[:_LONGEST_LINE].split()
        if headings := _places(words):
            places, widest = headings, len(words) + _STAMP_WORDS
            continue
        figures = _figures(words, places) if places and len(words) <= widest else None
        if figures is None:
            other += bool(words) and "--" not in line[:_LONGEST_LINE]
            continue
        moment = _moment(line[:_LONGEST_LINE])
        first = first or moment
        if skipped_first is None:
            skipped_first = figures, number
            continue
        sums.add(figures, number, (moment - first).total_seconds() if moment and first else None)
    if skipped_first is None:
        raise InputError("No line is one that vmstat prints: give the output of `vmstat 1`, its headings included.", field="vmstat")
    return _told(sums, other)


def _places(words: list[str]) -> dict[str, int] | None:
    """Where each column stands, if these are the headings. What stands before the first does so in every line."""
    return {name: words.index(name) for name in _COLUMNS} if set(_COLUMNS) <= set(words) else None


def _figures(words: list[str], places: dict[str, int]) -> dict[str, int] | None:
    found: dict[str, int] = {}
    for name, place in places.items():
        if place >= len(words) or not _NUMBER.fullmatch(words[place]):
            return None
        found[name] = int(words[place])
    return found if found["wa"] <= 100 else None


def _moment(line: str) -> datetime | None:
    found = _STAMP.search(line)
    try:
        return datetime.fromisoformat(f"{found[1]}T{found[2]}") if found else None
    except ValueError:
        return None


def _told(sums: _Sums, other: int) -> Vmstat:
    lines = max(1, sums.lines)
    worst = sorted(sums.worst, key=lambda entry: (-entry[0], -entry[1]))
    return Vmstat(
        lines=sums.lines,
        swapping=sums.swapping,
        worst=tuple(Notice(code="swapping", line=-number, at_s=at_s, value=float(rate)) for rate, number, at_s in worst),
        swap_in_max=sums.most["si"],
        swap_out_max=sums.most["so"],
        swapped_kib_max=sums.most["swpd"],
        running_mean=sums.totals["r"] / lines,
        running_max=sums.most["r"],
        blocked_max=sums.most["b"],
        disk_wait_mean=sums.totals["wa"] / lines / 100,
        disk_wait_max=sums.most["wa"] / 100,
        other_lines=other,
    )
