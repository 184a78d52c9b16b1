"""The choice of a note: the machine that was named, else the cheapest step from today's, else the first of the hardware table."""

from dataclasses import dataclass
from typing import Any, Final

from planner.core import catalog
from planner.core.comparing import Option, Scope, compare
from planner.core.comparing.order import best_of_each, keeps_pace, ranked
from planner.core.draft import Source
from planner.core.errors import InputError
from planner.core.ladder import Ladder, ladder
from planner.core.ladder.costs import cost_of, nothing
from planner.core.ladder.rung import Cost, Rung
from planner.core.plan import Plan
from planner.core.prices import Prices
from planner.core.request import PlanRequest

_SHOWN: Final = 6
_SHORT: Final = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """The request of one machine, how many of them, what they cost, and why."""

    changes: dict[str, Any]
    machines: int
    cost: Cost
    why: str


def table(request: PlanRequest, source: Source, scope: Scope, prices: Prices) -> tuple[Option, ...]:
    """The hardware table for the need, over the machines in `scope`. Raises InputError where none can be planned."""
    anywhere = {"device": None, "count": 1, "gpu_memory": None, "tensor_parallel": None, "pipeline_parallel": None, "reserved_memory": None}
    return compare(request.model_copy(update=anywhere), source, scope, prices=prices)


def climbed(request: PlanRequest, source: Source, have: tuple[tuple[str, int], ...], prices: Prices) -> Ladder | None:
    """The ladder from today's machine; None where there is none, or it cannot be planned at all."""
    if not have:
        return None
    try:
        return ladder(request, source, have=have, prices=prices)
    except InputError:
        return None


def choice(
    request: PlanRequest, rows: tuple[Option, ...], found: Ladder | None, have: tuple[tuple[str, int], ...], prices: Prices
) -> Choice:
    """Raises InputError where nothing serves these people and no machine was named."""
    if request.device or request.gpu_memory or (request.ram and not found):
        return Choice({}, 1, _named_cost(request, have, prices), "You named this machine; the others are here to compare.")
    if found:
        if found.suffices(found.today):
            return Choice(
                dict(found.today.changes), 1, nothing(prices.currency), "Today's machine serves everyone: nothing has to be bought."
            )
        first = next((rung for rung in found.rungs if found.suffices(rung) and _keeps_the_need(rung, request)), None)
        if first:
            why = f"The cheapest step from today's machine that serves everyone: {first.change[0].lower()}{first.change[1:]}."
            changes = {**dict(found.today.changes), **dict(first.changes)}
            machines = first.machines if first.kind == "replica" else 1
            return Choice(changes, machines, first.cost, why)
    return _of_table(request, rows, prices)


def _keeps_the_need(rung: Rung, request: PlanRequest) -> bool:
    """A context that was asked for is a need: a shorter one is no answer to it."""
    return rung.kind != "context" or "context" not in request.model_fields_set


def _of_table(request: PlanRequest, rows: tuple[Option, ...], prices: Prices) -> Choice:
    serving = [row for row in rows if serves(row) and keeps_pace(row, patience_seconds=request.patience) is not False]
    offered = [row for row in serving if row.unit_price and row.unit_price.origin == "entered"]
    best = ranked(offered or serving, patience_seconds=request.patience)
    if not best:
        raise InputError(
            "No machine of the table serves these people at a pace to read: name a smaller model or weight format, fewer users, or the machine "
            "(--device)."
        )
    row = best[0]
    priced = "the price list" if offered else "the catalogue, by launch price, since no price list has one that serves everyone"
    why = (
        f"The best of {priced}: it serves everyone at a pace to read, at the lowest known price, then the least power, then the most bits."
    )
    return Choice(dict(row.changes), 1, cost_of(row.device, catalog.devices().get(row.device), row.count - row.owned, prices), why)


def _named_cost(request: PlanRequest, have: tuple[tuple[str, int], ...], prices: Prices) -> Cost:
    """Of what is named and not there yet; of several kinds or memory typed by hand nothing is said."""
    kinds = catalog.parse_machines(request.device) if request.device else ()
    if len(kinds) != 1:
        return Cost(None, None, prices.currency, 1, (), "no price given")
    slug, number = kinds[0]
    owned = sum(count for name, count in have if name == slug)
    return cost_of(slug, catalog.device(slug), max(0, max(number, request.count) - owned), prices)


def serves(row: Option) -> bool:
    return row.verdict != "does_not_fit" and row.slots_needed is not None and row.slots_that_fit >= row.slots_needed


def shown(rows: tuple[Option, ...], chosen: Option | None, have: tuple[tuple[str, int], ...], patience: float) -> tuple[Option, ...]:
    """What a page can hold: the choice, today's machine, the best of the rest, and the cheapest ones that fall short."""
    best = best_of_each(rows, patience_seconds=patience)
    today = [row for row in best if have and row.owned == row.count == sum(count for _, count in have)]
    good = [row for row in best if serves(row)][:_SHOWN]
    short = sorted((row for row in best if not serves(row) and row.price), key=lambda row: -row.slots_that_fit)[:_SHORT]
    picked = dict.fromkeys([*([chosen] if chosen else []), *today, *good, *short])
    return tuple(picked)


def row_of(rows: tuple[Option, ...], plan: Plan) -> Option | None:
    """The row of the table that is the plan; None where it is in none: a list of cards, other settings, memory typed by hand."""
    request = plan.request
    settings = (plan.engine.name, plan.weights.format if plan.weights else "", plan.engine.cache_type_k, request.context)
    named = catalog.parse_machines(request.device) if request.device else ()
    if len(named) > 1 or request.gpu_memory:
        return None
    machine = (named[0][0], max(named[0][1], request.count)) if named else None
    return next(
        (row for row in rows if (row.engine, row.weights, row.cache_type, row.context) == settings and _is(row, machine, request)), None
    )


def _is(row: Option, machine: tuple[str, int] | None, request: PlanRequest) -> bool:
    """Whether the row is about this machine: by its devices, else by its main memory."""
    own = dict(row.changes)
    if machine is None:
        return own.get("device") is None and own.get("ram") == request.ram
    return (row.device, row.count) == machine and (row.memory_bytes == request.ram or row.device_class != "cpu")
