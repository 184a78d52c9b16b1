"""The log's own requests sent again, at their times, to a simulated server with the fitted speeds: what another setting would do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from planner.core.diagnosing.diagnosis import Effect
from planner.core.diagnosing.following import Following, Recorded
from planner.core.diagnosing.sample import Sampled
from planner.core.errors import InputError
from planner.core.simulation import PassCost, Run, Scheduler, replay
from planner.core.simulation.sequence import Sequence as Turn

# More than this is not worth waiting for.
MAX_EVENTS: Final = 250_000
# A replay is never closer than this to what a server does.
LEAST_ERROR: Final = 0.1
_KINDS: Final = ("alone", "beside a prefill")
_DAY_S: Final = 86_400.0
# Of a conversation that comes back so much is history.
_REMEMBERED: Final = 0.95


@dataclass(frozen=True, slots=True)
class Outcome:
    """One replay. `seconds` are those of all turns together from arrival to last token; pauses in mid-answer of streams beside prefills."""

    run: Run
    seconds: float

    @property
    def pause(self) -> float | None:
        felt = self.run.kinds[1].pause
        return None if felt is None else felt.p50

    @property
    def gaps(self) -> float | None:
        felt = self.run.kinds[1].itl
        return None if felt is None else felt.max


@dataclass(frozen=True)
class Replayer:
    """`tasks` of one stretch of the log. `scale` is how many times as many seconds of tasks the whole log has, `span_s` its time."""

    tasks: Sequence[Sampled]
    cost: PassCost
    scheduler: Scheduler
    scale: float
    span_s: float

    @cached_property
    def base(self) -> Outcome | None:
        """The settings as they were."""
        return self.run()

    @cached_property
    def measured_s(self) -> float:
        return sum(task.lane.ended_s - task.sent_s for task in self.tasks if task.timed)

    @property
    def error(self) -> float:
        """How far the replay of the old settings lies from what was measured, as a share; at least `LEAST_ERROR`."""
        base = self.base
        if base is None or not self.measured_s:
            return 1.0
        return max(LEAST_ERROR, min(1.0, abs(base.seconds / self.measured_s - 1.0)))

    def run(
        self,
        change: Callable[[Scheduler], Scheduler] | None = None,
        prompt: Callable[[int], int] | None = None,
        *,
        remembered: bool = False,
    ) -> Outcome | None:
        """The stretch under a changed setting, with other prompts, or with everything that was read again still in the cache.

        None where that takes too long or cannot be.
        """
        try:
            scheduler = change(self.scheduler) if change else self.scheduler
            turns = self._turns(prompt or (lambda tokens: tokens), remembered=remembered)
            result = replay(scheduler, self.cost, Following(turns), kinds=_KINDS, max_events=MAX_EVENTS)
        except InputError:
            return None
        wait = result.everyone.wait
        waited = wait.mean * wait.count if wait else 0.0
        return Outcome(result, result.slots_busy * result.end_s + waited)

    def _turns(self, prompt: Callable[[int], int], *, remembered: bool) -> list[Recorded]:
        begin = min((task.sent_s for task in self.tasks), default=0.0)
        turns = []
        for number, task in enumerate(self.tasks):
            output = task.lane.output_tokens
            if not (task.timed and output):
                continue
            # A task that was cut off has no count of its prompt; its answer stood still all the same.
            tokens = max(1, prompt(task.lane.prompt_tokens or 1))
            cached = min(round(_REMEMBERED * tokens) if remembered and task.reread else task.cached_tokens, tokens - 1)
            turn = Turn(
                arrival_s=task.sent_s - begin,
                prompt=tokens,
                output=output,
                conversation=number,
                cached_share=(cached + 0.5) / tokens if cached else 0.0,
                kind=int(task.beside),
            )
            turns.append(Recorded(turn, task.sent_s, task.lane.ended_s))
        return turns

    def saved_a_day(self, after: Outcome) -> float:
        """Seconds of all turns together that a day with the changed setting would have less."""
        assert self.base is not None  # noqa: S101 - whoever has an outcome has the base
        saved = (self.base.seconds - after.seconds) / self.base.seconds if self.base.seconds else 0.0
        return self.a_day(saved * self.measured_s)

    def a_day(self, seconds: float) -> float:
        """Seconds in this stretch as those of a day with the whole log's load."""
        return seconds * self.scale * _DAY_S / self.span_s if self.span_s else 0.0

    def pause_effect(self, change: Callable[[Scheduler], Scheduler], words: str) -> Effect | None:
        """What the change does to the pauses in mid-answer."""
        base, after = self.base, self.run(change)
        if base is None or after is None or base.pause is None or after.pause is None:
            return None
        return Effect(
            measure="median longest pause of an answer beside a prefill, s",
            before=base.pause,
            after=after.pause,
            low=after.pause * (1 - self.error),
            high=after.pause * (1 + self.error),
            seconds_a_day=self.saved_a_day(after),
            text=words,
        )


def with_batch(tokens: int) -> Callable[[Scheduler], Scheduler]:
    return lambda scheduler: replace(
        scheduler, batch_tokens=max(tokens, scheduler.slots), micro_batch_tokens=min(scheduler.micro_batch_tokens or tokens, tokens)
    )


def with_slots(slots: int) -> Callable[[Scheduler], Scheduler]:
    return lambda scheduler: replace(scheduler, slots=slots, batch_tokens=max(slots, scheduler.batch_tokens))
