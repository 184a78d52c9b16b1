"""Ollama's log: access lines, its own start-up and memory lines, and the llama-server it runs, which prints no time of itself."""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from planner.core.logs.axis import Axis
from planner.core.logs.envelope import wall_clock_s
from planner.core.logs.formats import Handler, Rule
from planner.core.logs.formats._ollama_start import BEGINS, READERS
from planner.core.logs.formats.llama_server import FORMAT as LLAMA_SERVER
from planner.core.logs.formats.llama_server import LlamaServer, own_lines
from planner.core.logs.log import Log
from planner.core.logs.record import Notice, Task

_ACCESS: Final = re.compile(
    rb"\[GIN\] (\d{4})/(\d\d)/(\d\d) - (\d\d):(\d\d):(\d\d) \| {0,4}(\d{3}) \| {0,24}([\d.hmsnu\xc2\xb5]{2,24}) \| {0,48}\S{1,64} \| "
    rb"([A-Z]{3,8}) {1,12}\"([^\"?\n]{1,400})"
)
_STAMP: Final = re.compile(rb"time=(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,6})?")
_DURATION: Final = re.compile(rb"(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|s|\xc2\xb5s|us|ns)")
_UNITS_S: Final = {b"h": 3600.0, b"m": 60.0, b"s": 1.0, b"ms": 1e-3, b"\xc2\xb5s": 1e-6, b"us": 1e-6, b"ns": 1e-9}
# A line of its own begins so where nothing stands before it.
_BARE_STARTS: Final = b"[t"
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - likewise

# What asks a model for something (server/routes.go).
_WORK: Final = frozenset({
    b"/api/generate", b"/api/chat", b"/api/embed", b"/api/embeddings", b"/v1/chat/completions", b"/v1/completions", b"/v1/embeddings",
    b"/v1/responses", b"/v1/messages",
})  # fmt: skip
_QUEUE_FULL, _CLIENT_GONE = 503, 499
# Tasks of the child whose access line has not come: of so many the oldest is given up.
_MOST_WAITING: Final = 64
# A summary's times are rounded, and the access line's clock is another.
_SLACK_S: Final = 0.1

_PROMPT: Final = re.compile(rb" prompt=(\d{1,9})")
_REQUIRED: Final = re.compile(rb"requires more system memory \((\d{1,6}(?:\.\d{1,3})?) GiB\)")

_SURE: Final = re.compile(rb"time=\d{4}-\d\d-\d\dT[\d:.+Z-]{8,24} level=\w{4,6} source=\w{1,40}\.go:\d|\[GIN\] \d{4}/\d\d/\d\d - ")


class _DayClock(Axis):
    """An axis of a clock that no restart sets back."""

    __slots__ = ()

    def restart(self) -> None:
        """A model that is loaded is no new day."""


