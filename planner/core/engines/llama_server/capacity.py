"""How many conversations at the full context fit, and the comparison that decides."""

from collections.abc import Callable
from dataclasses import replace

from planner.core import units
from planner.core.engines.contract import Capacity, Job, Room
from planner.core.engines.llama_server.fit_context import held
from planner.core.engines.llama_server.placement import Load, Placement, place
from planner.core.engines.llama_server.remarks import remarks
from planner.core.engines.llama_server.serving import MAX_SLOTS, Serving

Serve = Callable[[int], Serving]


def _placed(job: Job, settings: Serving) -> Placement:
    return place(job, settings, held(job, settings))


def _largest(holds: Callable[[int], bool], most: int, *, guess: int = 0) -> int:
    """The largest number up to `most` for which `holds`, which stays false once it is; 0 where it never is.

    A good `guess` saves trials.
    """
    low, high = 0, most
    for tried in (guess, guess + 1, guess - 1):
        if low < tried <= high:
            low, high = (tried, high) if holds(tried) else (low, tried - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def planned_capacity(job: Job, serve: Serve) -> Capacity:
    """Slots with a private stream of the job's context each.

    Where all layers are on the cards with one slot, they stay there with more; else the RAM decides.
    """
    if job.cache_memory_bytes is not None:
        return _pool_capacity(job, serve, job.cache_memory_bytes)
    settings = serve(1)
    kept = held(job, settings)
    one = place(job, settings, kept)
    told = remarks(job, settings, kept, one)
    slots = _planned_slots(job, serve, one)
    if slots == MAX_SLOTS:
        return Capacity(slots, "engine", f"llama-server serves at most {MAX_SLOTS} slots, and there is memory for all of them.", told)
    return Capacity(slots, "memory", _inequality(job, serve, slots, one), told)


def planned_room(job: Job, serve: Serve) -> Room:
    """The slots of `planned_capacity` without its words."""
    if job.cache_memory_bytes is not None:
        slots = _pool_slots(job, serve, job.cache_memory_bytes * max(1, len(job.node.devices)))
    else:
        slots = _planned_slots(job, serve, _placed(job, serve(1)))
    return Room(slots, "engine" if slots == MAX_SLOTS else "memory")


def _planned_slots(job: Job, serve: Serve, one: Placement) -> int:
    """The slots that the machine holds; `one` is the placement with a single one."""

    def holds(slots: int) -> bool:
        placed = one if slots == 1 else _placed(job, serve(slots))
        return (one.spills or not placed.spills) and _holds(job, placed)

    if not holds(1):
        return 0
    # What the fullest card holds if every further slot takes the cache of the first, as it does but for rounding.
    guess = min((1 + card.spare_bytes // card.cache_bytes for card in one.cards if card.cache_bytes), default=1)
    return _largest(holds, MAX_SLOTS, guess=min(guess, MAX_SLOTS))


def _holds(job: Job, placed: Placement) -> bool:
    if not placed.cards_hold:
        return False
    return placed.ram is None or (job.node.ram_bytes is None and not placed.spills) or placed.ram.spare_bytes >= 0


def _inequality(job: Job, serve: Serve, slots: int, one: Placement) -> str:
    """The first number of slots that does not fit, against what the device that decides has."""
    more = slots + 1
    settings = serve(more)
    if not one.spills:
        settings = replace(settings, fit=False)
    placed = place(job, settings, held(job, settings))
    short, where = _short(placed)
    if not short.cache_bytes or short.used_bytes - short.cache_bytes > short.usable_bytes:
        needed, there = units.apart(short.used_bytes, short.usable_bytes)
        return f"{needed} of weights, buffers and cache for {_slots(more)}, but {where} has {there}."
    pool = short.usable_bytes - (short.used_bytes - short.cache_bytes)
    on_it = "" if len(placed.cards) == 1 else f" on {where}"
    needed, left = units.apart(short.cache_bytes, pool)
    return (
        f"{more} × {units.size(short.cache_bytes / more)} = {needed} of cache{on_it} for {_slots(more)} of "
        f"{job.context_tokens:,} tokens, but {where} has {left} left for it."
    )


def _short(placed: Placement) -> tuple[Load, str]:
    """What decides, with its name: the fullest card, or the RAM where it is what runs out."""
    short = placed.ram if placed.cards_hold and placed.ram and placed.ram.spare_bytes < 0 else placed.fullest
    return short, short.device.name if short.device else "main memory"


def _slots(count: int) -> str:
    return f"{count} slot{'s' if count != 1 else ''}"


def _pool_slots(job: Job, serve: Serve, pool_bytes: int) -> int:
    return _largest(lambda slots: held(job, serve(slots)).size_bytes <= pool_bytes, MAX_SLOTS)


def _pool_capacity(job: Job, serve: Serve, pool_bytes: int) -> Capacity:
    total = pool_bytes * max(1, len(job.node.devices))
    slots = _pool_slots(job, serve, total)
    if slots == MAX_SLOTS:
        return Capacity(slots, "engine", f"llama-server serves at most {MAX_SLOTS} slots, and the pool has room for all of them.")
    more = held(job, serve(slots + 1)).size_bytes
    return Capacity(
        slots,
        "memory",
        f"{_slots(slots + 1)} of {job.context_tokens:,} tokens need {units.size(more)} of cache, and the pool has {units.size(total)}.",
    )


def stated_capacity(job: Job, serve: Serve) -> Capacity:
    """The conversations that a given command line holds: its slots, or what its pool has room for."""
    settings = serve(1)
    kept = held(job, settings)
    context = kept.context
    placed = place(job, settings, kept)
    told = remarks(job, settings, kept, placed)
    if not _holds(job, placed):
        load, where = _short(placed)
        return Capacity(
            0, "memory", f"The command line needs {units.size(load.used_bytes)}, but {where} has {units.size(load.usable_bytes)}.", told
        )
    if context.unified:
        slots = min(context.slots, context.n_ctx // job.context_tokens) if context.n_ctx_slot >= job.context_tokens else 0
        return Capacity(
            slots,
            "engine",
            f"The command line has {context.slots} slots on one pool of {context.n_ctx:,} tokens: room for {slots} × {job.context_tokens:,}.",
            told,
        )
    slots = context.slots if context.n_ctx_slot >= job.context_tokens else 0
    return Capacity(
        slots,
        "engine",
        f"The command line has {context.slots} slots of {context.n_ctx_slot:,} tokens for conversations of {job.context_tokens:,}.",
        told,
    )
