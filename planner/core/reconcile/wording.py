"""A printed figure beside the plan's, and the cause of a difference in a sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.core.engines.contract import Cause, Printed
from planner.core.plan import MemoryBudget
from planner.core.reconcile.search import Search


@dataclass(frozen=True, slots=True)
class Row:
    """One printed figure beside the plan's. `why` is about a difference and empty where there is none; `explained` where it has a cause."""

    key: str
    name: str
    printed: str
    expected: str
    equal: bool
    explained: bool = True
    why: str = ""


def row_of(figure: Printed, search: Search, memory: MemoryBudget) -> Row:
    """The figure's row; `memory` is the plan's budget, whose estimated lines are named where the pool differs."""
    equal = search.plan.has(figure)
    expected = search.reader.shown(figure.key, search.plan.low[figure.key])
    causes = () if equal else search.explaining(figure)
    why = "" if equal else " ".join(_sentences(figure, causes, search, memory))
    return Row(figure.key, figure.name, figure.shown, expected, equal, equal or bool(causes) or search.plan.allows(figure), why)


def _sentences(figure: Printed, causes: Sequence[Cause], search: Search, memory: MemoryBudget) -> Iterator[str]:
    if causes:
        yield from _believed(figure, causes, search.reader.pool)
        if not search.has(figure, causes):
            yield "It is an estimate then, too, and its range has this."
    elif figure.key in search.reader.measured:
        yield from _measured(figure, search, memory)
    else:
        stated = " by what else these lines say" if search.stated else ""
        yield f"Not explained{stated}. Paste more of the start, the line of the arguments with it; another config.json than here would also do it."


def _believed(figure: Printed, causes: Sequence[Cause], pool: str | None) -> Iterator[str]:
    keys = [cause.key for cause in causes]
    stated = _listed([cause.because for cause in causes if cause.key is not None])
    guessed = _listed([cause.because for cause in causes if cause.key is None])
    if guessed:
        beside = f", beside {stated}" if stated else ""
        yield f"This would explain it: {guessed}{beside}. The lines do not say so, so look whether the server runs that way."
    elif keys == [figure.key]:
        yield f"An input: the server runs with {stated}."
    elif keys == [pool]:
        yield f"All of the difference is memory: {stated}."
    else:
        yield f"All of the difference is that the server runs with {stated}."


def _listed(words: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _measured(figure: Printed, search: Search, memory: MemoryBudget) -> Iterator[str]:
    """The difference of a figure that only a start can tell, and the range that the plan gives it."""
    shown, planned, value = search.reader.shown, search.plan.low[figure.key], figure.value
    if isinstance(value, str) or isinstance(planned, str):
        return
    yield f"{shown(figure.key, abs(value - planned))} {'more' if value > planned else 'less'} than planned."
    low, high = search.plan.ranges.get(figure.key, (planned, planned))
    inside = search.plan.allows(figure)
    if low < high:
        where = "within that" if inside else "this is beyond it"
        yield f"It is measured at start where the plan estimates, from {shown(figure.key, low)} to {shown(figure.key, high)}: {where}."
    lines = [line.name for line in memory.lines if line.grade == "estimated" and line.kind in {"weights", "overhead"}]
    if lines and figure.key == search.reader.pool:
        yield f"Estimated in the budget: {', '.join(lines)}."
    if not inside:
        yield search.reader.measured[figure.key]
