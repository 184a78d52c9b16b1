"""What every scheduling policy provides. The loop shows it the queue before each pass and does as it says."""

from collections import deque
from collections.abc import Sequence as Many
from typing import ClassVar

from planner.core.simulation.cost import attended_pairs
from planner.core.simulation.decoding import Decoding
from planner.core.simulation.scheduler import Scheduler
from planner.core.simulation.sequence import Sequence

Chunk = tuple[Sequence, int]


class Policy:
    """Who is read, who waits, who is thrown out. A policy is a subclass in a file of its own below `policies/`.

    What it does not override: first come, first served into `free` slots, one pass for everyone, no memory limit.
    `prompts` are the sequences whose prompts are being read, `active` those that generate in the coming pass.
    `watches` asks the loop to call `compose` before every pass, and to keep runs of decode steps within `steps_within_memory`;
    `pass_by_pass` forbids such runs until the next `compose`.
    `lost` are sequences the server gave up in the middle; the loop empties it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    keeps_finished: ClassVar[bool] = False
    default_max_queue: ClassVar[int | None] = None

    def __init__(self, scheduler: Scheduler, *, kinds: int, shared_tokens: int = 0) -> None:
        self.scheduler = scheduler
        self.shared_tokens = shared_tokens
        self.free = scheduler.slots
        self.prompts: list[Sequence] = []
        self.active = Decoding(kinds)
        self.watches = False
        self.pass_by_pass = False
        self.lost: list[Sequence] = []
        self.preempted = 0
        self.recomputed = 0

    def compose(self, queue: deque[Sequence]) -> Many[Chunk]:
        """Admits from `queue` what may start now and says how many prompt tokens of whom the next pass reads."""
        while queue and self.free:
            self.admit(queue.popleft())
        room = self.scheduler.batch_tokens - self.active.size
        chunks = []
        for sequence in self.prompts:
            tokens = min(sequence.goal - sequence.computed, room)
            if tokens <= 0:
                break
            chunks.append((sequence, tokens))
            room -= tokens
        return chunks

    def admit(self, sequence: Sequence) -> None:
        """Gives a waiting sequence a slot."""
        self.free -= 1
        self.use_cache(sequence, sequence.given_cached or 0)
        self.prompts.append(sequence)

    def use_cache(self, sequence: Sequence, tokens: int) -> None:
        """`tokens` of the prompt need no computing, all but one at most."""
        sequence.cached = sequence.computed = min(tokens, sequence.goal - 1)

    def load(self, chunks: Many[Chunk]) -> tuple[int, float]:
        """Prompt tokens that the pass computes, and the pairs they attend to."""
        tokens = 0
        pairs = 0.0
        for sequence, count in chunks:
            tokens += count
            pairs += attended_pairs(sequence.computed, count)
        return tokens, pairs

    def switch_seconds(self) -> float:
        """What it costs to load another adapter for the coming pass."""
        return 0.0

    def generates(self, sequence: Sequence) -> None:
        """The prompt has been read: the sequence joins those that generate."""
        self.prompts.remove(sequence)
        self.active.join(sequence)

    def retire(self, sequence: Sequence) -> None:
        """The sequence generates no more: it is done, or it loses its place."""
        self.active.leave(sequence, keep_width=self.keeps_finished)

    def steps_within_memory(self, steps: int) -> int:
        """How many of `steps` decode steps the cache has room for."""
        return steps

    def grow(self, steps: int) -> None:
        """Room is taken for `steps` more tokens of everyone in `active`. Called where the policy `watches`."""

    def release(self, _: Sequence, /) -> None:
        """A reply is complete and its slot free."""
        self.free += 1

    def refuses(self, sequence: Sequence) -> bool:
        """Whether the server turns the request away for its length."""
        return sequence.prompt + sequence.output > self.scheduler.context_tokens
