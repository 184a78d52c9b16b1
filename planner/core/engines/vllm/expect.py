"""What vLLM will report at start, line for line, so that a plan can be held against reality."""

from math import ceil

from planner.core.engines.contract import Expectation, ExpectedLine
from planner.core.engines.vllm.block_size import base_block_size
from planner.core.engines.vllm.budget import Account
from planner.core.engines.vllm.capacity import Pool, longest_request
from planner.core.units import GIB
from planner.core.weights import Weights


def expectation(figures: Account, weights: Weights) -> Expectation:
    """The values of vLLM's own cache configuration and its start-up lines; `estimates` are the bounds of those that are estimates.

    Source: v1/core/kv_cache_utils.py of each release.
    """
    serving, pool = figures.serving, figures.pool
    return Expectation(
        values={
            "block_size": pool.layout.block_size,
            "num_blocks": pool.num_blocks,
            "kv_cache_tokens": pool.kv_cache_tokens,
            "max_concurrency": pool.max_concurrency,
            "bytes_per_block": pool.block_bytes,
            "starts": pool.starts and figures.pool_bytes > 0,
            "cache_memory": figures.pool_bytes,
            "needed_bytes": pool.layout.reserved_blocks(serving.max_model_len) * pool.block_bytes,
            "longest_request": longest_request(pool),
            "weights_bytes": figures.weights_bytes,
            "graph_bytes": figures.graphs.size_bytes,
            "version": ".".join(map(str, serving.rules.release)),
            "max_model_len": serving.max_model_len,
            "max_num_seqs": serving.max_num_seqs,
            "max_num_batched_tokens": serving.max_num_batched_tokens,
            "gpu_memory_utilization": serving.gpu_memory_utilization,
            "kv_cache_dtype": serving.cache_type.name,
            "tensor_parallel_size": serving.tensor_parallel_size,
            "pipeline_parallel_size": serving.pipeline_parallel_size,
            "decode_context_parallel_size": serving.decode_context_parallel_size,
            "enable_prefix_caching": serving.enable_prefix_caching,
            "estimates": _estimates(figures, weights),
        },
        lines=_lines(figures),
    )


def _estimates(figures: Account, weights: Weights) -> dict[str, list[int]]:
    """[lowest, highest] in bytes of the figures that only a start can tell."""
    share = figures.weights_bytes / weights.size_bytes if weights.size_bytes else 0.0
    low, high = int(weights.low_bytes * share), ceil(weights.high_bytes * share)
    guessed = [figures.activation, figures.outside, *([figures.graphs] if figures.serving.rules.graphs_inside_budget else [])]
    above = sum(each.size_bytes - each.low_bytes for each in guessed) + figures.weights_bytes - low
    below = sum(each.high_bytes - each.size_bytes for each in guessed) + high - figures.weights_bytes
    known = figures.serving.kv_cache_memory_bytes is not None
    pool = [figures.pool_bytes] * 2 if known else [figures.pool_bytes - below, figures.pool_bytes + above]
    return {"cache_memory": pool, "weights_bytes": [low, high], "graph_bytes": [figures.graphs.low_bytes, figures.graphs.high_bytes]}


def _lines(figures: Account) -> tuple[ExpectedLine, ...]:
    serving, pool = figures.serving, figures.pool
    known = serving.kv_cache_memory_bytes is not None
    lines: list[ExpectedLine] = []
    if serving.hybrid and pool.layout.block_size > base_block_size(serving):
        text = f"Setting attention block size to {pool.layout.block_size} tokens to ensure that attention page size is >= mamba page size."
        lines.append(ExpectedLine(text, "A block must be as large as one recurrent state, because all layers share one pool."))
    if not known:
        why = f"What remains of {figures.usable_bytes / GIB:.2f} GiB; an estimate, so expect it near this."
        certain = "Available KV cache memory:"
        lines.append(ExpectedLine(f"{certain} {_gib(figures.pool_bytes, pool)} GiB", why, certain))
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
    size_words, concurrency_words = "GPU KV cache size:", f"Maximum concurrency for {serving.max_model_len:,} tokens per request:"
    size, concurrency = f"{size_words} {pool.kv_cache_tokens:,} tokens", f"{concurrency_words} {pool.max_concurrency:.2f}x"
    certain_size, certain_concurrency = (None, None) if known else (size_words, concurrency_words)
    exact = "Exact for this pool." if known else "As exact as the pool above."
    ratio = f"{pool.num_blocks:,} blocks ÷ {need:,} blocks of one request at full length. {exact}"
    if serving.rules.one_line:
        return (ExpectedLine(f"{size}, {concurrency}", f"{ratio} The size is that ratio times {serving.max_model_len:,}.", certain_size),)
    if serving.rules.size_line_counts_requests:
        why = f"The concurrency below times {serving.max_model_len:,} tokens. {exact}"
    else:
        why = f"{pool.num_blocks:,} blocks ÷ {len(layout.groups)} groups × {layout.block_size:,} tokens. {exact}"
    return ExpectedLine(size, why, certain_size), ExpectedLine(concurrency, ratio, certain_concurrency)


def _refusal(figures: Account) -> ExpectedLine:
    pool, serving = figures.pool, figures.serving
    if figures.pool_bytes <= 0:
        text = "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine"
        return ExpectedLine(text, "Weights and the profiling pass leave nothing of the share: vLLM does not start.")
    needed = pool.layout.reserved_blocks(serving.max_model_len) * pool.block_bytes
    there = figures.pool_bytes - (pool.block_bytes if serving.rules.checks_null_block else 0)
    model = "model's" if serving.rules.since(0, 24) else "models's"
    certain = f"To serve at least one request with the {model} max seq len ({serving.max_model_len}), ("
    text = f"{certain}{_gib(needed, pool)} GiB KV cache is needed, which is larger than the available KV cache memory ({_gib(there, pool)} GiB)."
    if longest := longest_request(pool):
        text += f" Based on the available memory, the estimated maximum model length is {longest}."
    return ExpectedLine(text, "One request of the full length does not fit into the pool: vLLM does not start.", certain)
