"""How many people a plan serves: the last number before the verdict falls."""

from collections.abc import Callable, Mapping
from typing import Any

from planner.core.draft import Outline
from planner.core.request import MAX_USERS
from planner.core.sensitivity.held import Held
from planner.core.sensitivity.search import flip


def serves(planned: Outline) -> bool:
    """No more turns wait than may: the slots that are needed fit, and are planned for."""
    found = planned.outcome
    return found.verdict != "does_not_fit" and found.slots >= found.slots_needed


def bears(planned: Outline) -> bool:
    """The mean wait stays within patience, if more turns wait than should."""
    return planned.outcome.verdict != "does_not_fit"


def most_users(held: Held, changes: Mapping[str, Any], holds: Callable[[Outline], bool] = serves) -> int:
    """The largest number of users for whom `holds` is true, the rest of the request as it is with `changes`; 0 where it is not for one.

    Needed slots and waits only grow with the users, so the number is exact. Raises InputError where the engine cannot run that at all.
    """

    base = held.outline(changes)

    def enough(users: int) -> bool:
        return holds(held.beside(base, {"users": users}))

    if not enough(1):
        return 0
    return flip(enough, start=1, end=MAX_USERS, probes=0).last
