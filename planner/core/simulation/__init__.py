"""The event-driven simulator: what people will feel from a scheduler, a machine's speeds and a load, turn by turn.

Exact for the rules it knows and deterministic by seed; it knows no clock, no network and no device. A policy is a module in
`policies/`, found here.
"""

import importlib
import pkgutil
from functools import cache

from planner.core.errors import InputError
from planner.core.simulation import policies as _policies
from planner.core.simulation.cost import PassCost
from planner.core.simulation.loop import MAX_EVENTS, Loop
from planner.core.simulation.policy import Policy
from planner.core.simulation.results import Run
from planner.core.simulation.scheduler import Scheduler
from planner.core.simulation.traffic import Source, Traffic, source_of

__all__ = [
    "MAX_EVENTS", "PassCost", "Policy", "Run", "Scheduler", "Source", "Traffic", "policies", "policy_of", "replay", "simulate", "source_of",
]  # fmt: skip


@cache
def policies() -> dict[str, type[Policy]]:
    """Every policy by its name."""
    modules = (importlib.import_module(f"{_policies.__name__}.{entry.name}") for entry in pkgutil.iter_modules(_policies.__path__))
    return {module.POLICY.name: module.POLICY for module in modules}


def policy_of(scheduler: Scheduler, *, kinds: int, shared_tokens: int = 0) -> Policy:
    """A server with these settings, nobody in it yet. Raises InputError where no policy has the name."""
    known = policies()
    if scheduler.policy not in known:
        raise InputError(f"“{scheduler.policy[:40]}” is no scheduling policy: choose {', '.join(sorted(known))}.", field="policy")
    return known[scheduler.policy](scheduler, kinds=kinds, shared_tokens=shared_tokens)


def simulate(scheduler: Scheduler, cost: PassCost, traffic: Traffic, *, max_events: int = MAX_EVENTS) -> Run:
    """The load on the server. Raises InputError where it takes more than `max_events` events."""
    names = tuple(kind.name for kind in traffic.kinds)
    return replay(scheduler, cost, source_of(traffic), kinds=names, shared_tokens=traffic.shared_tokens, max_events=max_events)


def replay(
    scheduler: Scheduler,
    cost: PassCost,
    source: Source,
    *,
    kinds: tuple[str, ...] = ("turns",),
    shared_tokens: int = 0,
    max_events: int = MAX_EVENTS,
) -> Run:
    """As `simulate`, with requests from any source; `kinds` names the kinds of turns in it."""
    policy = policy_of(scheduler, kinds=len(kinds), shared_tokens=shared_tokens)
    return Loop(policy, cost, source, kinds, max_events=max_events).run()
