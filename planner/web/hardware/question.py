"""From a query string to the rows of the table that are asked for, or to the sentences that say what to change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from django.http import QueryDict

from planner.core.comparing import Option, Scope, compare
from planner.core.comparing.order import ORDERS, By, Sieve, best_of_each, ranked, read_vendors, read_verdicts, sift
from planner.core.comparing.scope import read_scope
from planner.core.draft import Source
from planner.core.errors import InputError
from planner.core.prices import NO_PRICES, Prices
from planner.core.request import FIELDS, PlanRequest, read_request
from planner.core.running_cost import NO_TARIFF, Tariff
from planner.sources import find_model
from planner.web import site
from planner.web.address import EXAMPLE, given
from planner.web.hardware.inputs import OF_ONE_MACHINE
from planner.web.hardware.parts import Parts
from planner.web.hardware.typed_prices import read_prices
from planner.web.management.price_options import given_number, given_tariff, given_whole

# Inputs of the table that may be there several times, as check boxes are.
LISTS: Final = ("vendor", "verdict", "columns")
OWN: Final = (
    "have", "device", "count", "chosen", "prices", "kwh_price", "hours", "max_price", "max_watts", "min_slots", "single_slot", "vendor",
    "verdict", "every", "sort", "columns", "page",
)  # fmt: skip
PAGE_ROWS: Final = 100
_MOST_PAGES: Final = 999
_YES: Final = {"": False, "yes": True, "on": True, "true": True, "1": True, "no": False, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query string asks of the table. `backwards` turns the order round; `every`: not only the best row of each machine."""

    request: PlanRequest
    source: Source
    scope: Scope
    prices: Prices
    tariff: Tariff
    sieve: Sieve
    by: By
    backwards: bool
    every: bool
    page: int
    chosen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """`typed` is what was given, as it was typed; exactly one of `asked` and `errors` is there."""

    typed: Mapping[str, str]
    asked: Asked | None = None
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def plan_values(self) -> dict[str, str]:
        """The inputs of a plan, without those of a machine."""
        return {name: value for name, value in self.typed.items() if name in FIELDS and name not in OF_ONE_MACHINE}

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.typed.get("columns", "").split(",") if part.strip())


def read_question(query: QueryDict) -> Question:
    """What a query string asks for. Nothing of a plan in it asks for the worked example’s need."""
    typed = typed_in(query)
    if not typed.keys() & (set(FIELDS) - set(OF_ONE_MACHINE)):
        typed = given({name: value for name, value in EXAMPLE.items() if name not in OF_ONE_MACHINE} | typed)
    return _read(typed)


def typed_in(query: QueryDict) -> dict[str, str]:
    """Everything that was filled in; what is there several times, with commas."""
    values = {name: ",".join(map(str, query.getlist(name))) if name in LISTS else str(value) for name, value in query.dict().items()}
    return given(values)


def _read(typed: dict[str, str]) -> Question:
    parts = Parts(OWN)
    part, errors = parts.read, parts.errors
    options = dict.fromkeys(OWN) | typed
    request = part(
        "", lambda: read_request({name: value for name, value in typed.items() if name not in OWN and name not in OF_ONE_MACHINE}), None
    )
    prices = part("prices", lambda: read_prices(typed.get("prices", "")), NO_PRICES)
    offers = tuple(offer.name for offer in prices.offers)
    scope = part("device", lambda: _scope(typed, offers), Scope())
    tariff = part("kwh_price", lambda: given_tariff(options), NO_TARIFF)
    sieve = part("", lambda: _sieve(options), Sieve())
    best: tuple[By, bool] = ("best", False)
    by, backwards = part("sort", lambda: _order(typed.get("sort", "best")), best)
    every = part("every", lambda: _yes("every", typed), instead=False)
    page = part("page", lambda: min(given_whole(options, "page") or 1, _MOST_PAGES), 1)
    chosen = part("chosen", lambda: read_scope(devices=typed.get("chosen", ""), offers=offers), Scope()).devices
    source = part("model", lambda: find_model(request, site.hub()), None) if request else None
    if errors or request is None or source is None:
        return Question(typed, errors=errors)
    return Question(typed, Asked(request, source, scope, prices, tariff, sieve, by, backwards, every, page, chosen))


def _scope(typed: Mapping[str, str], offers: tuple[str, ...]) -> Scope:
    return read_scope(devices=typed.get("device", ""), counts=typed.get("count", ""), have=typed.get("have", ""), offers=offers)


def _sieve(options: Mapping[str, str | None]) -> Sieve:
    return Sieve(
        max_price=given_number(options, "max_price"),
        max_watts=given_whole(options, "max_watts"),
        vendors=read_vendors(options["vendor"] or ""),
        verdicts=read_verdicts(options["verdict"] or ""),
        min_slots=given_whole(options, "min_slots"),
        single_slot=_yes("single_slot", options),
    )


def _yes(name: str, options: Mapping[str, str | None]) -> bool:
    text = (options.get(name) or "").strip().lower()
    if text not in _YES:
        raise InputError(f"“{text[:20]}” is neither yes nor no.", field=name)
    return _YES[text]


def _order(text: str) -> tuple[By, bool]:
    """`price`, or `-price` for the other way round."""
    wanted = text.strip().lower()
    found = next((order for order in ORDERS if order == wanted.removeprefix("-")), None)
    if found is None:
        raise InputError(f"“{wanted[:20]}” is nothing to sort by: give one of {', '.join(ORDERS)}.", field="sort")
    return found, wanted.startswith("-")


@dataclass(frozen=True, slots=True)
class Found:
    """`table` is every combination, `rows` those that pass, in order."""

    table: tuple[Option, ...]
    rows: tuple[Option, ...]


def found(asked: Asked) -> Found:
    """Raises InputError for a need that every machine refuses alike."""
    patience = asked.request.patience
    named = frozenset(asked.request.model_fields_set)
    table = _table(asked.request, asked.source, asked.scope, prices=asked.prices, tariff=asked.tariff, named=named)
    passing = sift(table, asked.sieve)
    rows = passing if asked.every else best_of_each(passing, patience_seconds=patience)
    return Found(table, ranked(rows, asked.by, patience_seconds=patience, backwards=asked.backwards))


@lru_cache(maxsize=4)
def _table(
    request: PlanRequest,
    source: Source,
    scope: Scope,
    *,
    prices: Prices,
    tariff: Tariff,
    named: frozenset[str],  # noqa: ARG001 (an input that was given counts, also where it is the default)
) -> tuple[Option, ...]:
    """Filters, orders, pages, files and charts of one need share its table: it is the same for the same inputs."""
    return compare(request, source, scope, prices=prices, tariff=tariff)
