"""The pool of blocks: how many there are, how many a request takes, and what the engine reports about it."""

from dataclasses import dataclass, replace
from functools import lru_cache

from planner.core.engines.vllm.grouping import Group, groups_of
from planner.core.engines.vllm.parallel import stages
from planner.core.engines.vllm.serving import Serving
from planner.core.engines.vllm.specs import layer_specs
from planner.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Layout:
    """How the cache is laid out before its size is known. `stage_block_bytes` is a block's size on each pipeline stage."""

    serving: Serving
    groups: tuple[Group, ...]
    stages: tuple[range, ...]
    stage_block_bytes: tuple[int, ...]

    @property
    def block_size(self) -> int:
        """The block size in vLLM's cache_config: the smallest of all groups."""
        return min(member.spec.block_size for group in self.groups for member in group.members)

    def reserved_blocks(self, tokens: int) -> int:
        """Blocks the engine counts for one request of `tokens` tokens at start-up and admission."""
        return sum(group.reserved_blocks(tokens, self.serving) for group in self.groups)

    def held_blocks(self, tokens: int) -> int:
        """Blocks one request of `tokens` tokens holds while it decodes."""
        return sum(group.held_blocks(tokens, self.serving) for group in self.groups)

    def held_page_bytes(self, tokens: int) -> int:
        """Bytes of the pages one decoding request holds, without the pool's padding, on all pipeline stages of one rank."""
        return sum(group.held_blocks(tokens, self.serving) * group.whole_page for group in self.groups)

    def blocks_of(self, requests: int, tokens: int) -> int:
        """Blocks of `requests` requests: all but the last decode, the last is just being admitted."""
        return self.reserved_blocks(tokens) + (requests - 1) * self.held_blocks(tokens) if requests else 0


@lru_cache(maxsize=1024)
def layout_of(serving: Serving) -> Layout:
    """The layout for a settled server. Raises InputError where vLLM itself refuses the model."""
    groups, parts, block_bytes = _laid_out(
        # What decides how much of it there is, but not how it is laid out.
        replace(
            serving,
            max_num_seqs=0,
            seqs_given=False,
            gpu_memory_utilization=0.0,
            kv_cache_memory_bytes=None,
            num_gpu_blocks_override=None,
            offloaded_bytes=0,
        )
    )
    return Layout(serving, groups, parts, block_bytes)


@lru_cache(maxsize=256)
def _laid_out(serving: Serving) -> tuple[tuple[Group, ...], tuple[range, ...], tuple[int, ...]]:
    """The groups, the layers of each pipeline stage, and a block's bytes there."""
    groups = groups_of(layer_specs(serving), serving)
    if not groups:
        raise InputError("This model keeps no cache per request, so there is nothing to plan for vLLM.", field="engine")
    drafts = len(serving.shape.draft_layers) if serving.drafts_with_model else 0
    parts = stages(len(serving.shape.layers), drafts, serving.pipeline_parallel_size)
    return groups, parts, tuple(max(group.page_bytes(part) for group in groups) for part in parts)


@dataclass(frozen=True, slots=True)
class Pool:
    """The pool of every GPU: as many blocks as the stage with the least room for them."""

    layout: Layout
    num_blocks: int
    stage: int

    @property
    def block_bytes(self) -> int:
        return self.layout.stage_block_bytes[self.stage]

    @property
    def max_concurrency(self) -> float:
        """Source: vLLM 0.32 v1/core/kv_cache_utils.py, get_max_concurrency_for_kv_cache_config."""
        return self.num_blocks / self.layout.reserved_blocks(self.layout.serving.max_model_len)

    @property
    def kv_cache_tokens(self) -> int:
        """The size line's tokens. Source: get_kv_cache_capacity; before 0.20.1 _report_kv_cache_config."""
        serving = self.layout.serving
        if serving.rules.size_line_counts_requests:
            return int(self.max_concurrency * serving.max_model_len)
        return self.num_blocks // len(self.layout.groups) * self.layout.block_size * serving.decode_context_parallel_size

    @property
    def starts(self) -> bool:
        """Whether one request of the maximal length fits, without which vLLM refuses to start."""
        serving = self.layout.serving
        usable = self.num_blocks - (1 if serving.rules.checks_null_block else 0)
        return self.layout.reserved_blocks(serving.max_model_len) <= usable

    def requests(self, tokens: int) -> int:
        """How many requests of `tokens` tokens the pool bears at once.

        All but one decode and hold what they need; the last is being admitted, for which the engine wants its windows'
        tokens in flight free as well. One block, the null block, is never used. Never more than the engine admits.
        """
        room = self.num_blocks - 1 - self.layout.reserved_blocks(tokens)
        return 1 + room // self.layout.held_blocks(tokens) if room >= 0 and self.starts else 0


def pool_of(layout: Layout, stage_bytes: tuple[int, ...]) -> Pool:
    """The pool that `stage_bytes` (cache memory of one GPU of each stage) holds.

    A stage whose layers all read other layers' caches stores nothing, and bounds nothing.
    """
    sizes = enumerate(zip(stage_bytes, layout.stage_block_bytes, strict=True))
    blocks = {stage: max(0, size) // block for stage, (size, block) in sizes if block}
    stage = min(blocks, key=blocks.__getitem__)
    return Pool(layout=layout, num_blocks=layout.serving.num_gpu_blocks_override or blocks[stage], stage=stage)


def longest_request(pool: Pool) -> int:
    """The longest request that fits alone, which `--max-model-len auto` settles on; 0 where none does.

    Source: vLLM 0.32 v1/core/kv_cache_utils.py, _auto_fit_max_model_len.
    """
    usable = pool.num_blocks - (1 if pool.layout.serving.rules.checks_null_block else 0)
    low, high = 0, pool.layout.serving.max_model_len
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if pool.layout.reserved_blocks(middle) <= usable else (low, middle - 1)
    return low
