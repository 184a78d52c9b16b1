"""The rungs in order of cost, from today's machine to the users to be served."""

import math
from typing import Final

from planner.core import catalog
from planner.core.draft import Source
from planner.core.engines import engines
from planner.core.errors import InputError
from planner.core.ladder.buying import MOST_CARDS, buying_rungs
from planner.core.ladder.costs import nothing
from planner.core.ladder.more_machines import cluster_rungs, replica_rungs
from planner.core.ladder.rung import Ladder, Rung
from planner.core.ladder.settings import settings_rungs
from planner.core.ladder.trying import Start, rung
from planner.core.planning import choose_engine
from planner.core.prices import NO_PRICES, Prices
from planner.core.request import PlanRequest
from planner.core.sensitivity import Held, most_users

RENTED_MONTHS: Final = 36
_FREE_FIRST: Final = ("context", "cache", "weights", "cache_and_weights")


def ladder(request: PlanRequest, source: Source, *, have: tuple[tuple[str, int], ...] = (), prices: Prices = NO_PRICES) -> Ladder:
    """Every change that brings users, the cheapest first. `have` is today's machine, else that of the request.

    Raises InputError where today's machine cannot be planned at all.
    """
    start = _start(request, source, have, prices)
    today = rung(start, "today", start.node.title, why="As it stands.", changes=dict(start.machine), cost=nothing(prices.currency))
    if today is None:
        raise InputError("Today's machine cannot be planned: name another as what you have, or as the device.", field="have")
    rungs = [*settings_rungs(start), *buying_rungs(start), *replica_rungs(start)]
    if not start.now.outcome.slots_that_fit and (len(start.node.devices) >= MOST_CARDS or not any(found.reaches for found in rungs)):
        rungs.extend(cluster_rungs(start))
    useful = [found for found in rungs if found.gained > 0 or found.users_waiting > today.users_waiting]
    useful.sort(key=_order)
    return Ladder(request.users, today, tuple(useful), prices.currency, tuple(_notes(start, useful, prices)))


def _start(request: PlanRequest, source: Source, have: tuple[tuple[str, int], ...], prices: Prices) -> Start:
    if have:
        devices = ",".join(f"{count}x{catalog.device(slug).slug}" for slug, count in have)
        request = request.model_copy(update={"device": devices, "count": 1, "gpu_memory": None})
    drafted, _ = choose_engine(request, source)
    held = Held(drafted.request, source, engines()[drafted.engine.name])
    machine = (("device", drafted.request.device), ("count", drafted.request.count))
    return Start(held, held.outline({}), prices, most_users(held, {}), machine)


def _order(found: Rung) -> tuple[float | str, ...]:
    """Free ones by how little they change; then by price: what was entered, then launch prices, then what has none."""
    cost = found.cost
    free = _FREE_FIRST.index(found.kind) if found.kind in _FREE_FIRST else len(_FREE_FIRST)
    known = 0 if cost.is_offer else 1 if cost.amount is not None else 2
    spent = (cost.amount or 0.0) + RENTED_MONTHS * (cost.monthly or 0.0)
    return (known, spent, free, found.watts if found.watts is not None else math.inf, found.change)


def _notes(start: Start, rungs: list[Rung], prices: Prices) -> list[str]:
    served = "Today's machine serves everyone already. " if start.users >= start.now.load.users else ""
    notes = [f"{served}Every rung is planned by itself on today's machine, under {start.held.engine.title} unless it names another."]
    if any(not found.cost.is_offer for found in rungs):
        notes.append(
            f"Launch prices are list prices of their year in US dollars, no offers: type yours (this list counts in {prices.currency})."
        )
    if any(found.cost.monthly for found in rungs):
        notes.append(f"Rent stands in the order with {RENTED_MONTHS} months of it.")
    if not any(found.reaches for found in rungs):
        notes.append("No rung alone serves everyone: combine the free ones with a card, or look at the whole hardware table.")
    return notes
