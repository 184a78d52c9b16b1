"""A plan that is to be varied: its engine and its passes stay, one input changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.draft import LOAD_FIELDS, Draft, Outline, Passes, Source, draft, outline, reloaded
from planner.core.engines import engines
from planner.core.engines.contract import Engine
from planner.core.errors import InputError
from planner.core.plan import Plan
from planner.core.request import PlanRequest


@dataclass(frozen=True, slots=True)
class Held:
    """What stays while an input changes. `pass_tokens` None leaves the passes to each draft."""

    request: PlanRequest
    source: Source
    engine: Engine
    pass_tokens: int | None = None

    def changed(self, changes: Mapping[str, Any]) -> PlanRequest:
        """The request with these changes, on the engine that stays."""
        return self.request.model_copy(update={**changes, "engine": self.engine.name})

    def outline(self, changes: Mapping[str, Any]) -> Outline:
        """Raises InputError where the engine cannot run that."""
        return outline(self.changed(changes), self.source, self.engine, pass_tokens=self.pass_tokens)

    def beside(self, base: Outline, changes: Mapping[str, Any]) -> Outline:
        """`base`, an outline of this, with these changes on top: without planning the machine again where only its load changes."""
        if base.spill is None and changes.keys() <= LOAD_FIELDS:
            return reloaded(base, base.request.model_copy(update=changes))
        return outline(base.request.model_copy(update=changes), self.source, self.engine, pass_tokens=self.pass_tokens)

    def tried(self, changes: Mapping[str, Any]) -> Outline | None:
        """The outline, None where the engine cannot run that."""
        try:
            return self.outline(changes)
        except InputError:
            return None

    def draft(self, changes: Mapping[str, Any]) -> Draft:
        """The same with its words. Raises InputError where the engine cannot run that."""
        passes = None if self.pass_tokens is None else Passes(self.pass_tokens, "")
        return draft(self.changed(changes), self.source, self.engine, passes)


def held(plan: Plan, source: Source) -> Held:
    """The plan's engine and passes, which stay."""
    return Held(plan.request, source, engines()[plan.engine.name], plan.engine.batch_tokens)
