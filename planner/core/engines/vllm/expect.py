"""What vLLM will report at start, line for line, so that a plan can be held against reality."""

from planner.core.engines.contract import Expectation, ExpectedLine
from planner.core.engines.vllm.block_size import base_block_size
from planner.core.engines.vllm.budget import Account
from planner.core.engines.vllm.capacity import Pool, longest_request
from planner.core.units import GIB


def expectation(figures: Account) -> Expectation:
    """The values of vLLM's own cache configuration and its start-up lines. Source: v1/core/kv_cache_utils.py of each release."""
    pool = figures.pool
    return Expectation(
        values={
            "block_size": pool.layout.block_size,
            "num_blocks": pool.num_blocks,
            "kv_cache_tokens": pool.kv_cache_tokens,
            "max_concurrency": pool.max_concurrency,
            "bytes_per_block": pool.block_bytes,
        },
        lines=_lines(figures),
    )


def _lines(figures: Account) -> tuple[ExpectedLine, ...]:
    serving, pool = figures.serving, figures.pool
    known = serving.kv_cache_memory_bytes is not None
    lines: list[ExpectedLine] = []
    if serving.hybrid and pool.layout.block_size > base_block_size(serving):
        text = f"Setting attention block size to {pool.layout.block_size} tokens to ensure that attention page size is >= mamba page size."
        lines.append(ExpectedLine(text, "A block must be as large as one recurrent state, because all layers share one pool."))
    if not known:
        why = f"What remains of {figures.usable_bytes / GIB:.2f} GiB; an estimate, so expect it near this."
        lines.append(ExpectedLine(f"Available KV cache memory: {_gib(figures.pool_bytes, pool)} GiB", why))
    if not pool.starts:
        return (*lines, _refusal(figures))
    return (*lines, *_size_lines(pool, known=known))


def _gib(size_bytes: int, pool: Pool) -> str:
    """vLLM's own rounding: two decimals, without a trailing zero from 0.14 on (utils/mem_utils.py, format_gib)."""
    value = size_bytes / GIB
    return f"{round(value, 2)}" if pool.layout.serving.rules.since(0, 14) else f"{value:.2f}"


def _size_lines(pool: Pool, *, known: bool) -> tuple[ExpectedLine, ...]:
    serving, layout = pool.layout.serving, pool.layout
    need = layout.reserved_blocks(serving.max_model_len)
    size = f"GPU KV cache size: {pool.kv_cache_tokens:,} tokens"
    concurrency = f"Maximum concurrency for {serving.max_model_len:,} tokens per request: {pool.max_concurrency:.2f}x"
    exact = "Exact for this pool." if known else "As exact as the pool above."
    ratio = f"{pool.num_blocks:,} blocks ÷ {need:,} blocks of one request at full length. {exact}"
    if serving.rules.one_line:
        return (ExpectedLine(f"{size}, {concurrency}", f"{ratio} The size is that ratio times {serving.max_model_len:,}."),)
    if serving.rules.size_line_counts_requests:
        why = f"The concurrency below times {serving.max_model_len:,} tokens. {exact}"
    else:
        why = f"{pool.num_blocks:,} blocks ÷ {len(layout.groups)} groups × {layout.block_size:,} tokens. {exact}"
    return ExpectedLine(size, why), ExpectedLine(concurrency, ratio)


def _refusal(figures: Account) -> ExpectedLine:
    pool, serving = figures.pool, figures.serving
    if figures.pool_bytes <= 0:
        text = "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine"
        return ExpectedLine(text, "Weights and the profiling pass leave nothing of the share: vLLM does not start.")
    needed = pool.layout.reserved_blocks(serving.max_model_len) * pool.block_bytes
    there = figures.pool_bytes - (pool.block_bytes if serving.rules.checks_null_block else 0)
    model = "model's" if serving.rules.since(0, 24) else "models's"
    text = (
        f"To serve at least one request with the {model} max seq len ({serving.max_model_len}), ({_gib(needed, pool)} GiB KV cache is "
        f"needed, which is larger than the available KV cache memory ({_gib(there, pool)} GiB)."
    )
    if longest := longest_request(pool):
        text += f" Based on the available memory, the estimated maximum model length is {longest}."
    return ExpectedLine(text, "One request of the full length does not fit into the pool: vLLM does not start.")
