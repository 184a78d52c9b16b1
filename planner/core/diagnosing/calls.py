"""The application's own calls (CSV or JSON lines) joined with the server's tasks by time and number of prompt tokens."""

import csv
import json
import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

from planner.core.diagnosing.clocks import LATE_S, offset_between
from planner.core.diagnosing.diagnosis import Purpose
from planner.core.diagnosing.gathering import Values
from planner.core.errors import InputError, one_line
from planner.core.logs.record import Notice, Sample, Task

MAX_CALLS: Final = 200_000
MAX_LINE: Final = 65_536
MAX_PURPOSES: Final = 50
# A call is sent before its task is launched, but for what the two clocks drift apart.
EARLY_S: Final = 2.0
# Token counts of an application are its own estimate: they may be off by so much.
NEAR_TOKENS: Final = 0.02
_WARM_UP: Final = 400
_NAMES: Final = {
    "time": ("time", "sent", "start", "timestamp", "at"),
    "purpose": ("purpose", "kind", "type", "name"),
    "tokens": ("prompt_tokens", "tokens", "prompt"),
    "end": ("end", "finished", "end_time"),
    "gate": ("gate_wait", "gate", "waited"),
}  # fmt: skip
UNKNOWN: Final = "tasks without a call"


class Calls:
    """Calls in the order of their times, in columns. Missing ends and gate waits are not a number."""

    __slots__ = ("ends", "gates", "purposes", "sent", "tokens", "which")

    def __init__(self) -> None:
        self.sent, self.ends, self.gates = array("d"), array("d"), array("d")
        self.tokens, self.which = array("q"), array("H")
        self.purposes: list[str] = []

    def __len__(self) -> int:
        return len(self.sent)


def read_calls(lines: Iterable[str]) -> Calls:
    """Raises InputError where a call has no time, or there are none or too many."""
    bounded = (line[:MAX_LINE] for line in lines)
    first = next((line for line in bounded if line.strip()), "")
    whole = chain([first], bounded)
    rows = _json_rows(whole) if first.lstrip().startswith("{") else csv.DictReader(whole)
    found: list[tuple[float, int, str, float, float]] = []
    for number, row in enumerate(rows, 1):
        if number > MAX_CALLS:
            raise InputError(f"More than {MAX_CALLS:,} calls: give those of one day.", field="calls")
        sent = _time(_column(row, "time"))
        if sent is None:
            raise InputError(f"Call {number} has no time: name the column “time”, in seconds or as a date and time.", field="calls")
        end = _time(_column(row, "end"))
        found.append((sent, _tokens(row), _purpose(row), math.nan if end is None else end, _float(_column(row, "gate"))))
    if not found:
        raise InputError("There is no call in this file: give the columns time, purpose and prompt_tokens.", field="calls")
    found.sort(key=lambda call: call[0])
    calls = Calls()
    for sent, tokens, purpose, end, gate in found:
        if purpose not in calls.purposes:
            if len(calls.purposes) == MAX_PURPOSES:
                raise InputError(f"More than {MAX_PURPOSES} purposes are no groups: name fewer.", field="calls")
            calls.purposes.append(purpose)
        calls.sent.append(sent)
        calls.tokens.append(tokens)
        calls.which.append(calls.purposes.index(purpose))
        calls.ends.append(end)
        calls.gates.append(gate)
    return calls


def _json_rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(f"“{line[:60].strip()}” is no JSON object.", field="calls") from None
            yield row if isinstance(row, dict) else {}


def _column(row: dict[str, Any], wanted: str) -> object:
    for name in _NAMES[wanted]:
        if row.get(name) not in (None, ""):
            return row[name]
    return None


def _purpose(row: dict[str, Any]) -> str:
    return one_line(str(_column(row, "purpose") or "calls"))[:60]


def _tokens(row: dict[str, Any]) -> int:
    value = _float(_column(row, "tokens"))
    return int(value) if 0 <= value <= 1e9 else -1


