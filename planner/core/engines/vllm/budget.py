"""The memory of one GPU under vLLM: the share it may use, what is taken before the cache, and the pool that remains."""

from dataclasses import dataclass
from math import ceil

from planner.core.engines.contract import Job
from planner.core.engines.vllm.capacity import Layout, Pool, layout_of, pool_of
from planner.core.engines.vllm.overheads import Estimate, activation, cuda_graphs
from planner.core.engines.vllm.serving import Serving, settle
from planner.core.plan import MemoryBudget, MemoryLine
from planner.core.units import size


@dataclass(frozen=True, slots=True)
class Account:
    """The figures behind a budget, for one GPU of the stage that decides."""

    serving: Serving
    pool: Pool
    total_bytes: int
    usable_bytes: int
    weights_bytes: int
    activation: Estimate
    graphs: Estimate
    pool_bytes: int


def account(job: Job, slots: int = 0) -> Account:
    """What a GPU's memory goes to with `slots` slots (0: vLLM's own max_num_seqs)."""
    serving = settle(job, slots)
    layout = layout_of(serving)
    total = serving.device.memory_bytes
    usable = ceil(total * serving.gpu_memory_utilization)
    weights = _stage_weights(job, layout)
    peak, graphs = activation(serving), cuda_graphs(serving)
    inside = graphs.size_bytes if serving.rules.graphs_inside_budget else 0
    known = serving.kv_cache_memory_bytes
    rooms = tuple(known if known is not None else usable - part - peak.size_bytes - inside for part in weights)
    pool = pool_of(layout, rooms)
    return Account(
        serving=serving,
        pool=pool,
        total_bytes=total,
        usable_bytes=usable,
        weights_bytes=weights[pool.stage],
        activation=peak,
        graphs=graphs,
        pool_bytes=max(0, rooms[pool.stage]),
    )


def _stage_weights(job: Job, layout: Layout) -> tuple[int, ...]:
    """Weights of one GPU on each stage: the stage's share of the layers, divided by the tensor-parallel ranks."""
    layers = len(job.shape.layers) or 1
    ranks = layout.serving.tensor_parallel_size
    return tuple(ceil(job.weights.size_bytes * min(len(part), layers) / layers / ranks) for part in layout.stages)


def budget_of(job: Job, slots: int) -> MemoryBudget:
    """The lines of the GPU that decides. They sum up to its memory; a negative free line is what is missing."""
    figures = account(job, slots)
    serving, pool = figures.serving, figures.pool
    used = pool.layout.blocks_of(slots, job.context_tokens) * pool.block_bytes
    taken = figures.weights_bytes + figures.activation.size_bytes + figures.graphs.size_bytes + figures.pool_bytes
    lines = (
        MemoryLine("Outside vLLM’s share", "reserved", max(0, figures.total_bytes - taken), "left to others", "computed", "vLLM"),
        MemoryLine(
            "Weights", "weights", figures.weights_bytes, f"{size(figures.weights_bytes)} per GPU.", job.weights.grade, job.weights.source
        ),
        MemoryLine("Activation peak", "overhead", figures.activation.size_bytes, "peak", "estimated", "fit"),
        MemoryLine("CUDA graphs", "overhead", figures.graphs.size_bytes, "graphs", "estimated", "fit"),
        MemoryLine("Cache of the conversations", "cache", used, "slots", "computed", "vLLM"),
    )
    free = figures.total_bytes - sum(line.size_bytes for line in lines)
    return MemoryBudget(
        total_bytes=figures.total_bytes,
        usable_bytes=figures.usable_bytes,
        lines=(*lines, MemoryLine("Rest of the pool", "free", free, f"{serving.max_num_seqs} requests", "computed", "vLLM")),
        cache_pool_bytes=figures.pool_bytes,
        cache_tokens=pool.kv_cache_tokens,
    )
