"""The note put together: the choice planned, what it costs and draws, where it breaks, and how to check it."""

from dataclasses import replace

from planner.core import catalog
from planner.core.comparing.scope import EVERYTHING, Scope
from planner.core.comparing.table import assumed_prompt
from planner.core.draft import Source
from planner.core.economics import NO_TERMS, Terms, economics
from planner.core.ledger import ledger
from planner.core.planning import make_plan
from planner.core.power import board_watts, power
from planner.core.prices import NO_PRICES, Prices
from planner.core.purchase_note import after, before
from planner.core.purchase_note.case import Case
from planner.core.purchase_note.choosing import choice, climbed, row_of, shown, table
from planner.core.purchase_note.tree import PurchaseNote
from planner.core.request import PlanRequest
from planner.core.running_cost import NO_TARIFF, Tariff
from planner.core.sensitivity import held, sensitivity

__all__ = ["Terms", "purchase_note"]


def purchase_note(
    request: PlanRequest,
    source: Source,
    *,
    have: tuple[tuple[str, int], ...] = (),
    prices: Prices = NO_PRICES,
    tariff: Tariff = NO_TARIFF,
    terms: Terms = NO_TERMS,
    beside: str = "",
    scope: Scope = EVERYTHING,
    simulated: bool = True,
) -> PurchaseNote:
    """The note for a need. A machine in the request is the choice; else the cheapest step from `have`, else the best of the table.

    `beside` is what else the machine carries (`ledger.read_tenants`), `scope` what to compare. Raises InputError where nothing can be planned.
    """
    compared = replace(scope, have=have)
    case = _case(request, source, scope=compared, prices=prices, tariff=tariff, terms=terms, beside=beside, simulated=simulated)
    sections = (*before.sections(case), *after.sections(case))
    return PurchaseNote(
        title=before.title(case),
        summary=before.summary(case),
        sections=sections,
        changes=tuple(
            (name, getattr(case.plan.request, name))
            for name in ("device", "count", "ram", "engine", "weights_quant", "cache_type", "context")
        ),
        currency=prices.currency,
        catalogue=catalog.CATALOG_VERSION,
    )


def _case(
    request: PlanRequest,
    source: Source,
    *,
    scope: Scope,
    prices: Prices,
    tariff: Tariff,
    terms: Terms,
    beside: str,
    simulated: bool,
) -> Case:
    have = scope.have
    rows = table(request, source, scope, prices)
    found = climbed(request, source, have, prices)
    picked = choice(request, rows, found, have, prices)
    plan, handed = make_plan(request.model_copy(update=picked.changes), source, simulated=simulated)
    kept = held(plan, source)
    drawn = kept.outline({})
    chosen = row_of(rows, plan)
    watts = power(plan.node.devices)
    rent = picked.cost.prices[0] if picked.cost.monthly else None
    return Case(
        request=request,
        source=source,
        plan=plan,
        hand_over=handed,
        drawn=drawn,
        machines=picked.machines,
        why=picked.why,
        cost=picked.cost,
        options=shown(rows, chosen, have, request.patience),
        chosen=chosen,
        compared=len(rows),
        have=have,
        ladder=found,
        sensitivity=sensitivity(plan, source),
        ledger=ledger(kept, beside),
        power=watts,
        economics=economics(
            drawn,
            machines=picked.machines,
            watts=board_watts(tuple(device for device in plan.node.devices if device.is_gpu)) if plan.node.has_gpu else None,
            around_watts=watts.around_watts,
            purchase=picked.cost.amount,
            rent=rent,
            currency=prices.currency,
            tariff=tariff,
            prompt_tokens=request.prompt_tokens or assumed_prompt(request),
            terms=terms,
        ),
        prices=prices,
        tariff=tariff,
        terms=terms,
    )
