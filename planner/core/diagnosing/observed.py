"""Everything that is added up while the sweep goes over a log: what was measured, before any speed is known."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from planner.core import units
from planner.core.diagnosing.batch import Beside, Mixed
from planner.core.diagnosing.diagnosis import Cause, GenerationRate, Lane, Stall
from planner.core.diagnosing.gathering import Thinned, Values, Worst
from planner.core.diagnosing.groups import Groups
from planner.core.diagnosing.life import Clocks, Life, Pair
from planner.core.diagnosing.own import OwnWork
from planner.core.diagnosing.sample import Sampled, Stretch
from planner.core.diagnosing.speeds import POINTS, ReadPoint, StepPoint
from planner.core.logs.record import Task

# A wait between slot and first pass that is shorter than this is the server's own business.
WAIT_LEAST_S: Final = 0.05
# A gap between tokens is a pause for the reader from here on, and only where it stands out.
PAUSE_LEAST_S: Final = 0.5
PAUSE_FACTOR: Final = 4.0
# Fewer tokens of an answer say nothing about its speed.
_FEW: Final = 4
# Bounds of the passes whose speeds are told apart.
BATCHES: Final = (64, 256, 512, 1_024, 2_048, 4_096)
# A prompt is read again where less than this share of it was found in the cache, and it is worth mentioning from this many tokens on.
_FOUND: Final = 0.1
REREAD_LEAST: Final = 512
_HISTORIES: Final = 64
_STALLS_SHOWN: Final = 20
# A pass with so much of the batch from one prompt has next to nothing of another.
_FILLED: Final = 0.9
# Where an answer's tokens took no more than so many times as long as usual, nothing held it up.
_UNDISTURBED: Final = 1.5


class Observed:
    """A `Watcher` of the sweep. `sent_s` tells when the application sent a task, where its calls are known."""

    def __init__(self, *, step: Callable[[], int], sent_s: Callable[[Task], float | None]) -> None:
        self._step = step
        self._sent_s = sent_s
        self.ttft, self.wait, self.itl = Values(), Values(), Values()
        self.own = OwnWork()
        self.groups = Groups()
        self.stretch = Stretch()
        self.read_alone: Thinned[ReadPoint] = Thinned(POINTS)
        self.read_beside: Thinned[ReadPoint] = Thinned(POINTS)
        self.steps_exact: Thinned[StepPoint] = Thinned(POINTS)
        self.steps_beside: Thinned[StepPoint] = Thinned(POINTS)
        self.batches: dict[int, list[float]] = {}
        self.stalls, self.overlaps = Worst(), Worst()
        self.mixed: Thinned[Mixed] = Thinned(POINTS)
        self.longest_stalling_prompt = 0
        self._during, self._otherwise = Values(), Values()
        self._during_sums, self._otherwise_sums = [0.0, 0.0], [0.0, 0.0]
        self.waits: dict[Cause, Worst] = {cause: Worst() for cause in ("other_adapter", "same_adapter", "slots_full", "nothing")}
        self.waited_at_all = 0
        self.rereads = Worst()
        self.reread_tokens = 0
        self._histories: list[int] = []
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
        seconds = life.began - life.launched
        if seconds < WAIT_LEAST_S:
            self.wait.add(0.0)
            return
        self.wait.add(seconds)
        cause: Cause = "nothing"
        # Prompts of the same adapter join every pass that has room: who waits while others only generate waits for their adapter.
        if behind_streams_s > max(WAIT_LEAST_S, 2 * (self.typical_gap_s or 0.0)) or (
            alone and behind_prefill_s + behind_streams_s > seconds / 2
        ):
            cause = "other_adapter"
        elif behind_prefill_s > seconds / 2:
            cause = "same_adapter"
        text = f"Task {life.task.number} had its slot and waited {units.seconds(seconds)} for its first pass."
        self.waits[cause].add(at_s=life.launched, task=life.task.number, seconds=seconds, text=text)

    def queued(self, life: Life, *, full_s: float) -> None:
        # It came somewhere between the moment the last slot was taken and the one it was given.
        life.sent = life.launched - full_s / 2
        text = f"Task {life.task.number} got the slot that came free after all had been busy for {units.seconds(full_s)}."
        self.waits["slots_full"].add(at_s=life.launched, task=life.task.number, seconds=full_s, text=text)

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
                points.offer(ReadPoint(done - before + streams * passes, middle, at_s - before_s, passes))
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
        if tokens >= _FEW and span > 0:
            points = self.steps_exact if exact else self.steps_beside
            points.offer(StepPoint(tokens, seconds, (clocks.streams - since.streams) / span, (clocks.context - since.context) / span))

    def ended(self, life: Life, clocks: Clocks) -> None:
        task = life.task
        sent = self._sent_s(task)
        if sent is not None:
            life.sent = min(sent, life.launched)
        self._beside_prompts(life, clocks)
        self._stood_still(life)
        again = life.answered and self._reread(life)
        self.stretch.add(_sampled(life, task, self.typical_gap_s, reread=again), life.ends - life.launched)
        if not life.answered:
            self.cut_s += life.ends - life.launched
            return
        self.own.add(task, waited_s=life.began - life.launched)
        self.groups.add(life, clocks)
        self.ttft.add(life.first - (life.launched if sent is None else life.sent))

    def _beside_prompts(self, life: Life, clocks: Clocks) -> None:
        """Its stretches beside prompts, one by one; those in which it went on undisturbed are none."""
        held = [pair for pair in life.pairs if not any(start <= pair.start_s < end for start, end in life.free)]
        unsure = []
        for pair in held:
            seconds = pair.end_s - pair.start_s
            if pair.sure and pair.long:
                self._during_one(pair.passes, seconds)
            elif not pair.sure:
                share = min(1.0, seconds / max(1e-9, pair.read_s))
                unsure.append(Beside(share * pair.tokens, seconds, pair.streams, pair.long))
            if self._pauses(seconds / max(1, pair.passes)) and life.generates:
                self._overlap(life, pair, seconds)
        if unsure and life.answered:
            self.mixed.offer(_mixed(life, clocks, unsure, others=sum(pair.passes for pair in held)))

    def _during_one(self, passes: int, seconds: float) -> None:
        self._during.add(passes / seconds)
        self._during_sums[0] += passes
        self._during_sums[1] += seconds

    def _overlap(self, life: Life, pair: Pair, seconds: float) -> None:
        self.longest_stalling_prompt = max(self.longest_stalling_prompt, pair.tokens)
        self.overlaps.add(
            at_s=pair.start_s,
            task=life.task.number,
            seconds=seconds,
            text=f"Task {life.task.number} got {units.counted(pair.passes, 'token')} in {units.seconds(seconds)} while {pair.tokens:,} prompt tokens "
            f"of task {pair.reader} were read.",
        )
        if len(life.stalls) < _STALLS_SHOWN:
            life.stalls.append((pair.start_s, pair.end_s))

    def settle(self, batch: int) -> None:
        """The batch is known as well as it ever will be: what was generated in passes of unknown size is counted by it."""
        for answer in self.mixed.items:
            for beside in answer.beside:
                if beside.long:
                    self._during_one(beside.passes(batch), beside.seconds)

    def _stood_still(self, life: Life) -> None:
        task = life.task
        if life.clean_s > 0 and life.clean_tokens >= _FEW:
            self._otherwise.add(life.clean_tokens / life.clean_s)
            self._otherwise_sums[0] += life.clean_tokens
            self._otherwise_sums[1] += life.clean_s
        if life.stalled_s > 0:
            text = f"Task {task.number} stood still for {units.seconds(life.stalled_s)} of its {units.seconds(life.last - life.first)}."
            self.stalls.add(at_s=life.first, task=task.number, seconds=life.stalled_s, text=text)

    def _reread(self, life: Life) -> bool:
        """Whether a conversation that had been here before was read from its beginning: an earlier one ended about where it stands."""
        task = life.task
        prompt, cached = task.prompt_tokens or 0, task.cached_tokens or 0
        again = prompt >= REREAD_LEAST and cached < _FOUND * prompt and any(prompt / 2 <= told <= prompt * 1.02 for told in self._histories)
        if again:
            self.reread_tokens += prompt - cached
            self.rereads.add(
                at_s=life.launched,
                task=task.number,
                seconds=life.first - life.began,
                text=f"Task {task.number} read {prompt - cached:,} of {prompt:,} prompt tokens in {units.seconds(life.first - life.began)}.",
            )
        if prompt:
            self._histories.append(prompt + (task.output_tokens or 1) - 1)
            del self._histories[:-_HISTORIES]
        return again

    def during(self) -> GenerationRate:
        return _rate(self._during, self._during_sums)

    def otherwise(self) -> GenerationRate:
        return _rate(self._otherwise, self._otherwise_sums)


def _mixed(life: Life, clocks: Clocks, unsure: list[Beside], *, others: int) -> Mixed:
    """`others` of the passes that ended while it generated are those of its stretches; the rest were short prompts' own."""
    since = life.at_first
    span = max(clocks.clean - since.clean, 1e-9)
    reading = min(life.last - life.first, clocks.reading - since.reading)
    return Mixed(
        steps=life.tokens - 1,
        clean_s=life.last - life.first - reading,
        streams=(clocks.streams - since.streams) / span,
        context=(clocks.context - since.context) / span,
        short=max(0, clocks.passes - since.passes - others),
        beside=tuple(unsure),
    )


def _rate(values: Values, sums: list[float]) -> GenerationRate:
    return GenerationRate(values.median, sums[0] / sums[1] if sums[1] else None, values.count)


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
