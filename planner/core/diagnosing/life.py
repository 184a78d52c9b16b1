"""A task on its way through the sweep: its moments, and what the server's clocks showed at each of them."""

from typing import Final, NamedTuple

from planner.core.logs.record import Mark, Task

# A progress line is printed just after the pass it tells of.
PRINTED_LATE_S: Final = 0.01
MAX_PASSES: Final = 1_024
# A prompt that is read in less than this holds nobody up.
NOTICED_S: Final = 0.25
# Stretches beside prompts that are kept of one answer.
MAX_PAIRS: Final = 256


class Pair(NamedTuple):
    """A stretch of an answer beside the prompt of task `reader`: `tokens` of it were read in `read_s` altogether, and `passes` ended meanwhile.

    `streams` answers were under way; `sure` says that the size of a pass is printed.
    """

    start_s: float
    end_s: float
    passes: int
    streams: int
    reader: int
    tokens: int
    read_s: float
    long: bool
    sure: bool


class Life:
    """`began`, `first` and `last` are the starts of prefill and generation and the last known token, which is number `tokens`.

    A task is `answered` where its summary tells them; else its progress lines do, as far as they go: `reads` and `generates` say
    which stretches are known. `at_*` hold the clocks' readings at each moment, `marked_*` the last known count of its tokens.
    `sent` is when the request came, as far as that is known or likely; `stalled_s` and `stalled_tokens` add up what it generated beside prefills of others, `clean_*` what it did otherwise than beside long ones.
    `pairs` are its stretches beside single prompts, `free` those in which it went on as if nobody read.
    """

    __slots__ = (
        "answered", "at_began", "at_first", "at_launch", "at_mark", "began", "clean_s", "clean_tokens", "ends", "first", "free", "generates", "last", "launched", "long",
        "marked_s", "marked_tokens", "pairs", "pause_s", "read_marks", "reads", "sent", "stalled_s", "stalled_tokens", "stalls", "task", "tokens",
    )  # fmt: skip

    def __init__(self, task: Task, launched: float, ends: float, *, long_prefill: int) -> None:
        self.task = task
        self.launched = launched
        self.read_marks = _read_marks(task) if task.marks else ()
        started, first = task.started_s, task.first_token_s
        if started is not None and first is not None and task.summary_s is not None:
            self.answered = self.reads = self.generates = True
            self.began = max(launched, started)
            self.first = max(self.began, first)
            self.last = max(self.first, task.summary_s)
            self.tokens = task.output_tokens or 0
        else:
            self.answered = False
            self._from_marks(task, ends)
        self.ends = max(ends, self.last)
        self.long = self.reads and (task.computed_tokens or _read_tokens(task) or 0) >= long_prefill
        self.marked_tokens = 1
        self.marked_s = self.first
        self.stalled_s = self.pause_s = self.clean_s = 0.0
        self.stalled_tokens = self.clean_tokens = 0
        self.sent = launched
        self.stalls: list[tuple[float, float]] = []
        self.pairs: list[Pair] = []
        self.free: list[tuple[float, float]] = []
        self.at_launch = self.at_began = self.at_first = self.at_mark = NOWHERE

    def _from_marks(self, task: Task, ends: float) -> None:
        """A task that was cut off: it read its prompt as long as it said so, and generated up to its last such line."""
        read = [mark for mark in task.marks if mark.prefill]
        generated = [mark for mark in task.marks if not mark.prefill]
        self.reads, self.generates = bool(read), bool(generated)
        self.began = self.launched
        self.last = max(self.began, generated[-1].at_s) if generated else ends
        self.tokens = generated[-1].tokens if generated else 0
        # Between the last line of the prompt and the first of the answer nothing says when it began.
        self.first = max(self.began, read[-1].at_s if generated else ends) if read else self.began

    @property
    def held_up(self) -> bool:
        """Whether its prompt took long enough for anyone beside it to notice."""
        return self.reads and (self.long or self.first - self.began >= NOTICED_S)

    def pass_ends(self, step: int, most: int = MAX_PASSES) -> list[float]:
        """When each pass of its prefill ended, the last one included; beyond `most` of them, one from each progress line to the next.

        A progress line stands between two passes; where some are missing (none is printed in the first three seconds), the
        passes between two known moments are `step` tokens each, and take equally long.
        Source: llama.cpp b11434 tools/server/server-context.cpp, print_timings_pp and update_slots.
        """
        tokens = self.task.computed_tokens or _read_tokens(self.task) or 1
        known = [(mark.at_s, mark.tokens) for mark in self.read_marks if mark.tokens < tokens]
        ends: list[float] = []
        before_s, before = self.began, 0
        for at_s, done in (*known, (self.first, tokens)):
            count = max(1, min(most - len(ends), -(-(done - before) // step))) if done > before else 0
            # A remainder of a few tokens is the streams' share of the batch, no pass of its own.
            if count > 1 and done - before - (count - 1) * step < step // 50:
                count -= 1
            width = max(0.0, at_s - before_s) / count if count else 0.0
            late = min(PRINTED_LATE_S, width / 5)
            ends.extend(before_s + width * (number + 1) - late for number in range(count))
            before_s, before = max(before_s, at_s), max(before, done)
        return ends


def _read_marks(task: Task) -> tuple[Mark, ...]:
    """The prompt's progress lines, each count of tokens once."""
    return tuple(reversed({mark.tokens: mark for mark in reversed(task.marks) if mark.prefill}.values()))


def _read_tokens(task: Task) -> int | None:
    return max((mark.tokens for mark in task.marks if mark.prefill), default=None)


class Clocks:
    """Readings of the server's clocks at one moment, all seconds or tokens since the log began.

    `reading` somebody's prompt is read, `reading_two` two or more, `reading_long` a long one; `clean` somebody generates and
    nobody reads; over the clean time `streams` sums those who generate and `context` the tokens they attend to;
    `two` two or more tasks are in flight. `passes` counts ends of passes with prompts, `long_passes` those of long ones.
    """

    __slots__ = ("clean", "context", "long_passes", "passes", "reading", "reading_long", "reading_two", "streams", "two")

    def __init__(self) -> None:
        self.reading = self.reading_two = self.reading_long = self.clean = self.streams = self.context = self.two = 0.0
        self.passes = self.long_passes = 0

    def copy(self) -> "Clocks":
        twin = Clocks.__new__(Clocks)
        twin.reading, twin.reading_two, twin.reading_long = self.reading, self.reading_two, self.reading_long
        twin.clean, twin.streams, twin.context, twin.two = self.clean, self.streams, self.context, self.two
        twin.passes, twin.long_passes = self.passes, self.long_passes
        return twin


NOWHERE: Final = Clocks()
