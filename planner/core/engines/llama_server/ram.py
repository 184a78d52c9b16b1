"""What llama-server takes of main memory beside the device: what the cards do not hold, saved prompts, snapshots, outputs."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.contract import Job
from planner.core.engines.llama_server.buffers import output_bytes
from planner.core.engines.llama_server.cache import STATE_ELEMENT_BYTES, Caches, key_row_bytes, value_row_bytes
from planner.core.engines.llama_server.layout import stored_layers, widest_value
from planner.core.engines.llama_server.placement import Placement, uses_gpu
from planner.core.engines.llama_server.serving import DEFAULT_CACHE_RAM_MIB, Serving
from planner.core.plan import MemoryLine
from planner.core.units import MIB

_PROMPT_CACHE_STEP: Final = 256 * MIB


def prompt_cache_limit(job: Job, settings: Serving, placement: Placement) -> int:
    """Bytes of --cache-ram: as given, else the default of 8 GiB, or less where the RAM has not that much to spare.

    A machine whose device is its main memory gives half of what its plan leaves free, any other a quarter of its RAM.
    """
    if settings.cache_ram_mib is not None:
        return settings.cache_ram_mib * MIB
    ram = job.node.ram_bytes
    if job.node.shares_memory or not uses_gpu(job, settings):
        own = spare = sum(load.spare_bytes for load in placement.cards) // 2
    elif ram is None:
        return DEFAULT_CACHE_RAM_MIB * MIB
    else:
        own, spare = ram // 4, placement.ram.spare_bytes if placement.ram else ram
    return max(0, min(DEFAULT_CACHE_RAM_MIB * MIB, own, spare) // _PROMPT_CACHE_STEP * _PROMPT_CACHE_STEP)


def checkpoint_bytes(job: Job, settings: Serving) -> int:
    """Bytes of one snapshot: the windows and the recurrent state of one sequence. 0 for a model that can be rolled back.

    Source: llama.cpp b11434 tools/server/server-context.cpp, create_checkpoint.
    """
    if settings.swa_full and not any(isinstance(store, StateStore) for store in job.shape.stores()):
        return 0
    widest, size = widest_value(job.shape), 0
    for layer in stored_layers(job.shape):
        for store in layer.stores:
            if isinstance(store, StateStore):
                size += STATE_ELEMENT_BYTES * (store.conv_elements + store.state_elements)
            elif store.window is not None and not settings.swa_full:
                size += store.rows(min(store.window, job.context_tokens)) * _row_bytes(store, settings, widest)
    return size


def saved_bytes(job: Job, settings: Serving, tokens: int) -> int:
    """Bytes of a saved conversation of `tokens` tokens: the rows it fills, without the padding of a cache, and its states.

    Source: llama.cpp b11434 tools/server/server-task.cpp, server_prompt_cache; a server's log has the row's bytes per token.
    """
    widest, size = widest_value(job.shape), 0
    for layer in stored_layers(job.shape):
        for store in layer.stores:
            if isinstance(store, StateStore):
                size += STATE_ELEMENT_BYTES * (store.conv_elements + store.state_elements)
            else:
                size += store.rows(tokens) * _row_bytes(store, settings, widest)
    return size


def _row_bytes(store: TokenStore, settings: Serving, widest: int) -> int:
    return key_row_bytes(store, settings) + value_row_bytes(store, settings, widest)


def warm_conversations(job: Job, settings: Serving, placement: Placement, tokens: int) -> int | None:
    """Conversations of `tokens` tokens that need not be read again: the last one of every slot, and those saved in RAM.

    None where --cache-ram sets no limit.
    """
    each, limit = saved_bytes(job, settings, tokens), prompt_cache_limit(job, settings, placement)
    if limit < 0 or not each:
        return None
    return settings.n_parallel + limit // each


def _spilled(job: Job, placement: Placement) -> Iterator[MemoryLine]:
    if placement.ram is None:
        return
    weights = job.weights
    share_low, share_high = (bound / max(1, weights.size_bytes) for bound in (weights.low_bytes, weights.high_bytes))
    for name, size in (("Weights in RAM", placement.ram.weights_bytes), ("Cache in RAM", placement.ram.cache_bytes)):
        if size:
            yield MemoryLine(
                name=name,
                kind="weights" if name.startswith("Weights") else "cache",
                size_bytes=size,
                why="What the cards do not hold; every token reads it at the speed of the RAM.",
                grade="estimated" if name.startswith("Weights") else "computed",
                source=job.weights.source,
                low_bytes=round(size * share_low) if name.startswith("Weights") else None,
                high_bytes=round(size * share_high) if name.startswith("Weights") else None,
            )


def ram_lines(job: Job, settings: Serving, held: Caches, placement: Placement) -> tuple[MemoryLine, ...]:
    """The claims on main memory, the certain ones first; of the last two, `size_bytes` is the most they grow to."""
    lines = [
        *_spilled(job, placement),
        MemoryLine(
            name="Outputs",
            kind="overhead",
            size_bytes=output_bytes(job.shape, settings),
            why=f"The logits of {units.counted(settings.n_parallel, 'slot')} × {units.counted(1 + settings.draft_tokens, 'row')} × {job.shape.vocab_size:,} entries × 4 B.",
            grade="exact",
            source="llama.cpp b11434 src/llama-context.cpp, output_reserve",
        ),
    ]
    limit = prompt_cache_limit(job, settings, placement)
    if limit:
        lines.append(
            MemoryLine(
                name="Saved prompts",
                kind="overhead",
                size_bytes=max(0, limit),
                why=f"Conversations that lost their slot are kept here, up to --cache-ram {limit // MIB:,} MiB."
                if limit > 0
                else "--cache-ram -1 sets no limit.",
                grade="computed",
                source="llama.cpp b11434 common/arg.cpp, --cache-ram",
                low_bytes=0,
                high_bytes=max(0, limit),
            )
        )
    each = checkpoint_bytes(job, settings)
    count = min(settings.checkpoints, 1 + held.context.n_ctx_slot // settings.rules.checkpoint_step)
    if each and count:
        lines.append(
            MemoryLine(
                name="Snapshots",
                kind="overhead",
                size_bytes=each * count * settings.n_parallel,
                why=f"Windows and recurrent states cannot be rolled back: {settings.n_parallel} slots keep up to {count} snapshots of {units.size(each)} each.",
                grade="estimated",
                source="llama.cpp b11434 tools/server/server-context.cpp, create_checkpoint",
                low_bytes=0,
                high_bytes=each * settings.checkpoints * settings.n_parallel,
            )
        )
    return tuple(lines)
