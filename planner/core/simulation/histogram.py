"""Millions of gaps in a few hundred bins: counts and sums on a logarithmic scale, filled a whole run of steps at a time."""

import math
from math import ceil, exp, floor, log
from typing import Final

# Bins one per cent wide. Their edges are shifted by an irrational amount so that no round number of seconds falls on one.
_PER_E: Final = 100.0
_SHIFT: Final = math.sqrt(0.5)


class Histogram:
    """Positive durations with multiplicity. A quantile is the mean of its bin: within one per cent, exact where all are alike."""

    __slots__ = ("bins", "longest")

    def __init__(self) -> None:
        # By bin: how many, and their sum.
        self.bins: dict[int, list[float]] = {}
        self.longest = 0.0

    def add(self, seconds: float, times: int) -> None:
        """`times` durations of `seconds` each."""
        self.add_run(seconds, 0.0, 1, times)

    def add_run(self, first: float, growth: float, steps: int, times: int) -> None:
        """The durations first, first + growth … of `steps` steps, each `times` over."""
        last = first + growth * (steps - 1)
        self.longest = max(self.longest, last)
        key = floor(log(first) * _PER_E + _SHIFT)
        # A run that grows into further bins is cut at their edges.
        while growth and floor(log(last) * _PER_E + _SHIFT) != key:
            here = min(steps - 1, max(1, ceil((exp((key + 1 - _SHIFT) / _PER_E) - first) / growth)))
            self._put(key, here * times, (here * first + growth * (here * (here - 1) / 2)) * times)
            first += growth * here
            steps -= here
            key = floor(log(first) * _PER_E + _SHIFT)
        self._put(key, steps * times, (steps * first + growth * (steps * (steps - 1) / 2)) * times)

    def _put(self, key: int, count: float, total: float) -> None:
        held = self.bins.get(key)
        if held is None:
            self.bins[key] = [count, total]
        else:
            held[0] += count
            held[1] += total

    def absorb(self, other: "Histogram") -> None:
        """Takes over everything in `other`."""
        for key, (count, total) in other.bins.items():
            self._put(key, count, total)
        self.longest = max(self.longest, other.longest)

    @property
    def total(self) -> int:
        return int(sum(count for count, _ in self.bins.values()))

    @property
    def mean(self) -> float:
        return math.fsum(total for _, total in self.bins.values()) / self.total

    def quantile(self, share: float) -> float:
        """The duration that `share` of all do not exceed."""
        rank = share * self.total
        seen = 0.0
        for _, (count, total) in sorted(self.bins.items()):
            seen += count
            if seen >= rank:
                return min(self.longest, total / count)
        return self.longest
