"""Where an answer changes along a whole number: found by doubling and halving, and looked for in between."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# Values in between that are tried as well: an answer that changes and changes back is found where one of them lies in it.
PROBES: Final = 8


@dataclass(frozen=True, slots=True)
class Flip:
    """`last` has the answer of the start; `first`, the next value, has another: None where none has, up to the end.

    `monotone` is False where the answer was found to change back farther on.
    """

    last: int
    first: int | None
    monotone: bool = True


def flip(same: Callable[[int], bool], *, start: int, end: int, probes: int = PROBES) -> Flip:
    """The nearest change of the answer that is found on the way from `start`, where it is known, to `end`.

    Neighbours are certain: `last` was tried and has the answer, `first` was tried and has not.
    """
    way = 1 if end >= start else -1
    last, first = _doubled(same, start, end, way)
    if first is not None:
        last, first = _halved(same, last, first)
    monotone = True
    while (between := _between(same, start, last, probes)) is not None:
        monotone = False
        last, first = _halved(same, start, between)
    return Flip(last, first, monotone)


def _doubled(same: Callable[[int], bool], start: int, end: int, way: int) -> tuple[int, int | None]:
    """The farthest value tried that has the answer, and the next one tried, which has not."""
    last, step = start, 1
    while last != end:
        tried = start + way * min(step, abs(end - start))
        if not same(tried):
            return last, tried
        last, step = tried, step * 2
    return last, None


def _halved(same: Callable[[int], bool], last: int, first: int) -> tuple[int, int]:
    """Neighbours, the nearer of which has the answer."""
    while abs(first - last) > 1:
        middle = (last + first) // 2
        last, first = (middle, first) if same(middle) else (last, middle)
    return last, first


def _between(same: Callable[[int], bool], start: int, last: int, probes: int) -> int | None:
    """The value nearest to the start, of some evenly spread between it and `last`, that has another answer."""
    width = abs(last - start)
    way = 1 if last >= start else -1
    spread = sorted({width * n // (probes + 1) for n in range(1, probes + 1)} - {0, width})
    return next((start + way * distance for distance in spread if not same(start + way * distance)), None)
