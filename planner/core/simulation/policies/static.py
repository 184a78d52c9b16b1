"""Static batching: whoever waits when the last batch is complete goes together, and leaves when the longest reply is done."""

from collections import deque
from collections.abc import Sequence as Many

from planner.core.simulation.cost import attended_pairs
from planner.core.simulation.policy import Chunk, Policy
from planner.core.simulation.sequence import Sequence


class Static(Policy):
    """Prompts are padded to the longest and read in one pass; finished replies are computed on to the end of the batch.

    Source of the behaviour: Hugging Face transformers, `generate` with a padded batch.
    """

    name = "static"
    title = "Static batches"
    keeps_finished = True

    def compose(self, queue: deque[Sequence]) -> Many[Chunk]:
        if self.active.width:
            return ()
        while queue and self.free:
            self.admit(queue.popleft())
        return [(sequence, sequence.goal - sequence.computed) for sequence in self.prompts]

    def load(self, chunks: Many[Chunk]) -> tuple[int, float]:
        longest = max((tokens for _, tokens in chunks), default=0)
        before = max((sequence.computed for sequence, _ in chunks), default=0)
        return longest * len(chunks), attended_pairs(before, longest) * len(chunks)

    def release(self, _: Sequence, /) -> None:
        if not self.active.size and not self.prompts:
            self.active.disband()
            self.free = self.scheduler.slots


POLICY = Static
