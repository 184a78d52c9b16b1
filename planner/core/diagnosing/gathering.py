"""What is kept of millions of values in bounded memory: distributions, the worst cases, a load over time, a thinned sample."""

from collections.abc import Callable
from heapq import heappush, heappushpop, nlargest
from math import exp, floor, log, sqrt
from typing import Final, Generic, TypeVar

from planner.core.diagnosing.diagnosis import Bar, Example, Moment, Spread

T = TypeVar("T")

# Below this a value is none, because bins are logarithmic; beyond the other it is no figure of a server.
LEAST: Final = 1e-6
MOST: Final = 1e12
WORST: Final = 3
# Bins one per cent wide, their edges shifted by an irrational amount so that no round value falls on one.
_PER_E: Final = 100.0
_SHIFT: Final = sqrt(0.5)


class Values:
    """A distribution of values, in bins one per cent wide; `zeros` are too small for one. A quantile is the mean of its bin."""

    __slots__ = ("_bins", "longest", "zeros")

    def __init__(self) -> None:
        # By bin: how many, and their sum.
        self._bins: dict[int, list[float]] = {}
        self.zeros = 0
        self.longest = 0.0

    def add(self, value: float, times: int = 1) -> None:
        if value <= LEAST:
            self.zeros += times
            return
        if value > self.longest:
            value = self.longest = min(value, MOST)
        elif value > MOST:
            value = MOST
        key = floor(log(value) * _PER_E + _SHIFT)
        held = self._bins.get(key)
        if held is None:
            self._bins[key] = [times, value * times]
        else:
            held[0] += times
            held[1] += value * times

    @property
    def count(self) -> int:
        return self.zeros + int(sum(count for count, _ in self._bins.values()))

    def quantile(self, share: float) -> float:
        """The value that `share` of all do not exceed."""
        rank, seen = share * self.count, float(self.zeros)
        if seen >= rank:
            return 0.0
        for _, (count, total) in sorted(self._bins.items()):
            seen += count
            if seen >= rank:
                return min(self.longest, total / count)
        return self.longest

    @property
    def median(self) -> float | None:
        return self.quantile(0.5) if self.count else None

    def spread(self) -> Spread | None:
        """None where there is no value."""
        count = self.count
        if not count:
            return None
        return Spread(count, self.quantile(0.5), self.quantile(0.9), self.quantile(0.95), self.longest)

    def bars(self, per_e: float = 4.0) -> tuple[Bar, ...]:
        """The distribution in `per_e` bins for each factor e, those without a value between others included."""
        merged: dict[int, int] = {}
        for key, (count, _) in self._bins.items():
            place = round((key - _SHIFT) / _PER_E * per_e)
            merged[place] = merged.get(place, 0) + int(count)
        zeros = (Bar(0.0, 0.0, self.zeros),) if self.zeros else ()
        if not merged:
            return zeros
        places = range(min(merged), max(merged) + 1)
        return (*zeros, *(Bar(exp((p - 0.5) / per_e), exp((p + 0.5) / per_e), merged.get(p, 0)) for p in places))


class Worst:
    """The few cases that cost most, and what all of them cost together."""

    __slots__ = ("_heap", "count", "longest", "seconds")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Example]] = []
        self.count = 0
        self.seconds = self.longest = 0.0

    def add(self, *, at_s: float | None, task: int | None, seconds: float, text: Callable[[], str]) -> None:
        """`text` says it, and is asked only where the case is among the worst so far: there may be millions."""
        self.count += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)
        if len(self._heap) < WORST:
            heappush(self._heap, (seconds, -self.count, Example(at_s, task, seconds, text())))
        elif seconds > self._heap[0][0]:
            heappushpop(self._heap, (seconds, -self.count, Example(at_s, task, seconds, text())))

    def examples(self) -> tuple[Example, ...]:
        return tuple(example for *_, example in nlargest(WORST, self._heap))


class Load:
    """Tasks in flight over the log's time in a bounded number of bins, which double in width as the log goes on."""

    __slots__ = ("_areas", "_most", "width")
    LIMIT: Final = 1_440

    def __init__(self) -> None:
        self.width = 1.0
        self._areas: list[float] = []
        self._most: list[int] = []

    def add(self, start_s: float, end_s: float, in_flight: int) -> None:
        """`in_flight` tasks from `start_s` to `end_s`."""
        while end_s >= self.width * self.LIMIT:
            self._halve()
        last = int(end_s / self.width)
        if last >= len(self._areas):
            self._areas.extend([0.0] * (last + 1 - len(self._areas)))
            self._most.extend([0] * (last + 1 - len(self._most)))
        if not in_flight:
            return
        first = max(0, int(start_s / self.width))
        if first == last:
            self._areas[last] += (end_s - start_s) * in_flight
            self._most[last] = max(self._most[last], in_flight)
            return
        for index in range(first, last + 1):
            inside = min(end_s, (index + 1) * self.width) - max(start_s, index * self.width)
            if inside > 0:
                self._areas[index] += inside * in_flight
                self._most[index] = max(self._most[index], in_flight)

    def _halve(self) -> None:
        if len(self._areas) % 2:
            self._areas.append(0.0)
            self._most.append(0)
        self._areas = [sum(pair) for pair in zip(self._areas[::2], self._areas[1::2], strict=True)]
        self._most = [max(pair) for pair in zip(self._most[::2], self._most[1::2], strict=True)]
        self.width *= 2

    def moments(self) -> tuple[Moment, ...]:
        return tuple(
            Moment(index * self.width, area / self.width, most)
            for index, (area, most) in enumerate(zip(self._areas, self._most, strict=True))
        )


class Thinned(Generic[T]):
    """A bounded sample, evenly spaced over everything that was offered: each item stands for `every` of them."""

    __slots__ = ("_limit", "_seen", "every", "items")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.every = 1
        self._seen = 0
        self.items: list[T] = []

    def offer(self, make: Callable[[], T]) -> None:
        """`make` is asked for the item only where it is kept."""
        if self._seen % self.every == 0:
            if len(self.items) == self._limit:
                self.items = self.items[::2]
                self.every *= 2
            if self._seen % self.every == 0:
                self.items.append(make())
        self._seen += 1


class Allowance:
    """How many of something are looked at one by one: so many at first, and so many more with each task.

    That bounds the time by the size of a log, whatever it says. `over` counts those that were not.
    """

    __slots__ = ("_per_task", "left", "over")

    def __init__(self, *, first: int, per_task: int) -> None:
        self._per_task = per_task
        self.left = first
        self.over = 0

    def another_task(self) -> None:
        self.left += self._per_task

    def one(self) -> bool:
        """Whether one more is."""
        if self.left > 0:
            self.left -= 1
            return True
        self.over += 1
        return False
