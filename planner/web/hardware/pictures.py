"""The charts of the hardware table, each a figure for plotly, a sentence that says the same, and a table beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.core import units
from planner.core.comparing import Option
from planner.core.comparing.frontier import PARTS, cheapest_by_slots, memory_stack, slots_by_context, users_served, verdict_grid
from planner.core.comparing.order import best_of_each, keeps_pace, ranked
from planner.core.errors import InputError
from planner.core.plan import Verdict
from planner.core.request import MAX_USERS, PlanRequest
from planner.web import charts
from planner.web.hardware.columns import VERDICTS
from planner.web.hardware.question import Asked, Found

_CHOSEN: Final = 4
_MOST_CHOSEN: Final = 8
_CONTEXTS: Final = tuple(2**power for power in range(11, 18))
_AROUND: Final = (0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10)
_PART_WORDS: Final = {"weights": "Weights", "overhead": "Overhead", "cache": "Cache", "free": "Left", "reserved": "Left to others"}


@dataclass(frozen=True, slots=True)
class Mark:
    """A cell of a chart’s table: `state` where it is a verdict."""

    text: str
    state: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """`figure` None: there is nothing to draw, `said` says why. The first cell of each row is its head."""

    said: str
    figure: Mapping[str, Any] | None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Mark, ...], ...] = ()
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart by its name in an address."""

    name: str
    title: str
    about: str
    draw: Callable[[Asked, Found], Picture]


def price_against_users(asked: Asked, found: Found) -> Picture:
    """Who serves how many people at which price; the cheapest of them are the frontier."""
    patience, target = asked.request.patience, asked.request.wait_target
    paced = [option for option in found.rows if keeps_pace(option, patience_seconds=patience) is not False]
    frontier = cheapest_by_slots(paced)
    if not frontier:
        return Picture("No machine with a known price keeps pace with readers: enter prices, or loosen the limits.", None)
    others = [option for option in best_of_each(paced, patience_seconds=patience) if option.price is not None and option.slots_that_fit]
    served = [(option, users_served(option, wait_target=target)) for option in frontier]
    figure = charts.price_against_users(
        [_point(option, users_served(option, wait_target=target)) for option in others],
        [_point(option, users) for option, users in served],
        currency=asked.prices.currency,
        wanted=asked.request.users,
    )
    enough = next(((option, users) for option, users in served if users >= asked.request.users), None)
    said = f"{len(frontier)} machines that no other beats on both price and slots, among those that keep pace with readers. "
    said += (
        f"The first for {units.counted(asked.request.users, 'user')}: {enough[0].name} at {_money(enough[0])} {asked.prices.currency}, for up to {enough[1]:,}."
        if enough
        else f"None of them serves {units.counted(asked.request.users, 'user')}."
    )
    return Picture(
        said,
        figure,
        ("Machine", "Engine, weights, cache", f"Price, {asked.prices.currency}", "Users", "Slots"),
        tuple(
            (Mark(option.name), Mark(_settings(option)), Mark(_money(option)), Mark(f"{users:,}"), Mark(f"{option.slots_that_fit:,}"))
            for option, users in served
        ),
        "The line joins the cheapest; the upright line is the number of people you plan for. Prices are launch prices where you entered none.",
    )


def _point(option: Option, users: int) -> charts.Offer:
    return charts.Offer(f"{option.name}, {_settings(option)}", users, option.price or 0.0)


def slots_against_context(asked: Asked, found: Found) -> Picture:
    """How many conversations of which length find room on the devices that were chosen."""
    chosen = _chosen(asked, found)
    if not chosen:
        return _nothing()
    lines = {option.name: dict(slots_by_context(_request(asked, option), asked.source, contexts=_contexts(asked))) for option in chosen}
    contexts = sorted({context for line in lines.values() for context in line})
    names = tuple(lines)
    said = "; ".join(
        f"{name}: {lines[name][contexts[0]]:,} at {contexts[0]:,} tokens, {lines[name][contexts[-1]]:,} at {contexts[-1]:,}"
        for name in names
    )
    return Picture(
        f"Slots that fit. {said}.",
        charts.slots_of_devices([(name, sorted(line.items())) for name, line in lines.items()], context=asked.request.context),
        ("Tokens", *names),
        tuple(
            (Mark(f"{context:,}", own=context == asked.request.context), *(Mark(f"{lines[name][context]:,}") for name in names))
            for context in contexts
        ),
        f"{'; '.join(f'{option.name}: {_settings(option)}' for option in chosen)}.",
    )


