"""How a server is set: the knobs of every policy in one place, refused where a server would not start with them."""

from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.errors import InputError

MAX_SLOTS: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The settings of a simulated server, in the engines' own meanings.

    `slots`: llama-server's n_parallel, vLLM's max_num_seqs. `batch_tokens`: n_batch, max_num_batched_tokens.
    `micro_batch_tokens`: n_ubatch. `context_tokens`: the longest prompt with its answer. `max_queue`: requests that may wait
    before the next is refused (None: no limit). `cache_tokens`: tokens the shared pool holds (None: it never fills);
    `unified` says that llama-server's slots share it. `block_tokens`, `prefix_cache` and `watermark` are vLLM's.
    `host_cache_tokens`: tokens of conversations that llama-server keeps in main memory. `checkpoints`: prompts are cut
    before their end for context checkpoints, as llama-server does for sliding-window and recurrent models.
    `switch_s`: seconds that a change of adapter costs; `adapters_take_turns`: passes alternate between adapters whose
    slots are generating, where otherwise one adapter's slots all finish first.
    """

    policy: str
    slots: int
    batch_tokens: int
    context_tokens: int
    micro_batch_tokens: int | None = None
    max_queue: int | None = None
    cache_tokens: int | None = None
    unified: bool = False
    block_tokens: int = 16
    prefix_cache: bool = True
    watermark: float = 0.0
    host_cache_tokens: int = 0
    checkpoints: bool = False
    switch_s: float = 0.0
    adapters_take_turns: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.slots <= MAX_SLOTS:
            raise InputError(f"A server has between 1 and {MAX_SLOTS:,} slots, not {self.slots:,}.", field="slots")
        if self.batch_tokens < self.slots:
            raise InputError(
                f"A pass of {units.counted(self.batch_tokens, 'token')} cannot hold a token of each of {self.slots:,} slots: "
                "raise the batch or lower the slots.",
                field="batch",
            )
        if self.cache_tokens is not None and self.cache_tokens < self.context_tokens and (self.unified or self.policy == "vllm"):
            raise InputError(
                f"The cache holds {self.cache_tokens:,} tokens and one request may need {self.context_tokens:,}: "
                "the server would not start. Lower the context.",
                field="context",
            )
        if self.max_queue is not None and self.max_queue < 0:
            raise InputError("A queue cannot be shorter than 0.", field="max_queue")
