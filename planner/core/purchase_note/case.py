"""What a note is made from: the choice as a plan, the table it was chosen from, and what follows from it."""

from dataclasses import dataclass

from planner.core.comparing import Option
from planner.core.draft import Outline, Source
from planner.core.economics import Economics, Terms
from planner.core.engines.contract import HandOver
from planner.core.ladder import Ladder
from planner.core.ladder.rung import Cost
from planner.core.ledger import Ledger
from planner.core.plan import Plan
from planner.core.power import Power
from planner.core.prices import Prices
from planner.core.request import PlanRequest
from planner.core.running_cost import Tariff
from planner.core.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class Case:
    """`request` is what was asked, `plan` the choice. `why` says who chose it and by what. `ladder` where a machine stands there already.

    `options` are the rows to show, `chosen` the one among them that is the choice (None: it is in no table). `compared` counts them all.
    """

    request: PlanRequest
    source: Source
    plan: Plan
    hand_over: HandOver
    drawn: Outline
    machines: int
    why: str
    cost: Cost
    options: tuple[Option, ...]
    chosen: Option | None
    compared: int
    have: tuple[tuple[str, int], ...]
    ladder: Ladder | None
    sensitivity: Sensitivity
    ledger: Ledger
    power: Power
    economics: Economics
    prices: Prices
    tariff: Tariff
    terms: Terms
