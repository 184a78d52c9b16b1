"""A short run of a plan's own load on its own server: long enough for a 95th percentile, short enough for a page."""

from dataclasses import dataclass, field, replace
from typing import Final

from planner.core.draft import Draft, Source
from planner.core.errors import InputError
from planner.core.plan import Remark
from planner.core.simulated import MICRO_BATCH, costs_at_ends, pass_cost, rehearsed, scheduler, traffic
from planner.core.simulation import PassCost, Run, Scheduler, Traffic, simulate
from planner.core.simulation.request import SimulationRequest

# Turns of all people together, and generations one after another so that the server is as full as it gets.
TURNS: Final = 240
_GENERATIONS: Final = 5
# Long prompts take many passes each: fewer turns, but never fewer than say something.
_FEWEST_TURNS: Final = 40
_PASSES: Final = 4_000
# More people than this, or more events in all runs together, take longer than a page may: about a tenth of a second.
MAX_PEOPLE: Final = 500
_MAX_EVENTS: Final = 12_000
_LONGEST_S: Final = 30 * 86_400.0


class NotRehearsedError(Exception):
    """The plan cannot be tried; the text says why, as the end of a sentence that begins “Not simulated: ”."""


class Budget:
    """Events that the rehearsals of a plan may still take, all runs together."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _MAX_EVENTS


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a draft is tried with; nobody is turned away. `assumed` is what its load was taken to be where the request does not say.

    `ends` is what passes cost at the fast and at the slow end of estimated speeds (None: both are measured).
    """

    request: SimulationRequest
    server: Scheduler
    cost: PassCost
    ends: tuple[PassCost, PassCost] | None
    load: Traffic
    assumed: tuple[Remark, ...]
    budget: Budget
    _runs: dict[tuple[Scheduler, PassCost], Run] = field(default_factory=dict, compare=False)

    @property
    def measured(self) -> bool:
        return self.ends is None

    def run(self, server: Scheduler | None = None, cost: PassCost | None = None) -> Run:
        """The load on this server or another, each once. Raises NotRehearsedError where it takes more events than a page may."""
        key = (server or self.server, cost or self.cost)
        if key not in self._runs:
            try:
                self._runs[key] = simulate(*key, self.load, max_events=self.budget.left)
            except InputError:
                self.budget.left = 0
                raise NotRehearsedError("so many users and tokens take longer than a page may. Try `manage.py simulate`.") from None
            self.budget.left -= self._runs[key].events
        return self._runs[key]


def rehearsal(draft: Draft, source: Source, budget: Budget) -> Rehearsal:
    """The draft made ready to be tried. Raises NotRehearsedError where there is nothing to try or it would take too long."""
    prefill, decode = draft.speed.prefill_rate, draft.speed.decode_rate
    if prefill is None or decode is None:
        raise NotRehearsedError("the speeds are not known.")
    if draft.fit.slots_that_fit < 1:
        raise NotRehearsedError("not one request fits.")
    load = draft.load
    if load.users > MAX_PEOPLE:
        raise NotRehearsedError(f"more than {MAX_PEOPLE:,} users take longer than a page may. Try `manage.py simulate`.")
    turns = max(_FEWEST_TURNS, min(TURNS, _PASSES // (4 + (draft.request.prompt_tokens or 0) // MICRO_BATCH)))
    duration = min(_LONGEST_S, max(turns * load.turn_seconds / load.users, _GENERATIONS * load.generate_seconds))
    request = rehearsed(draft.request, duration_s=duration)
    try:
        server = replace(scheduler(request, draft), max_queue=None)
        sent, assumed = traffic(request, draft, source, server)
    except InputError as refusal:
        raise NotRehearsedError(f"{refusal}") from None
    cost = pass_cost(request, draft, source)
    return Rehearsal(request, server, cost, costs_at_ends(cost, prefill, decode), sent, assumed, budget)
