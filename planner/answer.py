"""From a request to the answer that every page, command and API shows: find the model, then plan."""

from dataclasses import dataclass

from planner.core.draft import Source
from planner.core.engines.contract import HandOver
from planner.core.plan import Plan
from planner.core.planning import expectation, make_plan
from planner.core.reconcile import Reconciliation, reconcile
from planner.core.request import PlanRequest
from planner.hub import Hub
from planner.sources import find_model


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan, what to install for it, and the model it is for."""

    plan: Plan
    hand_over: HandOver
    source: Source


def answer(request: PlanRequest, hub: Hub | None, source: Source | None = None, *, simulated: bool = True) -> Answer:
    """The plan for a request. `source` is a model that was read already (a GGUF header, an object of a batch)."""
    found = source or find_model(request, hub)
    plan, hand_over = make_plan(request, found, simulated=simulated)
    return Answer(plan, hand_over, found)


def held_against(made: Answer, startup: str) -> Reconciliation:
    """The answer's plan beside what the engine printed at start. Raises InputError (field "startup") for too much text."""
    return reconcile(
        startup, made.plan, made.hand_over, lambda request: expectation(request, made.source, batch_tokens=made.plan.engine.batch_tokens)
    )
