"""A plan held against what the engine printed at start: what is equal, what is not, and what makes the difference.

A cause is believed only when it has been tried: the plan is made again with it, and then expects what was printed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.core.engines import engines
from planner.core.engines.contract import HandOver
from planner.core.engines.start_up_text import plain_lines
from planner.core.plan import Plan
from planner.core.reconcile.search import Search
from planner.core.reconcile.trials import Replan, Trials
from planner.core.reconcile.wording import Row, row_of

__all__ = ["Reconciliation", "Replan", "Row", "reconcile"]


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """`summary` is the answer in a sentence; `changes` are the request's fields under which the plan has what the lines state."""

    rows: tuple[Row, ...]
    summary: str
    changes: Mapping[str, Any]

    @property
    def equal(self) -> bool:
        return bool(self.rows) and all(row.equal for row in self.rows)


def reconcile(text: str, plan: Plan, hand_over: HandOver, replan: Replan) -> Reconciliation:
    """The figures in pasted start-up text beside the plan's, with the cause of every difference that has one.

    `replan` gives what another request would expect. Raises InputError (field "startup") for more text than a start-up has.
    """
    reader = engines()[plan.engine.name].start_up
    expected = reader.expected(hand_over.expect)
    printed = {figure.key: figure for figure in reader.printed(plain_lines(text)) if figure.key in expected}
    if not printed:
        return Reconciliation((), f"There is no start-up line of {plan.engine.title} in this text. {reader.paste}", {})
    trials = Trials(plan, hand_over.expect, reader, replan)
    search = Search(printed, tuple(reader.causes(printed, hand_over.expect)), trials)
    rows = tuple(row_of(figure, search, plan.memory) for figure in printed.values())
    return Reconciliation(rows, _summary(rows), _offered(trials.changes(search.stated), plan))


def _offered(changes: Mapping[str, Any], plan: Plan) -> Mapping[str, Any]:
    """The changes as another plan; none where they were tried on another engine than the plan's."""
    if not changes or "engine" in changes:
        return {}
    return {"engine": plan.engine.name, **changes}


def _summary(rows: Sequence[Row]) -> str:
    unequal = [row for row in rows if not row.equal]
    if not unequal:
        return f"As planned: {'the figure' if len(rows) == 1 else f'all {len(rows)} figures'} in these lines {'is' if len(rows) == 1 else 'are'} the plan’s."
    open_ = sum(not row.explained for row in unequal)
    cause = f"{open_} of them without a cause that was found" if open_ else "each with its cause"
    return f"{len(unequal)} of {len(rows)} figures {'differs' if len(unequal) == 1 else 'differ'} from the plan, {cause}."
