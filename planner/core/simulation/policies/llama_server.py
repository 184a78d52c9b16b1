"""llama-server's scheduler: slots, one token of each generating slot per pass, the rest of the pass filled with prompts.

Source: llama.cpp b11434 tools/server/server-context.cpp (get_available_slot, pre_decode, update_slots) and what real runs
of it showed: the number of passes, who waits for whose adapter.
"""

from bisect import insort
from collections import deque
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import ClassVar, Final

from planner.core.simulation.decoding import Decoding
from planner.core.simulation.policy import Chunk, Policy
from planner.core.simulation.scheduler import Scheduler
from planner.core.simulation.sequence import Sequence

# A slot is chosen for what it holds where that is more than this share of the prompt (slot_prompt_similarity), and what it
# holds is saved to main memory first where less than half of it would be kept.
SIMILARITY: Final = 0.1
KEEP: Final = 0.5
# Prompts stop this many tokens, and this many more than a micro-batch, before their end where checkpoints are made.
_CHECKPOINT: Final = 4


@dataclass(slots=True)
class Held:
    """What a slot's cache holds: `tokens` of a conversation computed with an adapter."""

    conversation: int
    adapter: int
    tokens: int

    def common(self, sequence: Sequence, shared_tokens: int) -> int:
        """Tokens at the beginning of the prompt that are here. With another adapter none are: its cache is cleared."""
        if self.adapter != sequence.adapter:
            return 0
        known = sequence.history if self.conversation == sequence.conversation else shared_tokens
        return min(self.tokens, max(known, shared_tokens), sequence.prompt)