def where_it_flips(asked: Asked, found: Found) -> Picture:
    """The verdict of the first chosen device over users and context."""
    chosen = _chosen(asked, found)
    if not chosen:
        return _nothing()
    option, own = chosen[0], asked.request
    users = sorted({min(MAX_USERS, max(1, round(own.users * share))) for share in _AROUND})
    contexts = _contexts(asked)
    grid = verdict_grid(_request(asked, option), asked.source, users=users, contexts=contexts)
    contexts = sorted({context for _, context in grid})
    flips = [(context, _last_that_fits(grid, context, users)) for context in contexts]
    said = ", ".join(f"{context:,} tokens: {'nobody' if last is None else f'up to {last:,}'}" for context, last in flips)
    return Picture(
        f"{option.name} with {_settings(option)}: the most of these numbers of people with whom it still fits. {said}.",
        charts.verdict_map(users, contexts, {key: _RANK[verdict] for key, verdict in grid.items()}, own=(own.users, own.context)),
        ("Users", *(f"{context:,} tokens" for context in contexts)),
        tuple(
            (
                Mark(f"{number:,}", own=number == own.users),
                *(
                    Mark(VERDICTS[grid[number, context]], grid[number, context], own=(number, context) == (own.users, own.context))
                    for context in contexts
                ),
            )
            for number in users
        ),
        "The exact number at which a verdict changes is on the page “What would change this verdict?”.",
    )


_RANK: Final[Mapping[Verdict, int]] = {"fits": 0, "tight": 1, "does_not_fit": 2}


def _last_that_fits(grid: Mapping[tuple[int, int], Verdict], context: int, users: Sequence[int]) -> int | None:
    return max((number for number in users if grid[number, context] == "fits"), default=None)


def memory_of_each(asked: Asked, found: Found) -> Picture:
    """What the memory of each chosen option’s fullest device goes to."""
    chosen = _chosen(asked, found)
    if not chosen:
        return _nothing()
    stacks = []
    for option in chosen:
        try:
            stacks.append((option, memory_stack(option, asked.request, asked.source)))
        except InputError:  # the engine refuses this row, and the table says why
            continue
    if not stacks:
        return _nothing()
    named = [(option.name, dict(stack.parts)) for option, stack in stacks]
    return Picture(
        "; ".join(
            f"{option.name}: {units.gib(dict(stack.parts)['weights'])} of weights and {units.gib(dict(stack.parts)['cache'])} of cache in {units.gib(stack.total_bytes)}"
            for option, stack in stacks
        )
        + ".",
        charts.memory_stacks([(name, [(_PART_WORDS[kind], kind, max(0, parts[kind])) for kind in PARTS]) for name, parts in named]),
        ("Machine", *(f"{_PART_WORDS[kind]}, GiB" for kind in PARTS), "Device, GiB"),
        tuple(
            (
                Mark(option.name),
                *(Mark(_gib(dict(stack.parts)[kind]), "does_not_fit" if dict(stack.parts)[kind] < 0 else "") for kind in PARTS),
                Mark(_gib(stack.total_bytes)),
            )
            for option, stack in stacks
        ),
        "Of the fullest device of each machine. What is missing stands with a minus under “Left”.",
    )


def _chosen(asked: Asked, found: Found) -> list[Option]:
    """The best row of each device that was named for the charts, else of the first four devices of the table."""
    best = ranked(
        best_of_each((option for option in found.table if not option.refusal), patience_seconds=asked.request.patience),
        patience_seconds=asked.request.patience,
    )
    if asked.chosen:
        first = {
            name: next((option for option in best if name in {option.device, option.name}), None) for name in asked.chosen[:_MOST_CHOSEN]
        }
        return [option for option in first.values() if option]
    shown: dict[str, Option] = {}
    for option in found.rows:
        if not option.refusal:
            shown.setdefault(option.name, option)
        if len(shown) == _CHOSEN:
            break
    return list(shown.values())


def _nothing() -> Picture:
    return Picture("No machine to draw: loosen the limits, or name devices for the charts.", None)


def _request(asked: Asked, option: Option) -> PlanRequest:
    return asked.request.model_copy(update=dict(option.changes))


def _contexts(asked: Asked) -> list[int]:
    return sorted({*_CONTEXTS, asked.request.context})


def _settings(option: Option) -> str:
    return f"{option.engine}, {option.weights}, {option.cache_type}"


def _money(option: Option) -> str:
    return f"{option.price or 0:,.0f}"


def _gib(size_bytes: int) -> str:
    return units.gib(size_bytes).removesuffix(" GiB").replace("-", "−")


PICTURES: Final = (
    Drawn("price", "Price against users served", "what the next hundred people cost", price_against_users),
    Drawn("context", "Slots against context", "the same devices at other lengths", slots_against_context),
    Drawn("verdict", "Where the verdict flips", "users against context, one machine", where_it_flips),
    Drawn("memory", "What the memory goes to", "the fullest device of each machine", memory_of_each),
)
