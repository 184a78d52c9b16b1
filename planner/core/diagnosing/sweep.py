"""The sweep over a log's tasks in the order of time, with those in memory that overlap: who ran beside whom, and for how long."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Final, Protocol

from planner.core.diagnosing.gathering import Allowance, Load
from planner.core.diagnosing.life import MAX_PAIRS, MAX_PASSES, Clocks, Life, Pair
from planner.core.logs.record import Task

# A log has a task when it ends. So many later ones are held before the sweep goes on, to know who ran beside it …
HOLD_TASKS: Final = 512
# … or as many progress lines and passes.
HOLD_MOMENTS: Final = 20_000
# It goes on by so large a share of either at a time, because putting many moments in order costs less than each by itself.
_AT_A_TIME: Final = 0.25
# llama-server's n_batch unless told otherwise (common/common.h, b4748 to b11549).
DEFAULT_BATCH: Final = 2_048
# A task that starts within this time of a full server's first free slot was waiting for it.
AT_ONCE_S: Final = 0.1
# Moments that the log's rounding and the time of printing set apart.
SAME_MOMENT_S: Final = 0.005
LEAST_OVERLAP_S: Final = 0.001
# More tasks at once than any server has slots are not held against each other.
MAX_TOGETHER: Final = 512
# Passes and overlaps that are told apart, at first and with each task: all of them, but for logs that no server writes.
_AT_FIRST: Final = 200_000
_PER_TASK: Final = 32

# What happens at one moment happens in this order.
_PASS, _MARK, _LAST, _DEPART, _LAUNCH, _BEGIN, _FIRST, _DEPART_AT_ONCE = range(8)


class Watcher(Protocol):
    """Who wants to know of the sweep's events. Clocks are the readings at the event."""

    def waited(self, life: Life, *, behind_prefill_s: float, behind_streams_s: float, alone: bool) -> None: ...
    def read(self, life: Life, clocks: Clocks, streams: int) -> None: ...
    def generated(self, life: Life, since: Clocks, clocks: Clocks, *, seconds: float, tokens: int) -> None: ...
    def ended(self, life: Life, clocks: Clocks) -> None: ...
    def queued(self, life: Life, *, full_s: float) -> None: ...


