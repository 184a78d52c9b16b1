"""One pass over a reading: tasks go through the sweep, samples and notices are added up, and nothing else is kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from planner.core.diagnosing.calls import Calls, Joined
from planner.core.diagnosing.observed import Observed
from planner.core.diagnosing.samples import Samples
from planner.core.diagnosing.sweep import Sweep
from planner.core.diagnosing.totals import Totals
from planner.core.logs.record import Counts, Facts, Notice, Sample, Task

_SHOWN: Final = 3
# Cancelled requests whose slot is not free yet.
_LEAVING: Final = 256


class Log(Protocol):
    """What a diagnosis reads: a `logs.reading.Reading`, or anything like it."""

    @property
    def facts(self) -> Facts: ...
    @property
    def counts(self) -> Counts: ...
    def __iter__(self) -> Iterator[Task | Sample | Notice]: ...


@dataclass(slots=True)
class Noticed:
    """All notices of one code: how many, the first few, and the largest value."""

    count: int = 0
    first: list[Notice] = field(default_factory=list)
    largest: float | None = None

    def add(self, notice: Notice) -> None:
        self.count += 1
        if len(self.first) < _SHOWN:
            self.first.append(notice)
        if notice.value is not None:
            self.largest = notice.value if self.largest is None else max(self.largest, notice.value)


@dataclass(slots=True)
class Collected:
    observed: Observed
    sweep: Sweep
    totals: Totals
    samples: Samples
    notices: dict[str, Noticed]
    joined: Joined | None
    last_s: float | None


def collect(log: Log, *, long_prefill: int, calls: Calls | None) -> Collected:
    """Reads the log to its end. Raises InputError as its reader does."""
    joined = Joined(calls) if calls else None
    step: list[Sweep] = []
    observed = Observed(step=lambda: step[0].batch, sent_s=joined.sent_s if joined else lambda _: None)
    sweep = Sweep(observed, long_prefill=long_prefill, slots=lambda: _slots(log))
    step.append(sweep)
    found = Collected(observed, sweep, Totals(), Samples(), {}, joined, None)
    leaving: dict[int, float] = {}
    for item in _matched(log, joined):
        if isinstance(item, Task):
            _task(item, found, leaving)
        elif isinstance(item, Sample):
            found.samples.add(item)
            _seen(found, item.at_s)
        else:
            found.notices.setdefault(item.code, Noticed()).add(item)
            _seen(found, item.at_s)
            if item.code == "cancelled" and item.task is not None and item.at_s is not None:
                leaving[item.task] = item.at_s
                if len(leaving) > _LEAVING:
                    del leaving[next(iter(leaving))]
    sweep.finish()
    observed.stretch.finish()
    return found


def _matched(log: Log, joined: Joined | None) -> Iterable[Task | Sample | Notice]:
    return joined.through(log) if joined else log


def _slots(log: Log) -> int | None:
    slots = log.facts.values.get("n_slots")
    return slots if isinstance(slots, int) and slots > 0 else None


def _task(task: Task, found: Collected, leaving: dict[int, float]) -> None:
    totals = found.totals
    totals.add(task)
    if task.launched_s is None:
        if task.generate_s and (task.output_tokens or 0) > 1:
            found.observed.itl.add(task.generate_s / ((task.output_tokens or 2) - 1), (task.output_tokens or 2) - 1)
        return
    _seen(found, task.launched_s)
    _seen(found, task.released_s)
    left = leaving.pop(task.number, None)
    if task.released_s is None and left is not None and left > task.launched_s:
        # The log ends before the slot was free: it was at work until then at least.
        task = replace(task, released_s=left)
    if left is not None and task.released_s is not None and task.ending == "cancelled":
        held = task.released_s - left
        if held > 1.0:
            totals.held_s += held
            totals.held_count += 1
            totals.held = sorted([*totals.held, (held, task)], key=lambda each: -each[0])[:_SHOWN]
    found.sweep.add(task)


def _seen(found: Collected, at_s: float | None) -> None:
    if at_s is not None:
        found.last_s = at_s if found.last_s is None else max(found.last_s, at_s)
