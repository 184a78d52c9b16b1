"""compare: every sensible combination of machine, engine, weights and cache, each planned as a plan is."""

from planner.core.comparing.option import Option
from planner.core.comparing.scope import EVERYTHING, Scope
from planner.core.draft import Source
from planner.core.prices import NO_PRICES, Prices
from planner.core.request import PlanRequest
from planner.core.running_cost import NO_TARIFF, Tariff


def compare(
    request: PlanRequest, source: Source, scope: Scope = EVERYTHING, *, prices: Prices = NO_PRICES, tariff: Tariff = NO_TARIFF
) -> tuple[Option, ...]:
    """The table, the best choice first. Raises InputError for a request that no machine can change."""
    raise NotImplementedError
