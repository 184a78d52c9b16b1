"""The plan made again under causes, and what it then expects."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.core.engines.contract import Base, Cause, Expectation, Printed, StartUp
from planner.core.errors import InputError
from planner.core.plan import Plan
from planner.core.request import PlanRequest, read_request

_MOST_TRIES: Final = 80

Replan = Callable[[PlanRequest], Expectation]
Figures = Mapping[str, float | str]
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class World:
    """What a plan expects, at both ends of a rounded cause; `ranges` are those of its estimates."""

    low: Figures
    high: Figures
    ranges: Ranges

    def has(self, figure: Printed) -> bool:
        """Whether the plan expects this figure."""
        low, high, value = self.low.get(figure.key), self.high.get(figure.key), figure.value
        if isinstance(value, str) or not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
            return value == low == high
        return min(low, high) - figure.tolerance <= value <= max(low, high) + figure.tolerance

    def allows(self, figure: Printed) -> bool:
        """Whether the figure lies within the range of an estimate."""
        low, high = self.ranges.get(figure.key, (0.0, 0.0))
        return not isinstance(figure.value, str) and low < high and low - figure.tolerance <= figure.value <= high + figure.tolerance


class Trials:
    """The plan made again under causes, each combination once and all of them within a bound."""

    def __init__(self, plan: Plan, expectation: Expectation, reader: StartUp, replan: Replan) -> None:
        self.reader, self._replan = reader, replan
        self._base: Base = reader.base(expectation)
        # The plan's own choices are fixed: another pool must not choose other slots.
        chosen = {"engine": plan.engine.name, "engine_version": plan.engine.version, "slots": plan.fit.slots}
        self._request = {**plan.request.model_dump(exclude_defaults=True), **chosen}
        self.plan = self._world((expectation,))
        self._seen: dict[tuple[Cause, ...], World | None] = {(): self.plan}

    def _world(self, ends: Sequence[Expectation]) -> World:
        expected = self.reader.expected
        return World(expected(ends[0]), expected(ends[-1]), self.reader.ranges(ends[0]))

    def world(self, causes: Sequence[Cause] = ()) -> World | None:
        """What would be expected under `causes`; None where the engine refuses that."""
        key = tuple(causes)
        if key not in self._seen:
            self._seen[key] = self._tried(causes) if len(self._seen) < _MOST_TRIES else None
        return self._seen[key]

    def _tried(self, causes: Sequence[Cause]) -> World | None:
        ends = range(max((len(cause.changes) for cause in causes), default=1))
        try:
            return self._world([self._replan(read_request({**self._request, **self.changes(causes, end)})) for end in ends])
        except InputError:
            return None

    def changes(self, causes: Sequence[Cause], end: int = 0) -> dict[str, Any]:
        """The request's fields under `causes`, the command line included."""
        words = [word for cause in causes for word in cause.words]
        found: dict[str, Any] = dict(self._base.changes) if words else {}
        for cause in causes:
            found |= cause.changes[min(end, len(cause.changes) - 1)]
        if words:
            own = str(found.get("engine_args", self._request.get("engine_args", "")))
            found["engine_args"] = " ".join(part for part in (own, shlex.join(_latest((*self._base.words, *words)))) if part)
        return found


def _latest(words: Sequence[str]) -> Iterator[str]:
    """The words of a command line with each flag once, as it stands last."""
    flags: dict[str, tuple[str, ...]] = {}
    for word in words:
        if word.startswith("-") and not word[1:].isdecimal():
            flag = word.replace("-no-", "-")
            flags.pop(flag, None)
            flags[flag] = (word,)
        else:
            flags[flag] = (*flags[flag], word)
    for parts in flags.values():
        yield from parts
