"""What each tenant costs in slots: the plan drafted again with that much memory left to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from planner.core.draft import Outline
from planner.core.errors import InputError
from planner.core.ledger.peaks import Peak, peaks
from planner.core.ledger.tenants import Tenant, read_tenants
from planner.core.plan import Verdict
from planner.core.sensitivity import Held, most_users


@dataclass(frozen=True, slots=True)
class Entry:
    """A tenant with the slots that it costs alone, and what is left with it and all before it.

    `slots_lost_low` and `slots_lost_high` are for the ends of its size. `verdict` and `slots_left` are for the running sum.
    """

    tenant: Tenant
    slots_lost: int
    slots_lost_low: int
    slots_lost_high: int
    slots_left: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Ledger:
    """`users` are the most that find a slot with everything beside the model, `users_alone` without it.

    `base_bytes` are left to others before the first entry, `total_bytes` after the last.
    """

    slots_alone: int
    slots_needed: int
    users_alone: int
    users: int
    base_bytes: int
    total_bytes: int
    entries: tuple[Entry, ...]
    verdict: Verdict
    peaks: tuple[Peak, ...]
    notes: tuple[str, ...]


def ledger(held: Held, beside: str) -> Ledger:
    """For what is typed in `beside` (see `read_tenants`). Raises InputError (field "beside") for what is not known or has no room at all."""
    alone = held.outline({})
    tenants = read_tenants(beside, held, alone)
    base = base_bytes(held, alone)
    kept, entries = base, []
    for tenant in tenants:
        lost, low, high = (alone.outcome.slots_that_fit - _slots(held, base + size) for size in _sizes(tenant))
        kept += tenant.size_bytes
        planned = _with(held, kept)
        slots, verdict = (planned.outcome.slots_that_fit, planned.outcome.verdict) if planned else (0, "does_not_fit")
        entries.append(Entry(tenant, lost, low, high, slots, verdict))
    last = _with(held, kept)
    return Ledger(
        slots_alone=alone.outcome.slots_that_fit,
        slots_needed=alone.outcome.slots_needed,
        users_alone=most_users(held, {}),
        users=most_users(held, _reserved(kept)) if last else 0,
        base_bytes=base,
        total_bytes=kept,
        entries=tuple(entries),
        verdict=last.outcome.verdict if last else "does_not_fit",
        peaks=peaks(held, last) if last else (),
        notes=_notes(alone, tenants),
    )


def base_bytes(held: Held, alone: Outline) -> int:
    """What is left to others already: as typed, else on a machine without a GPU what its budget leaves to the system."""
    typed = alone.job.node.reserved_bytes
    if typed or alone.job.node.has_gpu:
        return typed
    budget = held.engine.budget(alone.job, alone.outcome.slots)
    return sum(line.size_bytes for line in budget.lines if line.kind == "reserved")


def _sizes(tenant: Tenant) -> tuple[int, int, int]:
    return tenant.size_bytes, tenant.low_bytes, tenant.high_bytes


def _reserved(size_bytes: int) -> dict[str, int | None]:
    return {"reserved_memory": size_bytes or None}


def _with(held: Held, size_bytes: int) -> Outline | None:
    """None where nothing is left to plan with."""
    try:
        return held.outline(_reserved(size_bytes))
    except InputError as refusal:
        if refusal.field in {None, "reserved_memory"}:
            return None
        raise


def _slots(held: Held, size_bytes: int) -> int:
    planned = _with(held, size_bytes)
    return planned.outcome.slots_that_fit if planned else 0


def _notes(alone: Outline, tenants: Sequence[Tenant]) -> tuple[str, ...]:
    node, notes = (
        alone.job.node,
        ["Each is counted while all of them are loaded; what shares the card also shares its speed, which is not in these slots."],
    )
    if len(node.devices) > 1 and tenants:
        notes.append("Everything beside the model is counted on the first card: put it on the one with the most to spare.")
    return tuple(notes)
