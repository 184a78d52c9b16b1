"""From a request to the answer that every page, command and API shows: find the model, then plan."""

from dataclasses import dataclass

from planner.core.draft import Source
from planner.core.engines.contract import HandOver
from planner.core.plan import Plan
from planner.core.planning import make_plan
from planner.core.request import PlanRequest
from planner.hub import Hub
from planner.sources import find_model


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan and what to install for it."""

    plan: Plan
    hand_over: HandOver


def answer(request: PlanRequest, hub: Hub | None, source: Source | None = None) -> Answer:
    """The plan for a request. `source` is a model that was read already (a GGUF header, an object of a batch)."""
    plan, hand_over = make_plan(request, source or find_model(request, hub))
    return Answer(plan, hand_over)
