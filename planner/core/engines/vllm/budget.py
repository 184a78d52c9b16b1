"""The memory of one GPU under vLLM: the share it may use, what is taken before the cache, and the pool that remains."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from planner.core.engines._machine import others_line
from planner.core.engines.contract import Job
from planner.core.engines.vllm.capacity import Layout, Pool, layout_of, longest_request, pool_of
from planner.core.engines.vllm.overheads import SOURCE, Estimate, activation, cuda_graphs, outside_torch
from planner.core.engines.vllm.parallel import stage_of
from planner.core.engines.vllm.serving import Serving, settle
from planner.core.plan import DeviceBudget, MemoryBudget, MemoryLine
from planner.core.units import counted, percent, size
from planner.core.weights import routed_bytes

_WORKER = "vLLM v1/worker/gpu_worker.py, determine_available_memory."


@dataclass(frozen=True, slots=True)
class Account:
    """The figures behind a budget, for the GPU that decides: number `card` of the machine, on the stage with the fewest blocks."""

    serving: Serving
    pool: Pool
    card: int
    total_bytes: int
    usable_bytes: int
    stage_weights: tuple[int, ...]
    activation: Estimate
    graphs: Estimate
    outside: Estimate
    pool_bytes: int

    @property
    def weights_bytes(self) -> int:
        return self.stage_weights[self.pool.stage]

    @property
    def overhead_bytes(self) -> int:
        return self.activation.size_bytes + self.graphs.size_bytes + self.outside.size_bytes

    @property
    def taken_bytes(self) -> int:
        """What is taken before the cache."""
        return self.weights_bytes + self.overhead_bytes


def account(job: Job, slots: int) -> Account:
    """What a GPU's memory goes to with `slots` slots over all engines."""
    found = _account(job, settle(job, slots))
    if not found.serving.auto_length or found.pool.starts:
        return found
    fitting = longest_request(found.pool)
    return _account(job, replace(found.serving, max_model_len=fitting, auto_length=False)) if fitting else found


def _account(job: Job, serving: Serving) -> Account:
    layout = layout_of(serving)
    weights = _stage_weights(job, layout)
    peak, graphs, outside = activation(serving), cuda_graphs(serving), outside_torch(serving)
    before = peak.size_bytes + outside.size_bytes + (graphs.size_bytes if serving.rules.graphs_inside_budget else 0)
    known = serving.kv_cache_memory_bytes
    cards = _smallest_cards(job, serving)
    usable = tuple(ceil(job.node.devices[card].memory_bytes * serving.gpu_memory_utilization) for card in cards)
    rooms = tuple(share - part - before if known is None else known for share, part in zip(usable, weights, strict=True))
    pool = pool_of(layout, rooms)
    total = job.node.devices[cards[pool.stage]].memory_bytes
    return Account(
        serving=serving,
        pool=pool,
        card=cards[pool.stage],
        total_bytes=total,
        usable_bytes=usable[pool.stage] if known is None else total,
        stage_weights=weights,
        activation=peak,
        graphs=graphs,
        outside=outside,
        pool_bytes=rooms[pool.stage] if serving.num_gpu_blocks_override is None else pool.num_blocks * pool.block_bytes,
    )


def _smallest_cards(job: Job, serving: Serving) -> tuple[int, ...]:
    """Of every pipeline stage the card with the least memory: the ranks of a stage hold the same."""
    devices = job.node.devices
    if len(job.node.kinds) == 1:
        return tuple(min(stage * serving.tensor_parallel_size, len(devices) - 1) for stage in range(serving.pipeline_parallel_size))
    seats = [(stage_of(serving, index), index) for index in range(len(devices))]
    smallest = min(range(len(devices)), key=lambda index: devices[index].memory_bytes)
    return tuple(
        min((index for seat, index in seats if seat == stage), key=lambda index: devices[index].memory_bytes, default=smallest)
        for stage in range(serving.pipeline_parallel_size)
    )


