"""The event loop: from one pass with prompts, finish or arrival to the next. What lies between is one closed form."""

import math
from collections import deque
from collections.abc import Sequence as Many
from typing import Final

from planner.core.errors import InputError
from planner.core.simulation.cost import PassCost
from planner.core.simulation.decoding import run_seconds, steps_to_reach
from planner.core.simulation.policy import Chunk, Policy
from planner.core.simulation.results import Run, Tally, together
from planner.core.simulation.sequence import NEVER, Sequence
from planner.core.simulation.traffic import Source

# Closer than this, two moments are one: sums of many steps and one product round differently.
SAME_MOMENT_S: Final = 1e-9
# More passes, runs and arrivals than this are refused: about ten seconds of computing.
MAX_EVENTS: Final = 3_000_000
# A prefill of this many tokens makes others wait; a turn of fewer new tokens than the second is a short one.
LONG_PREFILL: Final = 5_000
SHORT_TURN: Final = 1_000


class Loop:
    """One run. `now_s` is the end of the last pass, or the moment of the arrival that ended an idle stretch."""

    def __init__(self, policy: Policy, cost: PassCost, source: Source, kinds: tuple[str, ...], *, max_events: int = MAX_EVENTS) -> None:
        self._policy = policy
        self._cost = cost
        self._source = source
        self._queue: deque[Sequence] = deque()
        self._tallies = [Tally(name) for name in kinds]
        self._beside = Tally("beside a long prefill")
        self._now = self._idle = self._served = 0.0
        self._long_until = NEVER
        self._prompt = self._cached = self._computed = self._output = self._steps = self._longest_queue = 0
        self._events_left = self._most_events = max_events

    def run(self) -> Run:
        """Until everything sent has been answered. Raises InputError where that takes too many events."""
        policy, source, queue = self._policy, self._source, self._queue
        while True:
            self._count_event()
            if source.next_s <= self._now + SAME_MOMENT_S:
                self._take_arrivals()
            chunks = policy.compose(queue) if queue or policy.prompts or policy.watches else ()
            if policy.lost:
                self._give_up()
            elif chunks or (policy.pass_by_pass and policy.active.size):
                self._pass(chunks)
            elif policy.active.size:
                self._decode()
            elif source.next_s < math.inf:
                self._idle += source.next_s - self._now
                self._now = source.next_s
            else:
                return self._result()

    def _count_event(self) -> None:
        self._events_left -= 1
        if self._events_left < 0:
            raise InputError("This takes too long to simulate: choose a shorter time, fewer users or a larger batch.", field="duration")

    def _take_arrivals(self) -> None:
        """Requests that have come by now join the queue, or are refused where it is full or they are too long."""
        source, queue, policy = self._source, self._queue, self._policy
        longest = policy.scheduler.max_queue
        while source.next_s <= self._now + SAME_MOMENT_S:
            self._count_event()
            sequence = source.take()
            if policy.refuses(sequence) or (longest is not None and len(queue) - policy.free >= longest):
                self._tallies[sequence.kind].rejected += 1
                source.done(sequence, sequence.arrival_s, refused=True)
                continue
            queue.append(sequence)
        self._longest_queue = max(self._longest_queue, len(queue) - policy.free)

    def _pass(self, chunks: Many[Chunk]) -> None:
        """One pass with prompt tokens in it: everyone who generates gets a token when all of it is done."""
        policy, group = self._policy, self._policy.active
        tokens, pairs = policy.load(chunks)
        seconds = policy.switch_seconds() + self._cost.pass_seconds(
            sequences=group.width,
            cached_tokens=group.cached_tokens,
            prompt_tokens=tokens,
            attended=pairs,
            micro_batch_tokens=policy.scheduler.micro_batch_tokens,
        )
        start, self._now = self._now, self._now + seconds
        self._steps += 1
        for sequence, count in chunks:
            self._computed += count
            sequence.computed += count
            if sequence.started_s == NEVER:
                sequence.started_s = start
            if sequence.goal - sequence.cached >= LONG_PREFILL:
                self._long_until = self._now
        if self._source.next_s <= self._now + SAME_MOMENT_S:
            self._take_arrivals()
        if group.size:
            gap = self._now - group.last_s
            if policy.watches:
                policy.grow(1)
            self._record_gaps(gap, 1)
            group.advance(1, gap)
        else:
            group.steps += 1
        group.last_s = self._now
        for sequence in group.finished():
            self._finish(sequence)
        for sequence, _ in chunks:
            if sequence.computed == sequence.goal:
                self._deliver(sequence)

    def _decode(self) -> None:
        """Decode steps up to the next finish, the next arrival that could start at once, or the last the cache has room for."""
        policy, group, now = self._policy, self._policy.active, self._now
        first = self._cost.pass_seconds(
            sequences=group.width,
            cached_tokens=group.cached_tokens,
            prompt_tokens=0,
            attended=0.0,
            micro_batch_tokens=policy.scheduler.micro_batch_tokens,
        )
        growth = self._cost.cached_token_s * group.width
        steps = group.next_finish()
        if policy.watches:
            steps = policy.steps_within_memory(steps)
        if policy.free and not self._queue and self._source.next_s < math.inf:
            pause = self._source.next_s - now - SAME_MOMENT_S
            if pause < run_seconds(steps, first=first, growth=growth):
                steps = steps_to_reach(pause, first=first, growth=growth)
        self._now = now + run_seconds(steps, first=first, growth=growth)
        self._steps += steps
        if self._source.next_s <= self._now + SAME_MOMENT_S:
            self._take_arrivals()
        if policy.watches:
            policy.grow(steps)
        longest = first + growth * (steps - 1)
        late = now - group.last_s
        if late > 0.0:
            # Others had the machine since their last token.
            self._record_gaps(late + first, 1)
            longest = max(longest, late + first)
            if steps > 1:
                self._record_gaps(first + growth, steps - 1, growth)
        else:
            self._record_gaps(first, steps, growth)
        group.advance(steps, longest)
        group.last_s = self._now
        for sequence in group.finished():
            self._finish(sequence)

    def _record_gaps(self, first: float, steps: int, growth: float = 0.0) -> None:
        """Everyone who generates met `steps` gaps, the first of `first` seconds and each next one `growth` longer."""
        for index, size in enumerate(self._policy.active.kinds):
            if size:
                self._tallies[index].gaps.add_run(first, growth, steps, size)

    def _deliver(self, sequence: Sequence) -> None:
        """The prompt is read: its last pass gives the next token."""
        now, tally = self._now, self._tallies[sequence.kind]
        sequence.produced += 1
        if sequence.first_token_s == NEVER:
            sequence.first_token_s = now
            self._greet(sequence, tally)
            if sequence.prompt - sequence.cached < SHORT_TURN and self._long_until > sequence.arrival_s:
                self._greet(sequence, self._beside)
        else:
            gap = now - sequence.last_token_s
            tally.gaps.add(gap, 1)
            sequence.pause_s = max(sequence.pause_s, gap)
        if sequence.produced < sequence.output:
            self._policy.generates(sequence)
        else:
            self._policy.prompts.remove(sequence)
            self._complete(sequence)

    def _greet(self, sequence: Sequence, tally: Tally) -> None:
        tally.ttfts.append(sequence.first_token_s - sequence.arrival_s)
        tally.waits.append(sequence.started_s - sequence.arrival_s)

    def _finish(self, sequence: Sequence) -> None:
        self._policy.retire(sequence)
        self._complete(sequence)

    def _complete(self, sequence: Sequence) -> None:
        """The reply is whole: its slot is free, and its reader may think."""
        if sequence.output > 1:
            self._tallies[sequence.kind].pauses.append(sequence.pause_s)
        self._prompt += sequence.prompt
        self._cached += sequence.cached
        self._output += sequence.produced
        self._served += self._now - sequence.started_s
        self._policy.release(sequence)
        self._source.done(sequence, self._now, refused=False)

    def _give_up(self) -> None:
        """The server lost these: their readers hear of it now."""
        for sequence in self._policy.lost:
            self._tallies[sequence.kind].failed += 1
            self._output += sequence.produced
            self._source.done(sequence, self._now, refused=True)
        self._policy.lost.clear()

    def _result(self) -> Run:
        end = self._now
        return Run(
            everyone=together(self._tallies).felt(),
            kinds=tuple(tally.felt() for tally in self._tallies),
            beside=self._beside.felt(),
            prompt_tokens=self._prompt,
            cached_tokens=self._cached,
            computed_tokens=self._computed,
            recomputed_tokens=self._policy.recomputed,
            output_tokens=self._output,
            preempted=self._policy.preempted,
            steps=self._steps,
            events=self._most_events - self._events_left,
            end_s=end,
            utilization=(end - self._idle) / end if end else 0.0,
            slots_busy=self._served / end if end else 0.0,
            longest_queue=max(0, self._longest_queue),
        )
