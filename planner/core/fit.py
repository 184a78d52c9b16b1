"""Slots against memory and people: how many fit, how many are needed, what binds, and the smallest changes that help."""

from collections.abc import Iterator
from dataclasses import dataclass

from planner.core import units
from planner.core.engines.contract import Capacity, Room
from planner.core.plan import Fit, Limit, SlotTrade, UserScenario, Verdict, Workload
from planner.core.queueing import queue_bound, slot_trade, slots_needed
from planner.core.workload import workload


def trade(load: Workload, slots: int) -> SlotTrade:
    return slot_trade(users=load.users, slots=max(1, slots), generate_seconds=load.generate_seconds, turn_seconds=load.turn_seconds)


def needed(load: Workload, wait_target: float) -> int:
    return slots_needed(users=load.users, generate_seconds=load.generate_seconds, turn_seconds=load.turn_seconds, wait_target=wait_target)


def verdict(*, slots: int, wanted: int, fitting: int, mean_wait_seconds: float, patience_seconds: float) -> Verdict:
    """`fits` when more slots fit than are needed, `tight` when just as many do or the wait stays within patience."""
    if slots > fitting or fitting == 0:
        return "does_not_fit"
    if fitting > wanted and slots >= wanted:
        return "fits"
    if slots >= wanted or mean_wait_seconds <= patience_seconds:
        return "tight"
    return "does_not_fit"


def _trades(load: Workload, slots: int, wanted: int) -> tuple[SlotTrade, ...]:
    """One slot fewer and one more than chosen and than needed, so that the trade is visible."""
    counts = {n for centre in (slots, wanted) for n in (centre - 1, centre, centre + 1) if 1 <= n <= load.users}
    return tuple(trade(load, n) for n in sorted(counts))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The slots of a plan, the verdict on them, what limits them, and what people get."""

    slots: int
    slots_needed: int
    slots_that_fit: int
    verdict: Verdict
    limit: Limit
    chosen: SlotTrade


def outcome(*, load: Workload, room: Room | Capacity, given_slots: int, wait_target: float, patience_seconds: float) -> Outcome:
    """The slots given, else the smaller of those needed and those that fit (at least one is planned for)."""
    wanted = needed(load, wait_target)
    slots = given_slots or max(1, min(wanted, room.slots))
    chosen = trade(load, slots)
    return Outcome(
        slots=slots,
        slots_needed=wanted,
        slots_that_fit=room.slots,
        verdict=verdict(
            slots=slots,
            wanted=wanted,
            fitting=room.slots,
            mean_wait_seconds=chosen.mean_wait_seconds,
            patience_seconds=patience_seconds,
        ),
        limit="users" if wanted <= room.slots else room.limit,
        chosen=chosen,
    )


def fit(*, load: Workload, capacity: Capacity, context_tokens: int, given_slots: int, wait_target: float, patience_seconds: float) -> Fit:
    """The outcome with its reasons, the trades around it and the queue."""
    found = outcome(load=load, room=capacity, given_slots=given_slots, wait_target=wait_target, patience_seconds=patience_seconds)
    slots = found.slots
    queue = queue_bound(users=load.users, slots=slots, generate_seconds=load.generate_seconds, patience_seconds=patience_seconds)
    return Fit(
        slots=slots,
        slots_needed=found.slots_needed,
        slots_that_fit=found.slots_that_fit,
        context_per_slot=context_tokens,
        verdict=found.verdict,
        limit=found.limit,
        inequality=capacity.inequality,
        chosen=found.chosen,
        trades=_trades(load, slots, found.slots_needed),
        max_queue=queue,
        max_queue_why=_queue_why(queue, load, slots, patience_seconds),
    )


def _queue_why(queue: int, load: Workload, slots: int, patience_seconds: float) -> str:
    if slots >= load.users:
        return "Everyone has a slot: one place is left for a request on the side, such as the title of a chat."
    pace = load.generate_seconds / slots
    last = queue * pace
    everyone = " The others have a slot." if queue == load.users - slots else ""
    return (
        f"With {slots} {'slot' if slots == 1 else 'slots'} busy, one finishes about every {units.seconds(pace)}: number {queue} in the queue "
        f"starts after about {units.seconds(last)}, "
        + (
            f"within the {units.seconds(patience_seconds)} people are ready to wait."
            if last <= patience_seconds * (1 + 1e-9)
            else f"more than the {units.seconds(patience_seconds)} people are ready to wait, but one must be able to."
        )
        + everyone
    )


def scenario_users(users: int) -> Iterator[int]:
    """2, 5 and 20 users with the user's own number among them, each once, in order."""
    return iter(sorted({2, 5, 20, users}))


def scenario(
    users: int, *, load: Workload, plan_slots: int, wait_target: float, request_bytes: int, bandwidth_bytes_per_s: float | None
) -> UserScenario:
    """What changes for `users` people on the same machine and plan."""
    own = workload(users=users, generate_seconds=load.generate_seconds, turn_seconds=load.turn_seconds)
    slots = needed(own, wait_target)
    return UserScenario(
        users=users,
        in_flight_mean=own.in_flight_mean,
        in_flight_p95=own.in_flight_p95,
        one_slot=trade(own, 1),
        plan_slots=trade(own, plan_slots),
        slots_needed=slots,
        cache_needed_bytes=slots * request_bytes,
        bandwidth_share_bytes_per_s=bandwidth_bytes_per_s and bandwidth_bytes_per_s / max(1.0, min(own.in_flight_mean, plan_slots)),
    )
