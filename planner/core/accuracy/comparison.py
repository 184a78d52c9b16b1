"""One record of a fact beside our answer to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

# “Near” is within half a percent.
NEAR: Final = 0.005
# Causes that are shown.
_MOST: Final = 12


@dataclass(frozen=True, slots=True)
class Figure:
    """`printed` stands in the record, `ours` is the answer. `tolerance` is half of the last printed digit.

    `low` and `high` bound ours: where the record's own input is rounded (`estimate` False), or where the answer is an estimate.
    """

    name: str
    printed: float
    ours: float
    tolerance: float = 0.0
    low: float | None = None
    high: float | None = None
    estimate: bool = False

    @property
    def exact(self) -> bool:
        """Equal as printed, for one of the values that a rounded input stands for."""
        if not self.estimate and self.low is not None and self.high is not None:
            return min(self.low, self.ours) - self.tolerance <= self.printed <= max(self.high, self.ours) + self.tolerance
        return abs(self.printed - self.ours) <= self.tolerance

    @property
    def off(self) -> float:
        """The difference as a share of what was printed, 0 where it is equal."""
        return 0.0 if self.exact else abs(self.ours - self.printed) / abs(self.printed) if self.printed else 1.0

    @property
    def in_range(self) -> bool:
        return self.exact or (self.low is not None and self.high is not None and self.low <= self.printed <= self.high)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A record and our figures for it. `cause` says why one differs; `refused` is our sentence where there is no answer.

    `case` is its number in the collection of public reports, `within` the share by which a figure may differ all the same.
    """

    name: str
    source: str
    version: str
    figures: tuple[Figure, ...]
    cause: str = ""
    refused: str = ""
    case: str = ""
    within: float = 0.0

    @property
    def exact(self) -> bool:
        return not self.refused and all(figure.exact for figure in self.figures)

    @property
    def off(self) -> float:
        return 1.0 if self.refused else max((figure.off for figure in self.figures), default=0.0)

    @property
    def in_range(self) -> bool:
        return not self.refused and all(figure.in_range for figure in self.figures)

    @property
    def misses(self) -> list[str]:
        """The figures beyond what the record allows, in words; a test expects none."""
        if self.refused:
            return [f"refused: {self.refused}"]
        return [f"{f.name}: {f.ours:,.10g}, printed {f.printed:,.10g}" for f in self.figures if f.off > self.within]


def summary(engine: str, kind: str, comparisons: Iterable[Comparison], *, estimates: bool = False) -> dict[str, object]:
    """One row of the page: how many, how many equal or near, and the worst by name with the cause that was written down."""
    found = list(comparisons)
    return {
        "engine": engine,
        "kind": kind,
        "versions": sorted({each.version for each in found if each.version}, key=_numbers),
        "cases": len(found),
        "figures": sum(len(each.figures) for each in found),
        "exact": sum(each.exact for each in found),
        "near": sum(each.off <= NEAR for each in found),
        "in_range": sum(each.in_range for each in found) if estimates else None,
        "worst": [_worst(alike) for alike in _by_cause(found)],
    }


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in "".join(char if char.isdecimal() else " " for char in version).split())


def _by_cause(found: Iterable[Comparison]) -> list[list[Comparison]]:
    """The records that differ, those of one cause together, the worst first."""
    groups: dict[str, list[Comparison]] = {}
    for each in sorted((each for each in found if not each.exact), key=lambda each: (-each.off, each.name)):
        groups.setdefault(each.refused or each.cause or each.name, []).append(each)
    return list(groups.values())[:_MOST]


def _worst(alike: list[Comparison]) -> dict[str, object]:
    """The worst of the records that differ for one cause; without an answer of ours there is no figure of it."""
    each = alike[0]
    figure = max(each.figures, key=lambda one: one.off, default=Figure("answer", 0, 0))
    return {
        "name": each.name,
        "alike": len(alike) - 1,
        "source": each.source,
        "figure": figure.name,
        "printed": _short(figure.printed),
        "ours": None if each.refused else _short(figure.ours),
        "off": None if each.refused else round(each.off, 4),
        "cause": each.refused or each.cause,
    }


def _short(value: float) -> float | int:
    """Six significant digits, and a whole number as one."""
    return int(value) if value == int(value) else float(f"{value:.6g}")
