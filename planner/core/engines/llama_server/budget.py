"""The memory budget of the fullest device, line by line, each with its reason and how sure it is."""

from collections.abc import Iterator

from planner.core import units
from planner.core.attention.stores import StateStore
from planner.core.engines._machine import others_line
from planner.core.engines.contract import Job
from planner.core.engines.llama_server.cache import Caches
from planner.core.engines.llama_server.layout import stored_layers
from planner.core.engines.llama_server.placement import SYSTEM_RANGE, SYSTEM_SOURCE, Load, Placement
from planner.core.engines.llama_server.ram import ram_lines
from planner.core.engines.llama_server.serving import Serving
from planner.core.plan import DeviceBudget, MemoryBudget, MemoryLine


def _weights_line(job: Job, load: Load, placement: Placement) -> MemoryLine:
    weights = job.weights
    share = load.weights_bytes / weights.size_bytes if weights.size_bytes else 0.0
    whole = load.weights_bytes == weights.size_bytes
    count = len(load.layers)
    return MemoryLine(
        name="Weights",
        kind="weights",
        size_bytes=load.weights_bytes,
        why=f"All {count} layers and the output in {weights.format}. The input embedding stays in RAM where the output has a table of its own."
        if whole
        else f"{count} of {len(job.shape.layers)} layers in {weights.format}, taken as equally large"
        + (f", without the experts that are in RAM ({placement.spilled_experts} layers)." if placement.spilled_experts else "."),
        grade=weights.grade if whole else "estimated",
        source=weights.source,
        low_bytes=round(weights.low_bytes * share),
        high_bytes=round(weights.high_bytes * share),
    )


def _cache_line(settings: Serving, held: Caches, load: Load) -> MemoryLine:
    context = held.context
    kind = "one pool for all slots" if context.unified else f"{context.slots} × {context.n_ctx_seq:,} cells, a private stream per slot"
    parts = [f"{buffer.kind} {units.size(buffer.size_bytes)}" for buffer in held.buffers if buffer.rows]
    if held.state:
        parts.append(f"recurrent state {units.size(held.state_bytes)}")
    shared = "" if load.cache_bytes == held.size_bytes else " over all devices; a layer's cache is where the layer is"
    return MemoryLine(
        name="Cache of the conversations",
        kind="cache",
        size_bytes=load.cache_bytes,
        why=f"{kind}, keys in {settings.type_k.name} and values in {settings.type_v.name}: {', '.join(parts) or 'nothing'}{shared}. "
        "llama-server allocates all of it at start.",
        grade="exact",
        source="llama.cpp b11434 src/llama-kv-cache.cpp, llama_kv_cache",
    )


def system_line(load: Load) -> MemoryLine:
    """What the system keeps: of memory that it shares with a device, or of main memory."""
    if load.device is None or not load.device.is_gpu:
        low, high = SYSTEM_RANGE
        return MemoryLine(
            name="The system",
            kind="reserved",
            size_bytes=load.taken_bytes,
            why="The operating system and what runs beside the server: say how much it is on your machine (reserved memory).",
            grade="estimated",
            source=SYSTEM_SOURCE,
            low_bytes=min(low, load.taken_bytes),
            high_bytes=high,
        )
    return MemoryLine(
        name="The system",
        kind="reserved",
        size_bytes=load.taken_bytes,
        why=f"{load.device.name} shares its memory with the system: {units.size(load.total_bytes - load.taken_bytes)} of it are for a model.",
        grade="exact" if load.device.vendor == "Apple" else "measured",
        source="macOS's default limit, sysctl iogpu.wired_limit_mb"
        if load.device.vendor == "Apple"
        else load.device.source or "the limit given",
    )


def _reserved_lines(load: Load) -> Iterator[MemoryLine]:
    """What a model cannot have: the system's part, other programs', and the margin."""
    if load.taken_bytes:
        yield system_line(load)
    if load.reserved_bytes:
        yield others_line(load.reserved_bytes)
    if load.margin_bytes:
        yield MemoryLine(
            name="Left free",
            kind="reserved",
            size_bytes=min(load.margin_bytes, load.total_bytes - load.taken_bytes - load.reserved_bytes),
            why=f"llama-server leaves {units.size(load.margin_bytes)} of every device free (--fit-target): the driver's context and whatever "
            "else is not free at the start come out of it.",
            grade="exact",
            source="llama.cpp b11434 common/fit.cpp, common_params_fit_impl",
        )


def _lines(job: Job, settings: Serving, held: Caches, load: Load, placement: Placement) -> list[MemoryLine]:
    lines = [
        *_reserved_lines(load),
        _weights_line(job, load, placement),
    ]
    if load.compute:
        lines.append(
            MemoryLine(
                name="Compute buffer",
                kind="overhead",
                size_bytes=load.compute.size_bytes,
                why=load.compute.why,
                grade=load.compute.grade,
                source="llama.cpp b11434 src/llama-context.cpp, sched_reserve; fitted on printed buffers",
                low_bytes=load.compute.low_bytes,
                high_bytes=load.compute.high_bytes,
            )
        )
    lines.append(_cache_line(settings, held, load))
    return lines


def free_bytes(load: Load) -> int:
    """The last line of the load's budget: what nobody has claimed; negative: missing."""
    kept = min(load.total_bytes, load.taken_bytes + load.reserved_bytes + load.margin_bytes)
    return load.total_bytes - kept - load.used_bytes


def memory_budget(job: Job, settings: Serving, held: Caches, placement: Placement) -> MemoryBudget:
    """The budget of the device with the least to spare. Its lines sum up to the device's memory; a negative `free` is what is missing."""
    load = placement.fullest
    lines = _lines(job, settings, held, load, placement)
    free = load.total_bytes - sum(line.size_bytes for line in lines)
    lines.append(
        MemoryLine("Free", "free", free, "What nobody has claimed.", "computed", "the lines above")
        if free >= 0
        else MemoryLine("Missing", "free", free, "This much more memory would hold the plan.", "computed", "the lines above")
    )
    pool = load.cache_bytes + free
    if job.cache_memory_bytes is not None:
        pool = job.cache_memory_bytes
    return MemoryBudget(
        total_bytes=load.total_bytes,
        usable_bytes=load.usable_bytes,
        lines=tuple(lines),
        cache_pool_bytes=max(0, pool),
        cache_tokens=_tokens(job, held, load, max(0, pool)),
        ram_lines=ram_lines(job, settings, held, placement),
        per_device=tuple(_per_device(placement)),
    )


def _per_device(placement: Placement) -> Iterator[DeviceBudget]:
    """Every card; and main memory, where its size is known and a part of the model lies there."""
    spilled = (placement.ram,) if placement.ram and placement.ram.total_bytes else ()
    for load in (*placement.cards, *spilled):
        kept = min(load.total_bytes, load.taken_bytes + load.reserved_bytes + load.margin_bytes)
        used = kept + load.used_bytes
        yield DeviceBudget(load.device.name if load.device else "main memory", load.total_bytes, used, load.total_bytes - used)


def _tokens(job: Job, held: Caches, load: Load, pool_bytes: int) -> int | None:
    """Tokens the pool holds, where every layer grows with them alike; None where windows or states make it no token count."""
    stores = [store for layer in stored_layers(job.shape) for store in layer.stores]
    if not stores or any(isinstance(store, StateStore) or store.window is not None or store.tokens_per_row > 1 for store in stores):
        return None
    cells = held.context.n_ctx_seq * (1 if held.context.unified else held.context.slots)
    per_token = load.cache_bytes / cells if cells else 0
    return int(pool_bytes / per_token) if per_token else None