def _float(value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _time(value: object) -> float | None:
    """Seconds: a number as it stands, or a date and time (UTC where it names no zone)."""
    number = _float(value)
    if not math.isnan(number):
        return number
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class Joined:
    """Tasks as they come, each with its call. The clocks of log and application differ by a constant that the first tasks tell."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._used = bytearray(len(calls))
        self._offset: float | None = None
        self._of: dict[tuple[int, int], int] = {}
        count = len(calls.purposes) + 1
        self._tasks = [0] * count
        self._ttft, self._queue, self._gate, self._duration = ([Values() for _ in range(count)] for _ in range(4))
        self.queue_all = Values()
        for index, gate in enumerate(calls.gates):
            if not math.isnan(gate):
                self._gate[calls.which[index]].add(max(0.0, gate))

    @property
    def matched(self) -> int:
        return sum(self._tasks[:-1])

    @property
    def offset_s(self) -> float | None:
        """Seconds to add to a call's time to have the log's."""
        return self._offset

    def through(self, log: Iterable[Task | Sample | Notice]) -> Iterator[Task | Sample | Notice]:
        """The log's items, the first tasks held back until the clocks are known."""
        held: list[Task | Sample | Notice] = []
        tasks = 0
        for item in log:
            if self._offset is None:
                held.append(item)
                tasks += isinstance(item, Task)
                if tasks < _WARM_UP and len(held) < 10 * _WARM_UP:
                    continue
                self._set_clock(held)
                yield from self._all(held)
                held = []
            else:
                yield from self._all([item])
        if held:
            self._set_clock(held)
            yield from self._all(held)

    def _all(self, items: Iterable[Task | Sample | Notice]) -> Iterator[Task | Sample | Notice]:
        for item in items:
            if isinstance(item, Task):
                self._match(item)
            yield item

    def _set_clock(self, items: Iterable[Task | Sample | Notice]) -> None:
        tasks = [item for item in items if isinstance(item, Task) and item.launched_s is not None]
        self._offset = offset_between(self._calls, tasks)

    def _match(self, task: Task) -> None:
        if task.launched_s is None:
            self._tasks[-1] += 1
            return
        calls, offset = self._calls, self._offset or 0.0
        begin = bisect_left(calls.sent, task.launched_s - offset - LATE_S)
        asked = task.prompt_tokens or task.asked_tokens
        best, off = -1, math.inf
        for index in range(begin, len(calls)):
            if calls.sent[index] + offset > task.launched_s + EARLY_S:
                break
            if self._used[index]:
                continue
            tokens = calls.tokens[index]
            apart = 0.5 if tokens < 0 or asked is None else abs(tokens - asked) / max(asked, 1)
            if (apart <= NEAR_TOKENS or tokens < 0 or asked is None) and apart < off:
                best, off = index, apart
        if best < 0:
            self._tasks[-1] += 1
            self._duration[-1].add(max(0.0, (task.released_s or task.launched_s) - task.launched_s))
            return
        self._used[best] = 1
        self._of[task.run, task.number] = best
        self._count(task, best)
        if len(self._of) > 4_096:
            del self._of[next(iter(self._of))]

    def _count(self, task: Task, index: int) -> None:
        calls = self._calls
        which, sent = calls.which[index], calls.sent[index] + (self._offset or 0.0)
        launched = task.launched_s or 0.0
        self._tasks[which] += 1
        self._queue[which].add(max(0.0, launched - sent))
        self.queue_all.add(max(0.0, launched - sent))
        if task.first_token_s is not None:
            self._ttft[which].add(max(0.0, task.first_token_s - min(sent, launched)))
        end = calls.ends[index]
        ended = end + (self._offset or 0.0) if not math.isnan(end) else task.released_s
        if ended is not None:
            self._duration[which].add(max(0.0, ended - sent))

    def sent_s(self, task: Task) -> float | None:
        """When the application sent the task, on the log's clock."""
        index = self._of.get((task.run, task.number))
        return None if index is None else self._calls.sent[index] + (self._offset or 0.0)

    def purposes(self) -> tuple[Purpose, ...]:
        """A row for each purpose, and one for the tasks that no call explains."""
        asked = Counter(self._calls.which)
        names = [*self._calls.purposes, UNKNOWN]
        return tuple(
            Purpose(
                name=name,
                calls=asked.get(index, 0),
                tasks=self._tasks[index],
                ttft=self._ttft[index].spread(),
                queue=self._queue[index].spread(),
                gate=self._gate[index].spread(),
                duration=self._duration[index].spread(),
            )
            for index, name in enumerate(names)
            if index < len(self._calls.purposes) or self._tasks[index]
        )