class Sweep:
    """Feed it tasks in the order in which they end, then `finish`. `slots` asks how many slots the server has, if known."""

    def __init__(self, watcher: Watcher, *, long_prefill: int, slots: Callable[[], int | None]) -> None:
        self._watcher = watcher
        self._long_prefill = long_prefill
        self._slots = slots
        self._held: deque[tuple[float, int]] = deque()
        self._held_moments = 0
        # Time, what, serial number, whose, tokens: in order but for those that were added last.
        self._events: list[tuple[float, int, int, Life, int]] = []
        self._serial = 0
        self.passes_told = Allowance(first=_AT_FIRST, per_task=_PER_TASK)
        self.overlaps_told = Allowance(first=_AT_FIRST, per_task=_PER_TASK)
        self._now = 0.0
        self._clocks = Clocks()
        self._reading: dict[Life, None] = {}
        self._generating: dict[Life, None] = {}
        self._reading_long = 0
        self._context = 0
        self._last_pass_s = self._stream_ended_s = -1.0
        self._full_since: float | None = None
        self._full_until = -1.0
        self._after_full: list[Life] = []
        self.in_flight = self.in_flight_max = 0
        self.busy_s = 0.0
        self.first_s: float | None = None
        self.last_s = 0.0
        self.batch = DEFAULT_BATCH
        self.batch_seen = False
        self.load = Load()
        self._flown_s = 0.0

    @property
    def two_or_more_s(self) -> float:
        return self._clocks.two

    @property
    def idle(self) -> bool:
        """Whether nobody is in flight, reads or generates at the moment the sweep has come to."""
        return not (self.in_flight or self._reading or self._generating or self._reading_long or self._context)

    def add(self, task: Task) -> None:
        """A task with times, as soon as it has ended. Raises nothing; one without times is not for the sweep."""
        launched, ends = task.launched_s, task.released_s
        if ends is None:
            ends = task.summary_s or (task.marks[-1].at_s if task.marks else launched)
        if launched is None or ends is None or task.ending == "refused":
            return
        life = Life(task, launched, max(launched, ends), long_prefill=self._long_prefill)
        self._learn_batch(life)
        depart = _DEPART if life.ends > life.first else _DEPART_AT_ONCE
        for at_s, what in ((launched, _LAUNCH), (life.began, _BEGIN), (life.first, _FIRST), (life.last, _LAST), (life.ends, depart)):
            self._push(at_s, what, life)
        self.passes_told.another_task()
        self.overlaps_told.another_task()
        passes = self._pass_ends(life) if life.reads else ()
        for at_s in passes:
            self._push(at_s, _PASS, life)
        if life.generates:
            for mark in task.marks:
                if not mark.prefill and life.first < mark.at_s < life.last:
                    self._push(mark.at_s, _MARK, life, mark.tokens)
        moments = len(task.marks) + len(passes)
        self._held.append((life.ends, moments))
        self._held_moments += moments
        if len(self._held) > HOLD_TASKS * (1 + _AT_A_TIME) or self._held_moments > HOLD_MOMENTS:
            self._go_on()

    def _go_on(self) -> None:
        until = self._now
        while len(self._held) > HOLD_TASKS or self._held_moments > HOLD_MOMENTS * (1 - _AT_A_TIME):
            ends, moments = self._held.popleft()
            self._held_moments -= moments
            until = max(until, ends)
        self._go(until)

    def _pass_ends(self, life: Life) -> list[float]:
        told = self.passes_told
        ends = life.pass_ends(self._step(), min(MAX_PASSES, told.left))
        told.left = max(0, told.left - len(ends))
        if not told.left or len(ends) >= MAX_PASSES:
            told.over += 1
        return ends

    def finish(self) -> None:
        """Nothing more comes."""
        self._held.clear()
        self._go(float("inf"))

    def _push(self, at_s: float, what: int, life: Life, tokens: int = 0) -> None:
        self._serial += 1
        self._events.append((at_s, what, self._serial, life, tokens))

    def _learn_batch(self, life: Life) -> None:
        """Successive progress lines of a prompt are one pass apart: n_batch less the streams that had a token in it."""
        for before, after in pairwise(life.read_marks):
            step = after.tokens - before.tokens
            if step > (self.batch if self.batch_seen else 0) * 1.02 and step > 0:
                self.batch, self.batch_seen = _rounded(step), True

    def _step(self) -> int:
        return max(1, self.batch - len(self._generating))

    def _go(self, until_s: float) -> None:
        self._events.sort()
        due = bisect_right(self._events, until_s, key=_when)
        events, self._events = self._events[:due], self._events[due:]
        for at_s, what, _, life, tokens in events:
            if at_s > self._now:
                self._advance(at_s)
            if what == _MARK:
                self._mark(life, at_s, tokens)
            elif what == _PASS:
                self._pass(life)
            elif what == _LAUNCH:
                self._launch(life)
            elif what == _BEGIN:
                self._begin(life)
            elif what == _FIRST:
                self._first(life)
            elif what == _LAST:
                self._last(life)
            else:
                self._depart(life)

    def _advance(self, to_s: float) -> None:
        seconds = to_s - self._now
        if self.in_flight:
            clocks, streams = self._clocks, len(self._generating)
            self.busy_s += seconds
            if self.in_flight > 1:
                clocks.two += seconds
            if self._reading:
                clocks.reading += seconds
                if len(self._reading) > 1:
                    clocks.reading_two += seconds
                if self._reading_long:
                    clocks.reading_long += seconds
            elif streams:
                clocks.clean += seconds
                clocks.streams += seconds * streams
                clocks.context += seconds * self._context
        self._now = to_s

    def _flown(self) -> None:
        """The number in flight is about to change: so many were until now."""
        if self._now > self._flown_s:
            self.load.add(self._flown_s, self._now, self.in_flight)
            self._flown_s = self._now

    def _launch(self, life: Life) -> None:
        if self.first_s is None:
            self.first_s = life.launched
        self._flown()
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        life.at_launch = self._clocks.copy()
        slots = self._slots()
        if slots is None:
            return
        if self._now - self._full_until <= AT_ONCE_S and self._full_since is not None:
            self._after_full.append(life)
        elif self.in_flight < slots:
            self._full_since = None
        if self.in_flight >= slots:
            if self._full_since is None:
                self._full_since = self._now
            for waited in self._after_full:
                self._watcher.queued(waited, full_s=max(0.0, waited.launched - self._full_since))
            self._after_full.clear()

    def _begin(self, life: Life) -> None:
        clocks, before = self._clocks, life.at_launch
        if life.answered:
            self._watcher.waited(
                life,
                behind_prefill_s=clocks.reading - before.reading,
                behind_streams_s=clocks.clean - before.clean,
                alone=self._streams_over(),
            )
        if life.reads:
            self._reading[life] = None
            self._reading_long += life.long
        life.at_began = clocks.copy()

    def _streams_over(self) -> bool:
        """Whether nobody generates, and somebody did until just now or nobody reads either: what held a waiting prompt has ended."""
        over = all(stream.last - self._now <= SAME_MOMENT_S for stream in self._generating)
        just_now = bool(self._generating) or self._now - self._stream_ended_s <= SAME_MOMENT_S
        return over and (just_now or not self._reading)

    def _pass(self, life: Life) -> None:
        # Prompts that share a pass end it together.
        if len(self._reading) > 1 and self._now - self._last_pass_s < max(0.002, (life.first - life.began) / 50):
            return
        self._last_pass_s = self._now
        self._clocks.passes += 1
        if self._reading_long:
            self._clocks.long_passes += 1

    def _first(self, life: Life) -> None:
        if life.reads and life in self._reading:
            del self._reading[life]
            self._reading_long -= life.long
            if life.held_up and self._together(self._generating):
                start_s = self._now - max(LEAST_OVERLAP_S, (life.first - life.began) / 100)
                for stream in self._generating:
                    if stream.first <= start_s:
                        self._overlap(life, stream)
            self._watcher.read(life, self._clocks, len(self._generating))
        life.at_first = life.at_mark = self._clocks.copy()
        if life.last > life.first:
            self._generating[life] = None
            self._context += _context_of(life.task)

    def _together(self, others: dict[Life, None]) -> bool:
        """Whether so many can be held against another one."""
        if len(others) <= MAX_TOGETHER:
            return True
        self.overlaps_told.over += len(others)
        return False

    def _overlap(self, prefill: Life, stream: Life) -> None:
        start = max(prefill.began, stream.first)
        read_s = prefill.first - prefill.began
        # One that began when the other ended lasts as long as the log's last digit.
        if self._now - start < max(LEAST_OVERLAP_S, read_s / 100):
            return
        if len(stream.pairs) == MAX_PAIRS or not self.overlaps_told.one():
            return
        later = prefill.at_began if prefill.began >= stream.first else stream.at_first
        stream.pairs.append(
            Pair(
                start,  # start_s
                self._now,  # end_s
                self._clocks.passes - later.passes,  # passes
                len(self._generating),  # streams
                prefill.task.number,  # reader
                prefill.task.computed_tokens or (prefill.read_marks[-1].tokens if prefill.read_marks else 0),  # tokens
                read_s,
                prefill.long,  # long
                self.batch_seen or bool(prefill.read_marks),  # sure
            )
        )

    def _mark(self, life: Life, at_s: float, tokens: int) -> None:
        """From the last known count of tokens to this one."""
        more = tokens - life.marked_tokens
        if more > 0:
            self._watcher.generated(life, life.at_mark, self._clocks, seconds=at_s - life.marked_s, tokens=more)
            life.marked_tokens = tokens
            life.marked_s = at_s
            life.at_mark = self._clocks.copy()

    def _last(self, life: Life) -> None:
        if life in self._generating:
            self._mark(life, life.last, life.tokens)
            del self._generating[life]
            self._stream_ended_s = self._now
            self._context -= _context_of(life.task)
            if self._together(self._reading):
                for prefill in self._reading:
                    if prefill.held_up:
                        self._overlap(prefill, life)

    def _depart(self, life: Life) -> None:
        slots = self._slots()
        if slots is not None and self.in_flight >= slots:
            self._full_until = self._now
            self._after_full.clear()
        self._flown()
        self.in_flight -= 1
        self.last_s = max(self.last_s, life.ends)
        self._watcher.ended(life, self._clocks)


def _when(event: tuple[float, int, int, Life, int]) -> float:
    return event[0]


def _context_of(task: Task) -> int:
    """Tokens that a generating task attends to, halfway through its answer."""
    return (task.prompt_tokens or task.computed_tokens or 0) + (task.output_tokens or 0) // 2


def _rounded(step: int) -> int:
    """The batch that leaves passes of `step` prompt tokens: the next multiple of 64, but for a few streams' tokens."""
    up = -(-step // 64) * 64
    return up if up - step <= 64 else step
