"""How many conversations at the full context fit, and the comparison that decides."""

from collections.abc import Callable

from planner.core import units
from planner.core.engines.contract import Capacity, Job
from planner.core.engines.llama_server.cache import Caches, caches
from planner.core.engines.llama_server.placement import Placement, place, uses_gpu
from planner.core.engines.llama_server.serving import MAX_SLOTS, Serving, divide
from planner.core.plan import Remark

Serve = Callable[[int], Serving]


def _held(job: Job, settings: Serving) -> Caches:
    return caches(job.shape, settings, divide(settings, trained_context=job.shape.max_context))


def _placed(job: Job, settings: Serving) -> Placement:
    return place(job, settings, _held(job, settings))


def _largest(holds: Callable[[int], bool], most: int) -> int:
    """The largest number up to `most` for which `holds`, which stays false once it is; 0 where it never is."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def planned_capacity(job: Job, serve: Serve) -> Capacity:
    """Slots with a private stream of the job's context each. Where one slot already sends layers to RAM, the same layers stay there."""
    if job.cache_memory_bytes is not None:
        return _pool_capacity(job, serve, job.cache_memory_bytes)
    one = _placed(job, serve(1))
    remarks = _spill_remarks(job, one)

    def holds(slots: int) -> bool:
        placed = one if slots == 1 else _placed(job, serve(slots))
        same = (placed.spilled_layers, placed.spilled_experts) == (one.spilled_layers, one.spilled_experts)
        return same and _holds(job, placed)

    slots = _largest(holds, MAX_SLOTS)
    if slots == MAX_SLOTS:
        return Capacity(slots, "engine", f"llama-server serves at most {MAX_SLOTS} slots, and there is memory for all of them.", remarks)
    return Capacity(slots, "memory", _inequality(job, serve, slots), remarks)


def _holds(job: Job, placed: Placement) -> bool:
    if any(load.spare_bytes < 0 for load in placed.cards):
        return False
    return placed.ram is None or (job.node.ram_bytes is None and not placed.spills) or placed.ram.spare_bytes >= 0


def _inequality(job: Job, serve: Serve, slots: int) -> str:
    """The first number of slots that does not fit, against what the fullest device has."""
    settings = serve(slots + 1)
    held = _held(job, settings)
    placed = place(job, settings, held)
    load = placed.fullest
    per_slot = held.size_bytes // (slots + 1)
    pool = load.usable_bytes - (load.used_bytes - load.cache_bytes)
    where = "RAM" if load.device is None or not uses_gpu(job, settings) else load.device.name
    return (
        f"{slots + 1} × {units.size(per_slot)} = {units.size(held.size_bytes)} of cache for {slots + 1} "
        f"{'slots' if slots else 'slot'} of {job.context_tokens:,} tokens, but {where} has {units.size(max(0, pool))} left for it."
    )


def _pool_capacity(job: Job, serve: Serve, pool_bytes: int) -> Capacity:
    total = pool_bytes * max(1, len(job.node.devices))
    slots = _largest(lambda n: _held(job, serve(n)).size_bytes <= total, MAX_SLOTS)
    more = _held(job, serve(min(slots + 1, MAX_SLOTS))).size_bytes
    return Capacity(slots, "memory", f"{slots + 1} slots need {units.size(more)} of cache, and the pool has {units.size(total)}.")


def stated_capacity(job: Job, serve: Serve) -> Capacity:
    """The conversations that a given command line holds: its slots, or what its pool has room for."""
    settings = serve(1)
    held = _held(job, settings)
    context = held.context
    placed = place(job, settings, held)
    remarks = _spill_remarks(job, placed)
    if not _holds(job, placed):
        load = placed.fullest
        return Capacity(
            0,
            "memory",
            f"The command line needs {units.size(load.used_bytes)} on the fullest device, and it has {units.size(load.usable_bytes)}.",
            remarks,
        )
    if context.unified:
        slots = min(context.slots, context.n_ctx // job.context_tokens)
        return Capacity(
            slots,
            "engine",
            f"The command line has {context.slots} slots on one pool of {context.n_ctx:,} tokens: room for {slots} × {job.context_tokens:,}.",
            remarks,
        )
    slots = context.slots if context.n_ctx_slot >= job.context_tokens else 0
    return Capacity(
        slots,
        "engine",
        f"The command line has {context.slots} slots of {context.n_ctx_slot:,} tokens for conversations of {job.context_tokens:,}.",
        remarks,
    )


def _spill_remarks(job: Job, placed: Placement) -> tuple[Remark, ...]:
    if not placed.spills or placed.ram is None:
        return ()
    parts = []
    if placed.spilled_layers:
        parts.append(f"{placed.spilled_layers} of {len(job.shape.layers)} layers")
    if placed.spilled_experts:
        parts.append(f"the experts of {placed.spilled_experts} layers")
    text = f"{' and '.join(parts)} ({units.size(placed.ram.weights_bytes)}) do not fit the cards and go to RAM, whose bandwidth then sets the speed."
    if job.node.ram_bytes is None:
        text += " Say how much RAM the machine has: without it the plan cannot count on it."
    elif placed.ram.spare_bytes < 0:
        text += f" RAM is {units.size(-placed.ram.spare_bytes)} short: the rest would be swapped, and every token would wait for the disk."
    return (Remark("spills_to_ram", text[0].upper() + text[1:], "weights_quant"),)
