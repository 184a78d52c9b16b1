"""One change tried: planned, its users found, and put as a rung."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core import units
from planner.core.comparing.order import READING_RATE
from planner.core.draft import Outline, decode_step
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.ladder.rung import Cost, Kind, Rung
from planner.core.power import board_watts
from planner.core.prices import Prices
from planner.core.quality import Risk
from planner.core.queueing import slots_needed
from planner.core.request import MAX_USERS
from planner.core.sensitivity import Held, most_users
from planner.core.sensitivity.ranges import reason
from planner.core.sensitivity.search import flip
from planner.core.sensitivity.users import bears, serves


@dataclass(frozen=True, slots=True)
class Start:
    """Today's machine under its engine, and what rungs are measured against."""

    held: Held
    now: Outline
    prices: Prices
    users: int
    machine: tuple[tuple[str, Any], ...]

    @property
    def node(self) -> Node:
        return self.now.job.node


def tried(start: Start, changes: Mapping[str, Any]) -> Outline | None:
    """The plan of today's machine with these changes, None where its engine cannot run that."""
    return start.held.tried(changes)


def rung(
    start: Start,
    kind: Kind,
    change: str,
    *,
    why: str,
    changes: Mapping[str, Any],
    cost: Cost,
    held: Held | None = None,
    risk: Risk | None = None,
) -> Rung | None:
    """The change planned on one machine; None where the engine refuses it. `held` is another engine than today's."""
    kept = held or start.held
    try:
        planned = kept.outline(changes)
        users = most_users(kept, changes)
        waiting = most_users(kept, changes, bears)
        reading = _users_reading(kept, changes)
    except InputError:
        return None
    found, job = planned.outcome, planned.job
    watts, today = _watts(job.node), _watts(start.node)
    return Rung(
        kind=kind,
        change=change,
        why=why,
        changes=(*changes.items(), ("engine", kept.engine.name)),
        engine=kept.engine.name,
        weights=job.weights.format,
        cache_type=kept.engine.cache_types(job)[0],
        context=planned.context_tokens,
        machine=job.node.title,
        machines=1,
        verdict=found.verdict,
        slots_needed=found.slots_needed,
        slots_that_fit=found.slots_that_fit,
        users=users,
        users_waiting=waiting,
        users_reading=reading,
        gained=users - start.users,
        reaches=serves(planned),
        cost=cost,
        watts=watts,
        watts_more=None if watts is None or today is None else watts - today,
        risk=risk,
        next_limit=next_limit(kept, changes, users, reading),
        disputed=tuple(text for device in job.node.kinds for text in device.disputed),
    )


def _watts(node: Node) -> int | None:
    """Of the boards; None where there are none, or one is not known."""
    return board_watts(node.devices) if node.has_gpu else None


def _users_reading(held: Held, changes: Mapping[str, Any]) -> int | None:
    if decode_step(held.outline(changes), 1) is None:
        return None
    return most_users(held, changes, lambda planned: serves(planned) and keeps_reading(planned))


def keeps_reading(planned: Outline) -> bool:
    """Everyone gets tokens as fast as people read, by the middle of the estimate."""
    step = decode_step(planned, planned.outcome.slots)
    return step is not None and 1 / step.value >= READING_RATE


def next_limit(held: Held, changes: Mapping[str, Any], users: int, reading: int | None) -> str:
    """What stops one user more; speed where that is nearer."""
    if reading is not None and reading < users:
        return slower(held.outline({**changes, "users": reading + 1}))
    if users >= MAX_USERS:
        return f"{MAX_USERS:,} users are as far as a plan goes."
    one_more = {**changes, "users": users + 1}
    beyond, planned = held.draft(one_more), held.outline(one_more)
    binds = {"memory": "Memory", "engine": "The engine", "users": "The number of slots"}[planned.outcome.limit]
    return f"At {units.counted(users + 1, 'user')}: {reason(planned)} {binds} binds: {beyond.fit.inequality}"


def slower(planned: Outline) -> str:
    """Everybody gets tokens slower than people read."""
    step = decode_step(planned, planned.outcome.slots)
    if step is None:
        return ""
    ends = f" ({units.significant(1 / step.high, 2)} to {units.significant(1 / step.low, 2)})" if step.low and step.high else ""
    mark = "about " if step.grade == "estimated" else ""
    return (
        f"At {units.counted(planned.load.users, 'user')}: speed. Everyone gets {mark}{units.significant(1 / step.value, 2)} tokens/s{ends}, "
        f"and people read {READING_RATE:.1f}."
    )


def users_of(planned: Outline, slots: int) -> int:
    """The most users whose need of slots is no more than `slots`, by the plan's own load."""
    load, target = planned.load, planned.request.wait_target

    def enough(users: int) -> bool:
        needed = slots_needed(users=users, generate_seconds=load.generate_seconds, turn_seconds=load.turn_seconds, wait_target=target)
        return needed <= slots

    return flip(enough, start=1, end=MAX_USERS, probes=0).last if slots and enough(1) else 0
