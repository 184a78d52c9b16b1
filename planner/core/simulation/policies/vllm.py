"""vLLM's scheduler: a token budget per step, a paged cache that keeps prefixes, and preemption when it is full.

Source: vLLM 0.33 vllm/v1/core/sched/scheduler.py (schedule), vllm/v1/core/kv_cache_manager.py (allocate_slots).
"""

from collections import deque
from collections.abc import Sequence as Many
from typing import Final

from planner.core.simulation.policy import Chunk, Policy
from planner.core.simulation.scheduler import Scheduler
from planner.core.simulation.sequence import Sequence

_UNBOUNDED: Final = 2**62


class Vllm(Policy):
    """Running requests come first, a token or a chunk each; waiting ones are admitted in order while the budget lasts.

    One is admitted only if blocks for its whole prompt are free (`scheduler_reserve_full_isl`), beyond the watermark. When a
    running request needs a block and none is left, the last admitted loses all of its own and goes to the front of the queue.
    The cache of a finished or preempted request stays until its blocks are needed: the longest unused conversation goes first,
    and its end before its beginning. Tokens that all prompts share are held once, for good.
    """

    name = "vllm"
    title = "vLLM"

    def __init__(self, scheduler: Scheduler, *, kinds: int, shared_tokens: int = 0) -> None:
        super().__init__(scheduler, kinds=kinds, shared_tokens=shared_tokens)
        self._block = scheduler.block_tokens
        self._shared_blocks = shared_tokens // self._block if scheduler.prefix_cache else 0
        self._shared_computed = False
        whole = _UNBOUNDED if scheduler.cache_tokens is None else scheduler.cache_tokens // self._block
        self._pool = whole - self._shared_blocks
        self._reserve = 0 if scheduler.cache_tokens is None else int(scheduler.watermark * whole)
        self._used = 0
        self._running: dict[Sequence, None] = {}
        # Of those that generate: how many have their next block due at each step, counted modulo the block.
        self._due = [0] * self._block
        # Blocks of conversations that nobody is in, the longest unused first.
        self._kept: dict[tuple[int, int], int] = {}
        self._kept_blocks = 0
        self.watches = scheduler.cache_tokens is not None

    def compose(self, queue: deque[Sequence]) -> Many[Chunk]:
        before = self.preempted
        chunks = self._running_chunks()
        while self._needed(chunks) > self._pool - self._used:
            self._preempt(queue)
            chunks = self._running_chunks()
        for sequence, tokens in chunks:
            self._used += self._blocks(sequence.computed + tokens) - self._blocks(sequence.computed)
        if self.preempted == before:
            self._admit_waiting(queue, chunks)
        return chunks

    def _running_chunks(self) -> list[Chunk]:
        room = self.scheduler.batch_tokens - self.active.size
        chunks = []
        for sequence in self.prompts:
            tokens = min(sequence.goal - sequence.computed, room)
            if tokens <= 0:
                break
            chunks.append((sequence, tokens))
            room -= tokens
        return chunks

    def _admit_waiting(self, queue: deque[Sequence], chunks: list[Chunk]) -> None:
        room = self.scheduler.batch_tokens - self.active.size - sum(tokens for _, tokens in chunks)
        while queue and room > 0 and self.free:
            sequence = queue[0]
            free = self._pool - self._used - self._growing()
            if self._blocks(sequence.goal) > free - self._reserve and self._running:
                return
            self.admit(queue.popleft())
            tokens = min(sequence.goal - sequence.computed, room)
            self._used += self._blocks(sequence.computed + tokens)
            self._shared_computed = self._shared_computed or sequence.computed + tokens >= self.shared_tokens
            chunks.append((sequence, tokens))
            room -= tokens

    def admit(self, sequence: Sequence) -> None:
        self.free -= 1
        self._running[sequence] = None
        self.prompts.append(sequence)
        found = self._find(sequence)
        first = not sequence.preemptions
        self.recomputed += max(0, sequence.dropped - found)
        sequence.computed = found
        if first:
            sequence.cached = found

    def _find(self, sequence: Sequence) -> int:
        """Tokens of the prompt in the cache: whole blocks of its own conversation, else what everybody shares."""
        if not self.scheduler.prefix_cache:
            return 0
        self._evict(self._growing())
        own = self._kept.pop((sequence.conversation, sequence.adapter), 0)
        self._kept_blocks -= own
        if sequence.given_cached is not None and not sequence.preemptions:
            return sequence.given_cached
        known = sequence.goal if sequence.preemptions else sequence.history
        blocks = min(own + self._shared_blocks, known // self._block) if own else 0
        if self._shared_computed:
            blocks = max(blocks, self._shared_blocks)
        return min(blocks, (sequence.goal - 1) // self._block) * self._block

    def _blocks(self, tokens: int) -> int:
        """Blocks of its own that a sequence of `tokens` tokens holds."""
        return max(0, -(-tokens // self._block) - self._shared_blocks)

    def _needed(self, chunks: Many[Chunk]) -> int:
        """Blocks that the coming step takes."""
        return self._growing() + sum(self._blocks(s.computed + tokens) - self._blocks(s.computed) for s, tokens in chunks)

    def _growing(self) -> int:
        """Blocks that those who generate take in the coming step."""
        return self._due[-self.active.steps % self._block]

    def _evict(self, coming: int = 0) -> None:
        """Drops kept blocks that have been taken by now, or are by the `coming` ones.

        Between two calls nothing is given back, so late is as good as at once.
        """
        while (over := self._used + coming + self._kept_blocks - self._pool) > 0:
            oldest = next(iter(self._kept))
            gone = min(over, self._kept[oldest])
            self._kept_blocks -= gone
            if gone == self._kept[oldest]:
                del self._kept[oldest]
            else:
                self._kept[oldest] -= gone

    def _give_back(self, sequence: Sequence) -> None:
        """The blocks of a sequence become free; whole ones keep their contents as long as nobody needs them."""
        self._evict()
        self._used -= self._blocks(sequence.computed)
        del self._running[sequence]
        self.free += 1
        whole = sequence.computed // self._block - self._shared_blocks
        if self.scheduler.prefix_cache and whole > 0:
            key = sequence.conversation, sequence.adapter
            self._kept_blocks += whole - self._kept.pop(key, 0)
            self._kept[key] = whole

    def _preempt(self, queue: deque[Sequence]) -> None:
        sequence = next(reversed(self._running))
        if sequence.finish_step >= 0:
            self.retire(sequence)
            sequence.last_token_s = self.active.last_s
            sequence.goal = sequence.prompt + sequence.produced
        else:
            self.prompts.remove(sequence)
        self._give_back(sequence)
        self.preempted += 1
        sequence.preemptions += 1
        sequence.dropped = max(sequence.dropped, sequence.computed)
        sequence.computed = 0
        queue.appendleft(sequence)

    def generates(self, sequence: Sequence) -> None:
        super().generates(sequence)
        self._due[(sequence.computed - self.active.steps) % self._block] += 1

    def retire(self, sequence: Sequence) -> None:
        super().retire(sequence)
        self._due[(sequence.computed - self.active.steps) % self._block] -= 1

    def release(self, sequence: Sequence, /) -> None:
        self._give_back(sequence)

    def steps_within_memory(self, steps: int) -> int:
        free = self._pool - self._used
        size = self.active.size
        if size * -(-steps // self._block) <= free:
            return steps
        rounds = min(free // size, steps // self._block)
        free -= rounds * size
        for step in range(self._block):
            free -= self._due[-(self.active.steps + step) % self._block]
            if free < 0:
                return min(steps, rounds * self._block + step)
        return min(steps, (rounds + 1) * self._block)

    def grow(self, steps: int) -> None:
        rounds, rest = divmod(steps, self._block)
        self._used += rounds * self.active.size
        for step in range(rest):
            self._used += self._due[-(self.active.steps + step) % self._block]


POLICY = Vllm