def _stage_weights(job: Job, layout: Layout) -> tuple[int, ...]:
    """Weights of one GPU on each stage: the stage's share of the layers, divided by the tensor-parallel ranks.

    Data-parallel engines have a copy each, of a mixture of experts only of what is not routed: the experts lie over the ranks of
    all engines, sliced, or whole with expert parallelism. The checkpoint's own draft layers, where they draft, are on the last stage.
    Source: vLLM model_executor/layers/fused_moe/config.py, FusedMoEParallelConfig.make.
    """
    serving, layers = layout.serving, max(1, len(job.shape.layers))
    ranks, engines = serving.tensor_parallel_size, serving.data_parallel_size
    whole, experts = job.weights.size_bytes, job.shape.feed_forward.experts
    if not experts or (engines == 1 and not serving.expert_parallel):
        each: list[int] = [ceil(whole * min(len(part), layers) / layers / ranks) for part in layout.stages]
    else:
        routed = routed_bytes(job.weights, job.shape.feed_forward)
        share = ceil(experts / (ranks * engines)) / experts if serving.expert_parallel else 1 / (ranks * engines)
        each = [ceil(((whole - routed) / ranks + routed * share) * min(len(part), layers) / layers) for part in layout.stages]
    if serving.drafts_with_model:
        each[-1] += ceil(job.weights.draft_bytes / ranks)
    return tuple(max(0, part - serving.offloaded_bytes) for part in each)


