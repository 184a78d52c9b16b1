"""Requests of a llama-server from the moment they get a slot: kept while they run, put as a Task when they end."""

from functools import partial
from typing import Final

from planner.core.logs.log import Log
from planner.core.logs.marks import MOST, Point, thinned
from planner.core.logs.record import Ending, Mark, SlotChoice, Task

# More slots than anyone runs: a log that opens more has lost the ends of those before.
_MOST_OPEN: Final = 512

# `Mark._make`, three times as fast.
_MARK: Final = partial(tuple.__new__, Mark)


class Running:
    """A request that holds a slot, as far as the log has told."""

    __slots__ = (
        "accepted", "asked", "base", "cancelled", "choice", "computed", "drafted", "failed", "generate_s", "launch_seen", "launched_s",
        "line", "number", "output", "points", "prefill_s", "prompt", "refused", "released", "released_s", "shifted", "similarity", "slot",
        "slot_tokens", "summary_s", "truncated",
    )  # fmt: skip

    def __init__(self, number: int, slot: int, line: int) -> None:
        self.number = number
        self.slot = slot
        self.line = line
        self.points: list[Point] = []
        self.launched_s: float | None = None
        self.released_s: float | None = None
        self.summary_s: float | None = None
        self.prefill_s: float | None = None
        self.generate_s: float | None = None
        self.prompt: int | None = None
        self.computed: int | None = None
        self.output: int | None = None
        self.asked: int | None = None
        self.base: int | None = None
        self.slot_tokens: int | None = None
        self.accepted: int | None = None
        self.drafted: int | None = None
        self.choice: SlotChoice | None = None
        self.similarity: float | None = None
        self.launch_seen = self.released = self.truncated = self.shifted = False
        self.cancelled = self.failed = self.refused = False

    def mark(self, at_s: float, tokens: int, *, prefill: bool) -> None:
        points = self.points
        points.append((at_s, tokens, prefill))
        if len(points) >= MOST:
            self.points = thinned(points)

    def prompt_tokens(self) -> int | None:
        """As printed, else from what the slot holds at the end: the prompt and all generated tokens but the last.

        Source: llama.cpp b11434 tools/server/server-context.cpp, server_slot::release. Not after a context shift.
        """
        if self.refused or self.output is None or self.shifted or self.slot_tokens is None or self.prompt is not None:
            return None if self.refused else self.prompt
        prompt = self.slot_tokens - max(self.output - 1, 0)
        return prompt if prompt >= max(self.computed or 0, 1) else None

    def ending(self) -> Ending:
        if self.refused:
            return "refused"
        if self.failed:
            unread = self.prompt is not None and self.slot_tokens is not None and self.slot_tokens < self.prompt
            return "refused" if unread else "failed"
        if self.generate_s is not None:
            return "finished"
        if self.cancelled:
            return "cancelled"
        # One without a summary generated nothing: an embedding. Unless its beginning is not in the log.
        return "finished" if self.released and self.launch_seen else "cut"


class Tasks:
    """Those that run, by the server's number. `run` counts the server's starts."""

    __slots__ = ("_choices", "_held", "_log", "run", "running")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._choices: dict[int, tuple[SlotChoice, float | None]] = {}
        self._held: dict[int, bytes] = {}  # slots by number, and whose they were last
        self.run = 0
        self.running: dict[bytes, Running] = {}

    def chosen(self, slot: int, choice: SlotChoice, similarity: float | None) -> None:
        if len(self._choices) < _MOST_OPEN:
            self._choices[slot] = (choice, similarity)

    def launch(self, number: bytes, slot: int, at_s: float | None) -> None:
        if number in self.running:
            self.end(number, ending="cut")
        task = self.open(number, slot)
        task.launch_seen, task.launched_s = True, at_s
        task.choice, task.similarity = self._choices.pop(slot, (None, None))

    def open(self, number: bytes, slot: int) -> Running:
        """It is begun with what the log says first of it. Whatever held its slot before has lost its end."""
        before = self._held.get(slot, b"")
        if before in self.running:
            self.end(before)
        if len(self.running) >= _MOST_OPEN:
            self.end(next(iter(self.running)))
        if slot < _MOST_OPEN:
            self._held[slot] = number
        self.running[number] = task = Running(int(number), slot, self._log.line)
        return task

    def restart(self) -> None:
        """The server was started again: what ran is cut."""
        self.cut_all()
        self._choices.clear()
        self.run += 1

    def cut_all(self) -> None:
        for number in list(self.running):
            self.end(number)

    def end(self, number: bytes, *, ending: Ending | None = None) -> None:
        task = self.running.pop(number, None)
        if task is not None:
            self._log.put(_told(task, self.run, ending or task.ending()))


def _told(task: Running, run: int, ending: Ending) -> Task:
    return Task(
        number=task.number,
        run=run,
        slot=task.slot,
        line=task.line,
        ending=ending,
        launched_s=task.launched_s,
        released_s=task.released_s,
        prompt_tokens=task.prompt_tokens(),
        computed_tokens=task.computed,
        output_tokens=task.output,
        asked_tokens=task.asked,
        prefill_s=task.prefill_s,
        generate_s=task.generate_s,
        truncated=task.truncated,
        choice=task.choice,
        similarity=task.similarity,
        draft_accepted=task.accepted,
        draft_generated=task.drafted,
        summary_s=task.summary_s,
        marks=tuple(map(_MARK, task.points)),
    )