class LlamaServer(Policy):
    """First come, first served into idle slots; prompts are read in the order of their slots.

    A request takes the idle slot that holds most of its prompt, else the one unused for longest. Slots with different
    adapters share no pass: while one adapter's slots generate, prompts for another wait, however long. With a unified cache
    idle slots are emptied when it is full, and when that is not enough every running request fails.
    """

    name: ClassVar[str] = "llama-server"
    title: ClassVar[str] = "llama-server"

    def __init__(self, scheduler: Scheduler, *, kinds: int, shared_tokens: int = 0) -> None:
        super().__init__(scheduler, kinds=kinds, shared_tokens=shared_tokens)
        # Unused for longest first; of slots never used the highest number, as b11434 hands them out.
        self._idle: dict[int, None] = dict.fromkeys(reversed(range(scheduler.slots)))
        self._held: list[Held | None] = [None] * scheduler.slots
        self._saved: dict[tuple[int, int], int] = {}
        self._saved_tokens = 0
        self._kinds = kinds
        self._groups: dict[int, Decoding] = {0: self.active}
        self._adapter = 0
        self._loaded: int | None = None
        # None: every slot has its own cells. Else tokens in the slots at work and in the idle ones share the pool.
        self._pool = scheduler.cache_tokens if scheduler.unified else None
        self._busy_tokens = self._idle_tokens = 0
        self.watches = self._pool is not None or scheduler.adapters_take_turns

    def compose(self, queue: deque[Sequence]) -> Many[Chunk]:
        while queue and self.free:
            self.admit(queue.popleft())
        self._choose_adapter()
        chunks = self._chunks()
        if self._pool is not None and self._busy_tokens + self.active.size + sum(tokens for _, tokens in chunks) > self._pool:
            self._fail()
            return ()
        self._busy_tokens += sum(tokens for _, tokens in chunks)
        return chunks

    def _chunks(self) -> list[Chunk]:
        room = self.scheduler.batch_tokens - self.active.size
        chunks = []
        for sequence in self.prompts:
            if room <= 0:
                break
            if sequence.adapter == self._adapter:
                tokens = self._up_to_checkpoint(sequence, min(sequence.goal - sequence.computed, room))
                chunks.append((sequence, tokens))
                room -= tokens
        return chunks

    def _up_to_checkpoint(self, sequence: Sequence, tokens: int) -> int:
        """`tokens`, or fewer where a checkpoint of the prompt is made on the way: the rest then waits for the next pass."""
        if self.scheduler.checkpoints:
            batch = self.scheduler.batch_tokens
            micro = self.scheduler.micro_batch_tokens or batch
            for before_end in (_CHECKPOINT + micro, _CHECKPOINT):
                stop = sequence.goal - min(batch, before_end) - sequence.computed
                if 0 < stop < tokens:
                    return stop
        return tokens

    def admit(self, sequence: Sequence) -> None:
        self._purge()
        slot = self._slot_for(sequence)
        del self._idle[slot]
        self.free -= 1
        held, self._held[slot] = self._held[slot], None
        found = held.common(sequence, self.shared_tokens) if held else 0
        if held:
            self._idle_tokens -= held.tokens
        if self.scheduler.host_cache_tokens and (held is None or found < KEEP * held.tokens):
            if held:
                self._save(held)
            found = max(found, self._restore(sequence))
        given = sequence.given_cached
        self.use_cache(sequence, found if given is None else given)
        self._busy_tokens += sequence.computed
        sequence.slot = slot
        insort(self.prompts, sequence, key=lambda each: each.slot)

    def _slot_for(self, sequence: Sequence) -> int:
        best, most = -1, SIMILARITY * sequence.prompt
        if sequence.history or self.shared_tokens:
            for slot in self._idle:
                held = self._held[slot]
                common = held.common(sequence, self.shared_tokens) if held else 0
                if common > most or (common == most and 0 <= slot < best):
                    best, most = slot, common
        return best if best >= 0 else next(iter(self._idle))

    def _save(self, held: Held) -> None:
        """Keeps a slot's contents in main memory; the oldest go where there is no room."""
        if held.tokens > self.scheduler.host_cache_tokens:
            return
        key = held.conversation, held.adapter
        self._saved_tokens += held.tokens - self._saved.pop(key, 0)
        self._saved[key] = held.tokens
        while self._saved_tokens > self.scheduler.host_cache_tokens:
            self._saved_tokens -= self._saved.pop(next(iter(self._saved)))

    def _restore(self, sequence: Sequence) -> int:
        """Moves the conversation back from main memory; how many tokens of the prompt that gives."""
        tokens = self._saved.pop((sequence.conversation, sequence.adapter), 0)
        self._saved_tokens -= tokens
        return min(tokens, sequence.history)

    def _choose_adapter(self) -> None:
        """The adapter of the coming pass: that of the slots at work, else of the first prompt; or the next one that has work."""
        generating = [adapter for adapter, group in self._groups.items() if group.size]
        if not self.scheduler.adapters_take_turns:
            if not generating and self.prompts:
                self._adapter = self.prompts[0].adapter
        else:
            ready = sorted({*generating, *(sequence.adapter for sequence in self.prompts)})
            self._adapter = next((a for a in ready if a > self._adapter), ready[0] if ready else self._adapter)
            self.pass_by_pass = len(ready) > 1 or self._adapter != self._loaded
        if self._adapter not in self._groups:
            self._groups[self._adapter] = Decoding(self._kinds)
        self.active = self._groups[self._adapter]

    def switch_seconds(self) -> float:
        changed = self._loaded not in (None, self._adapter)
        self._loaded = self._adapter
        return self.scheduler.switch_s if changed else 0.0

    def _purge(self) -> None:
        """Empties idle slots, the lowest first, as far as their cells have been taken by now."""
        if self._pool is None:
            return
        for slot in sorted(self._idle):
            held = self._held[slot]
            if self._busy_tokens + self._idle_tokens <= self._pool:
                return
            if held:
                self._idle_tokens -= held.tokens
                self._held[slot] = None

    def _fail(self) -> None:
        """Even with all idle slots emptied there is no room: every request at work is lost."""
        for group in self._groups.values():
            for *_, sequence in list(group.finishes):
                if sequence.finish_step >= 0:
                    group.leave(sequence)
                    self.lost.append(sequence)
        self.lost = sorted((*self.lost, *self.prompts), key=lambda each: each.slot)
        self.prompts.clear()
        self._held = [None] * self.scheduler.slots
        self._idle_tokens = self._busy_tokens = 0
        for sequence in self.lost:
            self._idle[sequence.slot] = None
            self.free += 1

    def release(self, sequence: Sequence, /) -> None:
        self._purge()
        self._busy_tokens -= sequence.computed
        self._idle_tokens += sequence.computed
        self._held[sequence.slot] = Held(sequence.conversation, sequence.adapter, sequence.computed)
        self._idle[sequence.slot] = None
        self.free += 1

    def steps_within_memory(self, steps: int) -> int:
        return steps if self._pool is None else min(steps, (self._pool - self._busy_tokens) // self.active.size)

    def grow(self, steps: int) -> None:
        self._busy_tokens += steps * self.active.size


POLICY = LlamaServer