def budget_of(job: Job, slots: int) -> MemoryBudget:
    """The lines of the GPU that decides. They sum up to its memory; a negative free line is what is missing."""
    figures = account(job, max(1, slots))
    pool = figures.pool
    running = -(-slots // figures.serving.data_parallel_size)
    blocks = pool.layout.blocks_of(running, job.context_tokens)
    lines = (
        *_reserved_lines(job, figures),
        _weights_line(job, figures),
        _overhead_line("Peak of a pass", figures.activation),
        _overhead_line("Outside PyTorch", figures.outside),
        _overhead_line("CUDA graphs", figures.graphs),
        MemoryLine(
            name="Cache of the conversations",
            kind="cache",
            size_bytes=blocks * pool.block_bytes,
            why=_cache_why(job, figures, running, blocks),
            grade="computed",
            source="vLLM v1/kv_cache_interface.py.",
        ),
    )
    free = figures.total_bytes - sum(line.size_bytes for line in lines)
    return MemoryBudget(
        total_bytes=figures.total_bytes,
        usable_bytes=figures.usable_bytes,
        lines=(*lines, MemoryLine("Rest of the pool" if free >= 0 else "Missing", "free", free, _free_why(free), "computed", _WORKER)),
        cache_pool_bytes=max(0, figures.pool_bytes),
        cache_tokens=pool.kv_cache_tokens,
        ram_lines=_ram_lines(job, figures.serving),
        per_device=tuple(_per_device(job, figures, blocks)),
    )


def free_bytes(job: Job, slots: int) -> int:
    """What `slots` slots leave of the GPU that decides: the last line of its budget."""
    figures = account(job, max(1, slots))
    pool = figures.pool
    running = -(-slots // figures.serving.data_parallel_size)
    used = figures.taken_bytes + pool.layout.blocks_of(running, job.context_tokens) * pool.block_bytes
    return figures.total_bytes - used - _left_bytes(job, figures, figures.card, figures.taken_bytes)


def _per_device(job: Job, figures: Account, blocks: int) -> Iterator[DeviceBudget]:
    """Every GPU with `blocks` blocks of conversations in its pool; an idle one has what others leave of it."""
    serving, layout = figures.serving, figures.pool.layout
    for index, device in enumerate(job.node.devices):
        stage, total = stage_of(serving, index), device.memory_bytes
        if stage is None:
            used = total - job.node.free_bytes(index)
        else:
            taken = figures.stage_weights[stage] + figures.overhead_bytes
            used = taken + blocks * layout.stage_block_bytes[stage] + _left_bytes(job, figures, index, taken)
        yield DeviceBudget(device.name, total, used, total - used)


def _left_bytes(job: Job, figures: Account, index: int, taken_bytes: int) -> int:
    """What vLLM leaves of card `index`: what lies beyond its share, and never less than others keep."""
    serving, total, others = figures.serving, job.node.devices[index].memory_bytes, job.node.others_bytes(index)
    if serving.kv_cache_memory_bytes is not None:
        return max(others, total - taken_bytes - figures.pool_bytes)
    beside = 0 if serving.rules.graphs_inside_budget else figures.graphs.size_bytes
    return max(others, total - ceil(total * serving.gpu_memory_utilization) - beside)


def _reserved_lines(job: Job, figures: Account) -> Iterator[MemoryLine]:
    device, others = job.node.devices[figures.card], job.node.others_bytes(figures.card)
    left = _left_bytes(job, figures, figures.card, figures.taken_bytes) - others
    # A larger share is the user's word that the system has let go of more.
    system = min(device.system_bytes, left)
    if system:
        yield MemoryLine(
            "The system",
            "reserved",
            system,
            f"{device.name} shares its memory with the system: {size(device.memory_bytes - device.system_bytes)} are free after boot.",
            "measured",
            device.source or "the limit given",
        )
    if others:
        yield others_line(others)
    yield MemoryLine("Left to others", "reserved", left - system, _reserved_why(job, figures), "computed", _WORKER)


def _reserved_why(job: Job, figures: Account) -> str:
    serving = figures.serving
    if serving.kv_cache_memory_bytes is not None:
        return "The cache pool is given, so vLLM does not look at its share: this is what remains of the card."
    share = (
        f"vLLM takes {percent(serving.gpu_memory_utilization)} of {size(figures.total_bytes)} (gpu_memory_utilization "
        f"{serving.gpu_memory_utilization:g})"
    )
    if job.node.free_bytes(figures.card) < figures.total_bytes:
        return f"{share}, which must be free at the start; the rest of what is free holds the CUDA context."
    return f"{share}; the rest holds the CUDA context and whatever else runs on the card."


def _weights_line(job: Job, figures: Account) -> MemoryLine:
    weights, serving = job.weights, figures.serving
    ranks, stages, engines = serving.tensor_parallel_size, serving.pipeline_parallel_size, serving.data_parallel_size
    share = figures.weights_bytes / weights.size_bytes if weights.size_bytes else 0.0
    split = f": {size(weights.size_bytes)} over {ranks} × {stages} GPUs" if ranks * stages > 1 else ""
    if engines > 1:
        split += f", with the routed experts over those of all {engines} engines" if job.shape.feed_forward.experts else ", in each engine"
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


def _cache_why(job: Job, figures: Account, running: int, blocks: int) -> str:
    layout, tokens = figures.pool.layout, job.context_tokens
    return (
        f"{counted(running, 'conversation')} of {tokens:,} tokens: {blocks:,} of {figures.pool.num_blocks:,} blocks of "
        f"{layout.block_size:,} tokens, {figures.pool.block_bytes:,} B each."
    )


def _free_why(free_bytes: int) -> str:
    if free_bytes < 0:
        return f"{size(-free_bytes)} are missing for this."
    return "vLLM fills its share with cache blocks: these keep earlier conversations warm. One block is never used."


def offloaded_bytes(job: Job, serving: Serving) -> int:
    """Weights of one engine in main memory: --cpu-offload-gb for each of its GPUs, and no more than there are."""
    return min(job.weights.size_bytes, serving.offloaded_bytes * serving.tensor_parallel_size * serving.pipeline_parallel_size)


def _ram_lines(job: Job, serving: Serving) -> tuple[MemoryLine, ...]:
    if not serving.offloaded_bytes:
        return ()
    return (
        MemoryLine(
            name="Weights in RAM",
            kind="weights",
            size_bytes=offloaded_bytes(job, serving) * serving.data_parallel_here,
            why=f"{size(serving.offloaded_bytes)} of each GPU's weights (--cpu-offload-gb), which it fetches at every token.",
            grade="computed",
            source="vLLM --cpu-offload-gb, per GPU.",
        ),
    )
