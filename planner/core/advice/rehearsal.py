"""A short run of a plan's own load on its own server: long enough for a 95th percentile, short enough for a page."""

from dataclasses import dataclass, field, replace
from typing import Final

from planner.core.draft import Draft, Source
from planner.core.errors import InputError
from planner.core.plan import Remark
from planner.core.simulated import MICRO_BATCH, costs_at_ends, pass_cost, rehearsed, scheduler, traffic
from planner.core.simulation import PassCost, Run, Scheduler, Traffic, simulate
from planner.core.simulation.request import SimulationRequest
from planner.core.simulation.traffic import MAX_TURNS

# Turns of all people together, and generations one after another so that the server is as full as it gets.
TURNS: Final = 600
_GENERATIONS: Final = 5
# Turns of each person, their waits included: the first of them meet an empty server, and a queue that has not grown yet.
_ROUNDS: Final = 5
# Long prompts take many passes each: fewer turns, but never fewer than say something.
_FEWEST_TURNS: Final = 40
_PASSES: Final = 6_000
# More people than this, or more events in all runs together, take longer than a page may: about a third of a second.
MAX_PEOPLE: Final = 500
_MAX_EVENTS: Final = 60_000
# One run in so many is all that a longer one may take of them: passes, queue and ends of the speeds are tried too.
_RUNS: Final = 8
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

    `ends` is what passes cost at the fast and at the slow end of estimated speeds (None: both are measured). `runs` are those made so far.
    """

    request: SimulationRequest
    server: Scheduler
    cost: PassCost
    ends: tuple[PassCost, PassCost] | None
    load: Traffic
    assumed: tuple[Remark, ...]
    budget: Budget
    runs: dict[tuple[Scheduler, PassCost], Run] = field(default_factory=dict, compare=False)

    @property
    def measured(self) -> bool:
        return self.ends is None

    def run(self, server: Scheduler | None = None, cost: PassCost | None = None) -> Run:
        """The load on this server or another, each once. Raises NotRehearsedError where it takes more events than a page may."""
        key = (server or self.server, cost or self.cost)
        if key not in self.runs:
            try:
                self.runs[key] = simulate(*key, self.load, max_events=self.budget.left)
            except InputError:
                self.budget.left = 0
                raise NotRehearsedError("so many users and tokens take longer than a page may. Try `manage.py simulate`.") from None
            self.budget.left -= self.runs[key].events
        return self.runs[key]


def rehearsal(draft: Draft, source: Source, budget: Budget) -> Rehearsal:
    """The draft made ready to be tried. Raises NotRehearsedError where there is nothing to try or it would take too long."""
    if draft.speed.prefill_rate is None or draft.speed.decode_rate is None:
        raise NotRehearsedError("the speeds are not known.")
    if draft.fit.slots_that_fit < 1:
        raise NotRehearsedError("not one request fits.")
    load = draft.load
    if load.users > MAX_PEOPLE:
        raise NotRehearsedError(f"more than {MAX_PEOPLE:,} users take longer than a page may. Try `manage.py simulate`.")
    turns = max(_FEWEST_TURNS, min(TURNS, _PASSES // (4 + (draft.request.prompt_tokens or 0) // MICRO_BATCH)))
    duration = min(_LONGEST_S, max(turns * load.turn_seconds / load.users, _GENERATIONS * load.generate_seconds))
    return _settled(_ready(draft, source, budget, duration_s=duration))


def rehearsal_like(tried: Rehearsal, draft: Draft, source: Source) -> Rehearsal:
    """Another draft of the same request, watched for as long; a run that was made of the same is not made again."""
    other = _ready(draft, source, tried.budget, duration_s=tried.load.duration_s)
    return replace(other, runs=tried.runs) if other.load == tried.load else other


def _ready(draft: Draft, source: Source, budget: Budget, *, duration_s: float) -> Rehearsal:
    request = rehearsed(draft.request, duration_s=duration_s)
    try:
        server = replace(scheduler(request, draft), max_queue=None)
        sent, assumed = traffic(request, draft, source, server)
    except InputError as refusal:
        raise NotRehearsedError(f"{refusal}") from None
    cost, rates = pass_cost(request, draft, source), draft.speed
    ends = costs_at_ends(cost, rates.prefill_rate, rates.decode_rate) if rates.prefill_rate and rates.decode_rate else None
    return Rehearsal(request, server, cost, ends, sent, assumed, budget)


def _settled(tried: Rehearsal) -> Rehearsal:
    """The same, watched for longer where people wait so long that few of their turns are seen: a server that was empty flatters."""
    run, load = tried.run(), tried.load
    waited = run.everyone.wait.mean if run.everyone.wait else 0.0
    affordable = load.duration_s * (tried.budget.left / _RUNS) / run.events
    longer = min(_ROUNDS * (load.turn_s + waited), affordable, _LONGEST_S, MAX_TURNS * load.turn_s / load.people)
    if longer <= load.duration_s:
        return tried
    return replace(tried, load=replace(load, duration_s=longer), request=tried.request.model_copy(update={"duration": longer}), runs={})
