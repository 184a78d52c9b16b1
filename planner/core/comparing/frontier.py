"""What the charts of the table show: the cheapest machines by slots, slots by context, where the verdict flips, what memory goes to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.core.comparing.option import Option
from planner.core.draft import Source, outline
from planner.core.engines import engines
from planner.core.errors import InputError
from planner.core.plan import Verdict
from planner.core.planning import choose_engine
from planner.core.queueing import slot_trade
from planner.core.request import MAX_USERS, PlanRequest

# The parts of a budget, in the order in which they are stacked everywhere.
PARTS: Final = ("weights", "overhead", "cache", "free", "reserved")


def cheapest_by_slots(options: Iterable[Option]) -> tuple[Option, ...]:
    """The options that no other beats on both price and slots, by price: each further one has more slots. Unpriced ones are left out."""
    frontier: list[Option] = []
    priced = [option for option in options if option.price is not None and option.verdict != "does_not_fit"]
    for option in sorted(priced, key=lambda option: (option.price or 0.0, -option.slots_that_fit)):
        if not frontier or option.slots_that_fit > frontier[-1].slots_that_fit:
            frontier.append(option)
    return tuple(frontier)


def users_served(option: Option, *, wait_target: float) -> int:
    """The most users of whose turns at most `wait_target` find none of the slots that fit free; 0 where nothing fits."""
    if not option.slots_that_fit or option.generate_seconds is None or option.turn_seconds is None:
        return 0
    return _most_users(option.slots_that_fit, option.generate_seconds, option.turn_seconds, wait_target)


@lru_cache(maxsize=4096)
def _most_users(slots: int, generate_seconds: float, turn_seconds: float, wait_target: float) -> int:
    def waits(users: int) -> bool:
        trade = slot_trade(users=users, slots=slots, generate_seconds=generate_seconds, turn_seconds=turn_seconds)
        return trade.wait_probability > wait_target

    low, high = min(slots, MAX_USERS), min(2 * slots, MAX_USERS)
    while high < MAX_USERS and not waits(high):
        low, high = high, min(2 * high, MAX_USERS)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (low, middle - 1) if waits(middle) else (middle, high)
    return low


def slots_by_context(request: PlanRequest, source: Source, *, contexts: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """(context, slots that fit) of the request's own machine and engine; contexts beyond the model's are left out."""
    engine = engines()[_engine(request, source)]
    longest = source.shape.max_context or max(contexts)
    return tuple(
        (context, outline(request.model_copy(update={"context": context}), source, engine).room.slots)
        for context in contexts
        if context <= longest
    )


def verdict_grid(
    request: PlanRequest, source: Source, *, users: Sequence[int], contexts: Sequence[int]
) -> Mapping[tuple[int, int], Verdict]:
    """The verdict for every (users, context) on the request's own machine and engine; contexts beyond the model's are left out."""
    engine = engines()[_engine(request, source)]
    longest = source.shape.max_context or max(contexts)
    return {
        (number, context): outline(request.model_copy(update={"users": number, "context": context}), source, engine).outcome.verdict
        for context in contexts
        if context <= longest
        for number in users
    }


def _engine(request: PlanRequest, source: Source) -> str:
    """The engine of the plan: one for the whole chart."""
    return request.engine if request.engine != "auto" else choose_engine(request, source)[0].engine.name


@dataclass(frozen=True, slots=True)
class Stack:
    """What the memory of an option's fullest device goes to: (kind, bytes) in the order of `PARTS`; a negative `free` is missing."""

    total_bytes: int
    parts: tuple[tuple[str, int], ...]


def memory_stack(option: Option, request: PlanRequest, source: Source) -> Stack:
    """The budget of a row of the table for `request`. Raises InputError for a row that the engine refuses."""
    if option.refusal:
        raise InputError(option.refusal)
    engine = engines()[option.engine]
    drawn = outline(request.model_copy(update=dict(option.changes)), source, engine)
    budget = engine.budget(drawn.job, drawn.outcome.slots)
    return Stack(budget.total_bytes, tuple((kind, budget.size_of(kind)) for kind in PARTS))
