"""The progress lines of one request, thinned so that a long answer takes no more memory than a short one."""

from itertools import pairwise
from statistics import median
from typing import Final

# Seconds, tokens, whether of the prompt: what becomes a Mark when the request ends.
Point = tuple[float, int, bool]

MOST: Final = 256
# An interval with less than this share of the usual speed is a stall: what surrounds it is kept.
_STALLED: Final = 0.5


def thinned(points: list[Point]) -> list[Point]:
    """About half of them: the first, the last, and those around a stall before others."""
    kept = _every_second(points, around_stalls(points))
    return kept if len(kept) <= MOST * 3 // 4 else _every_second(points, set())


def around_stalls(points: list[Point]) -> set[int]:
    """Positions of the points before and after each interval of generation that is much slower than the usual one."""
    speeds = [
        (number, (after[1] - before[1]) / (after[0] - before[0]))
        for number, (before, after) in enumerate(pairwise(points))
        if not after[2] and not before[2] and after[0] > before[0]
    ]
    usual = median(speed for _, speed in speeds) if speeds else 0.0
    return {place for number, speed in speeds if speed < _STALLED * usual for place in (number, number + 1)}


def _every_second(points: list[Point], keep: set[int]) -> list[Point]:
    last = len(points) - 1
    return [point for number, point in enumerate(points) if number % 2 == 0 or number == last or number in keep]
