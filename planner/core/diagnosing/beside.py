"""Answers beside other tasks' prompts: what they got meanwhile, how long they stood still, and what they get otherwise."""

from collections.abc import Callable
from typing import Final

from planner.core import units
from planner.core.diagnosing.batch import Beside, Mixed
from planner.core.diagnosing.diagnosis import GenerationRate
from planner.core.diagnosing.gathering import Thinned, Values, Worst
from planner.core.diagnosing.life import Clocks, Life, Pair
from planner.core.diagnosing.speeds import POINTS

# Fewer tokens of an answer say nothing about its speed.
FEW: Final = 4
_STALLS_SHOWN: Final = 20


class BesidePrompts:
    """`stalls` are answers that stood still, `overlaps` the stretches in which they did, each beside one prompt, of which the longest
    had `longest_prompt` tokens. `mixed` are answers beside prompts whose passes no line shows.
    """

    def __init__(self) -> None:
        self.stalls, self.overlaps = Worst(), Worst()
        self.longest_prompt = 0
        self.mixed: Thinned[Mixed] = Thinned(POINTS)
        self._during, self._otherwise = Values(), Values()
        self._during_sums, self._otherwise_sums = [0.0, 0.0], [0.0, 0.0]

    def ended(self, life: Life, clocks: Clocks, pauses: Callable[[float], bool]) -> None:
        """An answer is over. `pauses` says whether a gap is one that a reader notices."""
        self._prompts(life, clocks, pauses)
        self._stood_still(life)

    def _prompts(self, life: Life, clocks: Clocks, pauses: Callable[[float], bool]) -> None:
        """Its stretches beside prompts, one by one; those in which it went on undisturbed are none."""
        held, free = life.pairs, life.free
        if held and free:
            held = [pair for pair in held if not any(start <= pair.start_s < end for start, end in free)]
        unsure = False
        for pair in held:
            seconds = pair.end_s - pair.start_s
            if not pair.sure:
                unsure = True
            elif pair.long:
                self._during_one(pair.passes, seconds)
            if life.generates and pauses(seconds / max(1, pair.passes)):
                self._overlap(life, pair, seconds)
        if unsure and life.answered:
            self.mixed.offer(lambda: _mixed(life, clocks, held))

    def _during_one(self, passes: int, seconds: float, times: int = 1) -> None:
        self._during.add(passes / seconds, times)
        self._during_sums[0] += passes * times
        self._during_sums[1] += seconds * times

    def _overlap(self, life: Life, pair: Pair, seconds: float) -> None:
        self.longest_prompt = max(self.longest_prompt, pair.tokens)
        self.overlaps.add(
            at_s=pair.start_s,
            task=life.task.number,
            seconds=seconds,
            text=lambda: (
                f"Task {life.task.number} got {units.counted(pair.passes, 'token')} in {units.seconds(seconds)} while {pair.tokens:,} prompt "
                f"tokens of task {pair.reader} were read."
            ),
        )
        if len(life.stalls) < _STALLS_SHOWN:
            life.stalls.append((pair.start_s, pair.end_s))

    def settle(self, batch: int) -> None:
        """The batch is known as well as it ever will be: what was generated in passes of unknown size is counted by it."""
        for answer in self.mixed.items:
            for beside in answer.beside:
                if beside.long:
                    self._during_one(beside.passes(batch), beside.seconds, self.mixed.every)

    def _stood_still(self, life: Life) -> None:
        task = life.task
        if life.clean_s > 0 and life.clean_tokens >= FEW:
            self._otherwise.add(life.clean_tokens / life.clean_s)
            self._otherwise_sums[0] += life.clean_tokens
            self._otherwise_sums[1] += life.clean_s
        if life.stalled_s > 0:
            self.stalls.add(
                at_s=life.first,
                task=task.number,
                seconds=life.stalled_s,
                text=lambda: (
                    f"Task {task.number} stood still for {units.seconds(life.stalled_s)} of its {units.seconds(life.last - life.first)}."
                ),
            )

    def during(self) -> GenerationRate:
        return _rate(self._during, self._during_sums)

    def otherwise(self) -> GenerationRate:
        return _rate(self._otherwise, self._otherwise_sums)


def _mixed(life: Life, clocks: Clocks, held: list[Pair]) -> Mixed:
    """Of the passes that ended while it generated some are those of the stretches `held`; the rest were short prompts' own."""
    others = sum(pair.passes for pair in held)
    since = life.at_first
    span = max(clocks.clean - since.clean, 1e-9)
    reading = min(life.last - life.first, clocks.reading - since.reading)
    return Mixed(
        steps=life.tokens - 1,
        clean_s=life.last - life.first - reading,
        streams=(clocks.streams - since.streams) / span,
        context=(clocks.context - since.context) / span,
        short=max(0, clocks.passes - since.passes - others),
        beside=tuple(_unsure(pair) for pair in held if not pair.sure),
    )


def _unsure(pair: Pair) -> Beside:
    seconds = pair.end_s - pair.start_s
    return Beside(min(1.0, seconds / max(1e-9, pair.read_s)) * pair.tokens, seconds, pair.streams, pair.long)


def _rate(values: Values, sums: list[float]) -> GenerationRate:
    return GenerationRate(values.median, sums[0] / sums[1] if sums[1] else None, values.count)
