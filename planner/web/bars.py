"""Where the server-drawn bars stand, in percent of the drawing, so that no figure needs a script or a style attribute."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.core.plan import MemoryBudget, Workload

_WHOLE: Final = 100.0
# A part narrower than this has no room for its label; the table below names it anyway.
_LABEL_WIDTH: Final = 18.0
_COLUMNS: Final = 40
_FEWEST_COLUMNS: Final = 8


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the memory bar."""

    kind: str
    name: str
    size_bytes: int
    x: float
    width: float

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 2)

    @property
    def labelled(self) -> bool:
        return self.width >= _LABEL_WIDTH


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """`limit` is where the memory ends when the parts need more than there is, else None."""

    parts: tuple[Part, ...]
    limit: float | None


def memory_bar(budget: MemoryBudget) -> MemoryBar:
    """The lines that hold something, in the budget's order. What is missing (a negative free line) runs past the limit."""
    lines = [line for line in budget.lines if line.size_bytes > 0]
    whole = max(budget.total_bytes, sum(line.size_bytes for line in lines))
    parts, x = [], 0.0
    for line in lines:
        width = _WHOLE * line.size_bytes / whole
        parts.append(Part(line.kind, line.name, line.size_bytes, round(x, 2), round(width, 2)))
        x += width
    over = whole > budget.total_bytes
    return MemoryBar(tuple(parts), round(_WHOLE * budget.total_bytes / whole, 2) if over else None)


@dataclass(frozen=True, slots=True)
class Column:
    """A bar of the distribution: `first` to `last` in flight, and the share of moments with that many."""

    first: int
    last: int
    share: float
    x: float
    y: float
    width: float
    height: float
    beyond: bool

    @property
    def label(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first:,}–{self.last:,}"

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 2)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The in-flight distribution; `mean_x` and `p95_x` are where the two markers stand, `labels` the columns that are named."""

    columns: tuple[Column, ...]
    mean_x: float
    p95_x: float

    @property
    def labels(self) -> tuple[Column, ...]:
        step = max(1, -(-len(self.columns) // 12))
        return self.columns[::step]


def distribution(load: Workload, slots: int) -> Distribution:
    """Columns from the first to the last count that holds one moment in a thousand; `beyond` those above `slots`."""
    first, last = _visible(load.distribution)
    width = -(-(last - first + 1) // _COLUMNS)
    groups = [(start, min(start + width - 1, last)) for start in range(first, last + 1, width)]
    shares = [sum(load.distribution[start : end + 1]) for start, end in groups]
    step, top = _WHOLE / len(groups), max(shares)
    columns = tuple(
        Column(
            first=start, last=end, share=share,
            x=round(index * step + step * 0.06, 2), width=round(step * 0.88, 2),
            y=round(_WHOLE - _WHOLE * share / top, 2), height=round(_WHOLE * share / top, 2),
            beyond=start > slots,
        )
        for index, ((start, end), share) in enumerate(zip(groups, shares, strict=True))
    )  # fmt: skip

    def position(count: float) -> float:
        return round(min(_WHOLE, max(0.0, (count - first + 0.5) / width * step)), 2)

    return Distribution(columns, position(load.in_flight_mean), position(load.in_flight_p95))


def _visible(shares: Sequence[float]) -> tuple[int, int]:
    """From the first to the last count that matters, and a few beside them where it is only one or two."""
    seen = [count for count, share in enumerate(shares) if share >= 0.001] or [max(range(len(shares)), key=shares.__getitem__)]
    first, last = seen[0], seen[-1]
    last = max(last, min(first + _FEWEST_COLUMNS, len(shares)) - 1)
    return max(0, min(first, last - _FEWEST_COLUMNS + 1)), last
