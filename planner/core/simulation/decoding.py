"""Sequences that generate together: one token each per pass, so a run of passes is one closed form for all of them."""

import math
from bisect import bisect_right
from heapq import heapify, heappop, heappush

from planner.core.simulation.sequence import Sequence


class Decoding:
    """The generating sequences of one adapter.

    `steps` counts the passes that gave them a token, `last_s` is when the last one ended, `cached_tokens` what they attend to.
    `width` is how many sequences are computed: more than `size` where a batch carries finished ones to its end.
    """

    __slots__ = ("_gaps", "_serial", "_steps", "cached_tokens", "finishes", "kinds", "last_s", "size", "steps", "width")

    def __init__(self, kinds: int) -> None:
        self.size = self.width = self.cached_tokens = self.steps = 0
        self.last_s = 0.0
        self.kinds = [0] * kinds
        self.finishes: list[tuple[int, int, Sequence]] = []
        self._serial = 0
        self._steps: list[int] = []
        self._gaps: list[float] = []

    def join(self, sequence: Sequence) -> None:
        """A sequence whose prompt is read and whose first token of this stretch has just been delivered."""
        sequence.joined = self.steps
        sequence.finish_step = self.steps + sequence.output - sequence.produced
        self._serial += 1
        heappush(self.finishes, (sequence.finish_step, self._serial, sequence))
        self.size += 1
        self.width += 1
        self.cached_tokens += sequence.computed
        self.kinds[sequence.kind] += 1

    def next_finish(self) -> int:
        """Steps until the first of them is done. Entries of those that left early are stale and dropped here."""
        finishes = self.finishes
        while finishes[0][0] != finishes[0][2].finish_step:
            heappop(finishes)
        return finishes[0][0] - self.steps

    def finished(self) -> list[Sequence]:
        """Those that had their last token in the step just made, in the order in which they joined."""
        done = []
        finishes = self.finishes
        while finishes and finishes[0][0] <= self.steps:
            step, _, sequence = heappop(finishes)
            if step == sequence.finish_step:
                done.append(sequence)
        return done

    def advance(self, steps: int, longest_gap: float) -> None:
        """`steps` passes, the longest of whose gaps was `longest_gap`, gave everyone a token each."""
        self.steps += steps
        self.cached_tokens += self.width * steps
        gaps = self._gaps
        while gaps and gaps[-1] <= longest_gap:
            gaps.pop()
            self._steps.pop()
        gaps.append(longest_gap)
        self._steps.append(self.steps)

    def leave(self, sequence: Sequence, *, keep_width: bool = False) -> None:
        """A sequence is done or preempted: its tokens and its longest gap are written on it."""
        grown = self.steps - sequence.joined
        sequence.computed += grown
        sequence.produced += grown
        if grown:
            # The gaps kept are those that no later one exceeded: the first after it joined is its longest.
            sequence.pause_s = max(sequence.pause_s, self._gaps[bisect_right(self._steps, sequence.joined)])
        sequence.finish_step = -1
        self.size -= 1
        self.kinds[sequence.kind] -= 1
        if not keep_width:
            self.width -= 1
            self.cached_tokens -= sequence.computed
        if not self.size:
            self._gaps.clear()
            self._steps.clear()
        if len(self.finishes) > 2 * self.size + 64:
            self.finishes = [entry for entry in self.finishes if entry[0] == entry[2].finish_step]
            heapify(self.finishes)

    def disband(self) -> None:
        """A batch is over: what was carried to its end goes too."""
        self.width = self.cached_tokens = 0


def steps_to_reach(seconds: float, *, first: float, growth: float) -> int:
    """The fewest steps of `first`, first + growth … seconds that together last `seconds` or longer, at least one.

    steps × first + growth × steps × (steps − 1) / 2 ≥ seconds, solved for steps.
    """
    if seconds <= first:
        return 1
    if growth > 0.0:
        half = first - growth / 2
        steps = math.ceil((math.sqrt(half * half + 2 * growth * seconds) - half) / growth)
    else:
        steps = math.ceil(seconds / first)
    # The root is rounded: one step less or more where it fell on the wrong side.
    if steps > 1 and run_seconds(steps - 1, first=first, growth=growth) >= seconds:
        return steps - 1
    if run_seconds(steps, first=first, growth=growth) < seconds:
        return steps + 1
    return max(1, steps)


def run_seconds(steps: int, *, first: float, growth: float) -> float:
    """How long `steps` steps last, the first of which takes `first` and each next one `growth` longer."""
    return steps * first + growth * (steps * (steps - 1) // 2)
