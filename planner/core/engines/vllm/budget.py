"""The memory of one GPU under vLLM: the share it may use, what is taken before the cache, and the pool that remains."""

from dataclasses import dataclass, replace
from math import ceil

from planner.core.engines.contract import Job
from planner.core.engines.vllm.capacity import Layout, Pool, layout_of, longest_request, pool_of
from planner.core.engines.vllm.overheads import SOURCE, Estimate, activation, cuda_graphs, outside_torch
from planner.core.engines.vllm.serving import Serving, settle
from planner.core.plan import MemoryBudget, MemoryLine
from planner.core.units import percent, size

_WORKER = "vLLM v1/worker/gpu_worker.py, determine_available_memory."


@dataclass(frozen=True, slots=True)
class Account:
    """The figures behind a budget, for one GPU of the pipeline stage that decides."""

    serving: Serving
    pool: Pool
    total_bytes: int
    usable_bytes: int
    weights_bytes: int
    activation: Estimate
    graphs: Estimate
    outside: Estimate
    pool_bytes: int

    @property
    def taken_bytes(self) -> int:
        """What is taken before the cache."""
        return self.weights_bytes + self.activation.size_bytes + self.graphs.size_bytes + self.outside.size_bytes


def account(job: Job, slots: int) -> Account:
    """What a GPU's memory goes to with `slots` slots."""
    found = _account(job, settle(job, slots))
    if not found.serving.auto_length or found.pool.starts:
        return found
    fitting = longest_request(found.pool)
    return _account(job, replace(found.serving, max_model_len=fitting, auto_length=False)) if fitting else found


def _account(job: Job, serving: Serving) -> Account:
    layout = layout_of(serving)
    total = serving.device.memory_bytes
    usable = ceil(total * serving.gpu_memory_utilization)
    weights = _stage_weights(job, layout)
    peak, graphs, outside = activation(serving), cuda_graphs(serving), outside_torch(serving)
    before = peak.size_bytes + outside.size_bytes + (graphs.size_bytes if serving.rules.graphs_inside_budget else 0)
    known = serving.kv_cache_memory_bytes
    rooms = tuple(usable - part - before if known is None else known for part in weights)
    pool = pool_of(layout, rooms)
    return Account(
        serving=serving,
        pool=pool,
        total_bytes=total,
        usable_bytes=usable if known is None else total,
        weights_bytes=weights[pool.stage],
        activation=peak,
        graphs=graphs,
        outside=outside,
        pool_bytes=rooms[pool.stage] if serving.num_gpu_blocks_override is None else pool.num_blocks * pool.block_bytes,
    )


def _stage_weights(job: Job, layout: Layout) -> tuple[int, ...]:
    """Weights of one GPU on each stage: the stage's share of the layers, divided by the tensor-parallel ranks."""
    layers, ranks = max(1, len(job.shape.layers)), layout.serving.tensor_parallel_size
    whole = job.weights.size_bytes
    return tuple(max(0, ceil(whole * min(len(part), layers) / layers / ranks) - layout.serving.offloaded_bytes) for part in layout.stages)


def budget_of(job: Job, slots: int) -> MemoryBudget:
    """The lines of the GPU that decides. They sum up to its memory; a negative free line is what is missing."""
    figures = account(job, max(1, slots))
    pool = figures.pool
    held = pool.layout.blocks_of(slots, job.context_tokens) * pool.block_bytes
    lines = (
        MemoryLine("Left to others", "reserved", _reserved_bytes(figures), _reserved_why(figures), "computed", _WORKER),
        _weights_line(job, figures),
        _overhead_line("Peak of a pass", figures.activation),
        _overhead_line("Outside PyTorch", figures.outside),
        _overhead_line("CUDA graphs", figures.graphs),
        MemoryLine(
            "Cache of the conversations", "cache", held, _cache_why(job, figures, slots), "computed", "vLLM v1/kv_cache_interface.py."
        ),
    )
    free = figures.total_bytes - sum(line.size_bytes for line in lines)
    return MemoryBudget(
        total_bytes=figures.total_bytes,
        usable_bytes=figures.usable_bytes,
        lines=(*lines, MemoryLine("Rest of the pool", "free", free, _free_why(free), "computed", _WORKER)),
        cache_pool_bytes=max(0, figures.pool_bytes),
        cache_tokens=pool.kv_cache_tokens,
    )


def _reserved_bytes(figures: Account) -> int:
    if figures.serving.kv_cache_memory_bytes is not None:
        return max(0, figures.total_bytes - figures.taken_bytes - figures.pool_bytes)
    beside = 0 if figures.serving.rules.graphs_inside_budget else figures.graphs.size_bytes
    return max(0, figures.total_bytes - figures.usable_bytes - beside)


def _reserved_why(figures: Account) -> str:
    serving = figures.serving
    if serving.kv_cache_memory_bytes is not None:
        return "The cache pool is given, so vLLM does not look at its share: this is what remains of the card."
    return (
        f"vLLM takes {percent(serving.gpu_memory_utilization)} of {size(figures.total_bytes)} (gpu_memory_utilization "
        f"{serving.gpu_memory_utilization:g}); the rest holds the CUDA context and whatever else runs on the card."
    )


def _weights_line(job: Job, figures: Account) -> MemoryLine:
    weights, serving = job.weights, figures.serving
    ranks, stages = serving.tensor_parallel_size, serving.pipeline_parallel_size
    share = figures.weights_bytes / weights.size_bytes if weights.size_bytes else 0.0
    split = f": {size(weights.size_bytes)} over {ranks} × {stages} GPUs" if ranks * stages > 1 else ""
    offload = f", {size(serving.offloaded_bytes)} of them in main memory" if serving.offloaded_bytes else ""
    return MemoryLine(
        name="Weights",
        kind="weights",
        size_bytes=figures.weights_bytes,
        why=f"{weights.format} weights on one GPU{split}{offload}.",
        grade=weights.grade,
        source=weights.source,
        low_bytes=int(weights.low_bytes * share),
        high_bytes=ceil(weights.high_bytes * share),
    )


def _overhead_line(name: str, estimate: Estimate) -> MemoryLine:
    return MemoryLine(name, "overhead", estimate.size_bytes, estimate.why, "estimated", SOURCE, estimate.low_bytes, estimate.high_bytes)


def _cache_why(job: Job, figures: Account, slots: int) -> str:
    layout, tokens = figures.pool.layout, job.context_tokens
    return (
        f"{slots} conversations of {tokens:,} tokens: {layout.blocks_of(slots, tokens):,} of {figures.pool.num_blocks:,} blocks of "
        f"{layout.block_size:,} tokens, {figures.pool.block_bytes:,} B each."
    )


def _free_why(free_bytes: int) -> str:
    if free_bytes < 0:
        return f"{size(-free_bytes)} are missing for this."
    return "vLLM fills its share with cache blocks: these keep earlier conversations warm. One block is never used."