class _Ollama:
    """One log's reading. The child's lines are read by its own rules; what they tell is joined with the access line that follows."""

    def __init__(self, log: Log) -> None:
        log.axis = _DayClock()
        self._log = log
        self._timed = False
        self._begun: set[bytes] = set()
        self._requests = 0
        self._child_log = Log("llama-server")
        self._child_log.axis, self._child_log.counts = log.axis, log.counts
        self._child = LlamaServer(self._child_log)
        self._child_speaks = False
        self._child_rules: tuple[Rule, ...] = ()
        self._rules: tuple[Rule, ...] = ()
        self._waiting: deque[Task] = deque()
        self._own = (
            Rule(b' prompt="', _somebodys_words),
            Rule(b"[GIN] ", self._access),
            *(Rule(anchor, self._fact(anchor)) for anchor in READERS),
            Rule(b'msg="truncating input prompt"', self._trouble("truncated_input", _PROMPT)),
            Rule(b'msg="context limit hit - shifting"', self._trouble("context_shift")),
            Rule(b"requires more system memory (", self._trouble("start_failed", _REQUIRED)),
            Rule(b'msg="Load failed"', self._trouble("start_failed")),
            Rule(b"timed out waiting for llama", self._trouble("timeout")),
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        if self._child.rules is not self._child_rules:
            self._child_rules = self._child.rules
            self._rules = (*self._own, *(Rule(rule.anchor, self._of_child(rule)) for rule in self._child_rules))
        return self._rules

    def finish(self) -> None:
        self._child.finish()
        self._take()
        while self._waiting:
            self._log.put(self._waiting.popleft())
        facts = self._log.facts
        facts.values = {**self._child_log.facts.values, **facts.values}
        facts.format = "llama-server inside" if self._child_speaks else ""

    # The child's lines.

    def _of_child(self, rule: Rule) -> Handler:
        speaks = rule.anchor == b"| task "

        def handle(block: bytes, start: int, at: int) -> None:
            self._child_log.line = self._log.line
            self._child_speaks = self._child_speaks or speaks
            rule.handle(block, start, at)
            if self._child_log.items:
                self._take()

        return handle

    def _take(self) -> None:
        for item in self._child_log.items:
            if not isinstance(item, Task):
                self._log.put(item)
                continue
            self._waiting.append(item)
            if len(self._waiting) > _MOST_WAITING:
                self._log.put(self._waiting.popleft())
        self._child_log.items.clear()

    # Its own lines.

    def _at(self, block: bytes, start: int, own: Callable[[], float | None]) -> float | None:
        """By the clock of what wrote the log down, as the child's lines have only that; else by the line's own."""
        clock_s = None if block[start] in _BARE_STARTS else wall_clock_s(block, start)
        if clock_s is None:
            clock_s = own()
        if clock_s is not None:
            self._timed = True
            return self._log.axis.at(clock_s)
        return self._log.axis.now_s if self._timed else None

    def _stamp(self, block: bytes, start: int, at: int) -> float | None:
        found = _STAMP.search(block, start, at)
        return self._at(block, start, lambda: _seconds(found) if found else None)

    def _fact(self, anchor: bytes) -> Handler:
        read = READERS[anchor]

        def handle(block: bytes, start: int, at: int) -> None:
            self._stamp(block, start, at)
            if anchor in BEGINS:
                self._begin(anchor)
            if not read(block, at, block.find(b"\n", at), self._log.facts):
                self._log.not_understood(block, start)

        return handle

    def _begin(self, anchor: bytes) -> None:
        if anchor in self._begun or not self._begun:
            self._begun.clear()
            self._log.facts.starts += 1
            self._log.facts.values.clear()
            self._child_log.facts.values.clear()
        self._begun.add(anchor)

    def _trouble(self, code: str, figure: re.Pattern[bytes] | None = None) -> Handler:
        def handle(block: bytes, start: int, at: int) -> None:
            found = figure.search(block, at, block.find(b"\n", at)) if figure else None
            self._put(code, self._stamp(block, start, at), float(found[1]) if found else None)

        return handle

    def _access(self, block: bytes, start: int, at: int) -> None:
        found = _ACCESS.match(block, at)
        took_s = _duration_s(found[8]) if found else None
        if not found or took_s is None:
            self._log.not_understood(block, start)
            return
        if found[9] != b"POST" or found[10] not in _WORK:
            return
        ended_s = self._at(block, start, lambda: _seconds(found))
        status = int(found[7])
        if status == _QUEUE_FULL:
            self._put("queue_full", ended_s, float(status))
        elif status == _CLIENT_GONE:
            self._put("cancelled", ended_s, None)
            self._answered(ended_s, took_s, cancelled=True)
        elif status >= 400:
            self._put("http_error", ended_s, float(status))
        else:
            self._answered(ended_s, took_s, cancelled=False)

    def _answered(self, ended_s: float | None, took_s: float, *, cancelled: bool) -> None:
        """A request has ended: the child's task is the last that fits. A runner without lines of tasks has only this one."""
        arrived_s = None if ended_s is None else ended_s - took_s
        if self._child_speaks:
            for task in reversed(self._waiting):
                if _seconds_of(task) <= took_s + _SLACK_S and cancelled == (task.ending == "cancelled"):
                    self._waiting.remove(task)
                    self._log.put(_joined(task, ended_s, arrived_s))
                    return
            return
        self._requests += 1
        self._log.put(
            Task(
                number=self._requests,
                run=max(0, self._log.facts.starts - 1),
                slot=0,
                line=self._log.line,
                ending="cancelled" if cancelled else "finished",
                arrived_s=arrived_s,
                released_s=ended_s,
            )
        )

    def _put(self, code: str, at_s: float | None, value: float | None) -> None:
        self._log.put(Notice(code=code, line=self._log.line, at_s=at_s, value=value))


def _somebodys_words(_block: bytes, _start: int, _at: int) -> None:
    """At debug level prompts are printed, which may say anything, what the server says included."""


def _seconds_of(task: Task) -> float:
    return (task.prefill_s or 0.0) + (task.generate_s or 0.0)


def _joined(task: Task, ended_s: float | None, arrived_s: float | None) -> Task:
    """The child's task on Ollama's clock: it ended with the answer, and began as long before as its summary says."""
    if task.launched_s is not None or ended_s is None or task.prefill_s is None:
        return replace(task, arrived_s=arrived_s)
    return replace(task, arrived_s=arrived_s, launched_s=ended_s - _seconds_of(task), released_s=ended_s, summary_s=ended_s)


def _duration_s(printed: bytes) -> float | None:
    """As Go prints one: 1m2.5s, 42.04ms, 47.063µs."""
    seconds, end = 0.0, 0
    while end < len(printed):
        found = _DURATION.match(printed, end)
        if found is None:
            return None
        seconds += float(found[1]) * _UNITS_S[found[2]]
        end = found.end()
    return seconds


def _seconds(found: re.Match[bytes]) -> float | None:
    """None for a date that does not exist."""
    day_s = _day_s(found[1], found[2], found[3])
    fraction = found[7] if found.re is _STAMP else None
    return None if day_s is None else day_s + int(found[4]) * 3_600 + int(found[5]) * 60 + int(found[6]) + float(fraction or 0)


@lru_cache(maxsize=64)
def _day_s(year: bytes, month: bytes, day: bytes) -> float | None:
    try:
        return (datetime(int(year), int(month), int(day)) - _EPOCH).total_seconds()  # noqa: DTZ001 - its lines say the machine's own time
    except ValueError:
        return None


class _Format:
    engine: Final = "ollama"
    wraps: Final = frozenset({LLAMA_SERVER.engine})
    # What else it and its child print says nothing that is wanted, but where the child's own format says otherwise.
    own: Final = own_lines(rb"time=\d{4}-\d\d-\d\dT|\[GIN-debug\] |\[GIN\] ")

    def sniff(self, head: bytes) -> int:
        sure = sum(1 for _ in _SURE.finditer(head))
        return sure + LLAMA_SERVER.sniff(head) if sure else 0

    def start(self, log: Log) -> _Ollama:
        return _Ollama(log)


FORMAT: Final = _Format()
