"""Everything that is added up while the sweep goes over a log: what was measured, before any speed is known."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from planner.core.diagnosing.beside import FEW, BesidePrompts
from planner.core.diagnosing.diagnosis import Lane, Stall
from planner.core.diagnosing.gathering import Thinned, Values
from planner.core.diagnosing.groups import Groups
from planner.core.diagnosing.life import Clocks, Life
from planner.core.diagnosing.own import OwnWork
from planner.core.diagnosing.rereads import Rereads
from planner.core.diagnosing.sample import Sampled, Stretch
from planner.core.diagnosing.speeds import POINTS, ReadPoint, StepPoint
from planner.core.diagnosing.waits import Waits
from planner.core.logs.record import Task

# A gap between tokens is a pause for the reader from here on, and only where it stands out.
PAUSE_LEAST_S: Final = 0.5
PAUSE_FACTOR: Final = 4.0
# Bounds of the passes whose speeds are told apart.
BATCHES: Final = (64, 256, 512, 1_024, 2_048, 4_096)
# A pass with so much of the batch from one prompt has next to nothing of another.
_FILLED: Final = 0.9
# Where an answer's tokens took no more than so many times as long as usual, nothing held it up.
_UNDISTURBED: Final = 1.5


class Observed:
    """A `Watcher` of the sweep. `sent_s` tells when the application sent a task, where its calls are known."""

    def __init__(self, *, step: Callable[[], int], sent_s: Callable[[Task], float | None]) -> None:
        self._step = step
        self._sent_s = sent_s
        self.ttft, self.itl = Values(), Values()
        self.own = OwnWork()
        self.groups = Groups()
        self.stretch = Stretch()
        self.read_alone: Thinned[ReadPoint] = Thinned(POINTS)
        self.read_beside: Thinned[ReadPoint] = Thinned(POINTS)
        self.steps_exact: Thinned[StepPoint] = Thinned(POINTS)
        self.steps_beside: Thinned[StepPoint] = Thinned(POINTS)
        self.batches: dict[int, list[float]] = {}
        self.beside = BesidePrompts()
        self.waits = Waits()
        self.rereads = Rereads()
        self._clean_s = self._clean_tokens = 0.0
        self.cut_s = 0.0

    @property
    def typical_gap_s(self) -> float | None:
        """Seconds from token to token where nobody's prompt is read, so far."""
        return self._clean_s / self._clean_tokens if self._clean_tokens else None

    def _pauses(self, gap_s: float) -> bool:
        return gap_s >= max(PAUSE_LEAST_S, PAUSE_FACTOR * (self.typical_gap_s or 0.0))

    # The sweep's events.

    def waited(self, life: Life, *, behind_prefill_s: float, behind_streams_s: float, alone: bool) -> None:
        gap = self.typical_gap_s or 0.0
        self.waits.waited(life, behind_prefill_s=behind_prefill_s, behind_streams_s=behind_streams_s, alone=alone, gap_s=gap)

    def queued(self, life: Life, *, full_s: float) -> None:
        self.waits.queued(life, full_s=full_s)

    def read(self, life: Life, clocks: Clocks, streams: int) -> None:
        """Its passes, as far as they were its own: all where no other prompt was read, else those whose batch it filled."""
        seconds = life.first - life.began
        tokens = life.task.computed_tokens or 0
        if not (tokens and seconds > 0 and life.answered):
            return
        alone = clocks.reading_two - life.at_began.reading_two <= seconds / 100
        points = self.read_beside if streams or clocks.clean > life.at_began.clean else self.read_alone
        step = self._step()
        before, before_s = 0, life.began
        for mark in (*life.read_marks, None):
            done, at_s = (mark.tokens, mark.at_s) if mark else (tokens, life.first)
            if not (before < done <= tokens and at_s > before_s):
                continue
            passes = -(-(done - before) // step)
            if alone or done - before >= _FILLED * passes * step:
                middle = (life.task.cached_tokens or 0) + (before + done) / 2
                point = (done - before + streams * passes, middle, at_s - before_s, passes)
                points.offer(lambda point=point: ReadPoint(*point))  # type: ignore[misc]
                self._batch_rate(done - before, at_s - before_s, passes)
            before, before_s = done, at_s

    def _batch_rate(self, tokens: int, seconds: float, passes: int) -> None:
        size = tokens / passes
        bound = bisect_left(BATCHES, size)
        held = self.batches.setdefault(bound, [0.0, 0.0, 0.0])
        held[0] += tokens
        held[1] += seconds
        held[2] += 1

    def generated(self, life: Life, since: Clocks, clocks: Clocks, *, seconds: float, tokens: int) -> None:
        """Of `tokens` tokens each pass with a prompt in it gave one; the others came at the usual pace."""
        if seconds <= 0:
            self.itl.add(0.0, tokens)
            return
        typical = self.typical_gap_s
        beside_s = min(seconds, clocks.reading - since.reading)
        passes = min(tokens, clocks.passes - since.passes) if beside_s > seconds / 50 else 0
        if not passes and beside_s > seconds / 2 and typical and seconds <= _UNDISTURBED * tokens * typical:
            life.free.append((life.marked_s, life.marked_s + seconds))
        clean_s, clean = seconds - (beside_s if passes else 0.0), tokens - passes
        if passes and clean and clean_s < 0.3 * clean * (typical or clean_s / clean):
            if typical and seconds > _UNDISTURBED * tokens * typical:
                # More tokens came than passes are known: the prompt was read in smaller ones.
                clean = min(clean, int(clean_s / typical))
                passes = tokens - clean
            else:
                # The prompt waited in the middle, for another adapter's answers to end.
                life.free.append((life.marked_s, life.marked_s + seconds))
                passes, clean, clean_s = 0, tokens, seconds
        if passes and not clean:
            beside_s, clean_s = seconds, 0.0
        if passes:
            self._beside(life, beside_s, passes, typical)
        if clean:
            self._clean(life, since, clocks, clean_s, clean, exact=not passes)
        long_s = min(seconds, clocks.reading_long - since.reading_long) if passes else 0.0
        life.clean_s += seconds - long_s
        life.clean_tokens += tokens - (min(passes, clocks.long_passes - since.long_passes) if long_s else 0)

    def _beside(self, life: Life, seconds: float, passes: int, typical: float | None) -> None:
        gap = seconds / passes
        self.itl.add(gap, passes)
        life.pause_s = max(life.pause_s, gap)
        life.stalled_tokens += passes
        if self._pauses(gap):
            life.stalled_s += seconds - passes * min(gap, typical or 0.0)

    def _clean(self, life: Life, since: Clocks, clocks: Clocks, seconds: float, tokens: int, *, exact: bool) -> None:
        if seconds <= 0:
            self.itl.add(0.0, tokens)
            return
        gap = seconds / tokens
        self.itl.add(gap, tokens)
        life.pause_s = max(life.pause_s, gap)
        self._clean_s += seconds
        self._clean_tokens += tokens
        span = clocks.clean - since.clean
        if tokens >= FEW and span > 0:
            points = self.steps_exact if exact else self.steps_beside
            points.offer(
                lambda: StepPoint(tokens, seconds, (clocks.streams - since.streams) / span, (clocks.context - since.context) / span)
            )

    def ended(self, life: Life, clocks: Clocks) -> None:
        task = life.task
        sent = self._sent_s(task)
        if sent is not None:
            life.sent = min(sent, life.launched)
        self.beside.ended(life, clocks, self._pauses)
        again = life.answered and self.rereads.look(life)
        self.stretch.add(_sampled(life, task, self.typical_gap_s, reread=again), life.ends - life.launched)
        if not life.answered:
            self.cut_s += life.ends - life.launched
            return
        self.own.add(task, waited_s=life.began - life.launched)
        self.groups.add(life, clocks)
        self.ttft.add(life.first - (life.launched if sent is None else life.sent))


def _sampled(life: Life, task: Task, gap_s: float | None, *, reread: bool) -> Sampled:
    # A task that was cut off went on generating after its last progress line.
    more = int((life.ends - life.last) / gap_s) if gap_s and life.tokens and not life.answered else 0
    return Sampled(
        lane=Lane(
            task=task.number,
            slot=task.slot,
            ending=task.ending,
            launched_s=life.launched,
            started_s=life.began,
            first_token_s=life.first,
            ended_s=life.ends,
            prompt_tokens=task.prompt_tokens,
            output_tokens=task.output_tokens or life.tokens + more or None,
            stalls=tuple(Stall(start, end) for start, end in life.stalls),
        ),
        sent_s=life.sent,
        cached_tokens=task.cached_tokens or 0,
        beside=life.stalled_tokens > 0,
        reread=reread,
        timed=life.answered or life.generates,
    )
