"""Try to break a plan: bad hours on its server, the likeliest first, each judged by what its users said they would bear."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from planner.core import units
from planner.core.draft import Source
from planner.core.request import read_as
from planner.core.simulating.set_up import SetUp, set_up
from planner.core.simulation import MAX_EVENTS, Run, Scheduler, Traffic, replay, source_of
from planner.core.simulation.request import SimulationRequest
from planner.core.simulation.results import Felt
from planner.core.simulation.sequence import Sequence as Turn
from planner.core.simulation.traffic import MAX_PEOPLE
from planner.core.simulation.traffic import Source as Load

# How long people are watched. Fewer turns give no 95th percentile a meaning, more add nothing to it.
HOUR_S: Final = 3600.0
_FEWEST_TURNS: Final = 200
_MOST_TURNS: Final = 10_000
_LONGEST_S: Final = 30 * 86_400.0
# The long document that somebody pastes, where the context holds it, and how often in the time that is watched.
PASTE_TOKENS: Final = 100_000
_PASTES: Final = 6
# Seconds of a change of adapter where the request has none: what a production llama-server took for each of its two.
SWITCH_S: Final = 0.74
# Turns refused or lost beyond this share break a plan; a wait and a pause are judged at the percentile that leaves as many.
_REFUSED: Final = 0.05
_NOBODY: Final = -1

Measure = Literal["pause", "wait", "refused"]


@dataclass(frozen=True, slots=True)
class Breach:
    """A limit that was not kept. `found` and `limit` are seconds, or for “refused” shares of the turns."""

    measure: Measure
    found: float
    limit: float
    message: str


@dataclass(frozen=True, slots=True)
class Hardship:
    """One bad hour and how it went: `code` for scripts, `title` and `what` for people.

    `felt` are the turns it is judged by: everyone's, or those beside what makes the hour bad. No breach: the plan survives it.
    `set_up` is the plan's, whose machine and server are the hour's too.
    """

    code: str
    title: str
    what: str
    felt: Felt
    run: Run
    breaches: tuple[Breach, ...]
    set_up: SetUp

    @property
    def survived(self) -> bool:
        return not self.breaches


@dataclass(frozen=True, slots=True)
class _Hour:
    """A bad hour before it is tried. `pastes` are the moments at which somebody pastes a document of `paste_tokens`."""

    code: str
    title: str
    what: str
    scheduler: Scheduler
    traffic: Traffic
    pastes: tuple[float, ...] = ()
    paste_tokens: int = 0


def hardships(values: Mapping[str, Any], source: Source, *, max_events: int = MAX_EVENTS) -> Iterator[Hardship]:
    """The hours in order, one at a time: ordinary use first, then worse. Whoever asks for no more has cancelled the rest.

    `values` as for `trials`; the server stays as the plan sets it. Limits are the request's `pause_target` (p95 of the longest
    pause of each reply) and `patience` (p95 of the wait), and at most 5 % of the turns refused or lost.
    Raises InputError (with its field) for what cannot be planned or simulated.
    """
    ready = set_up(read_as(SimulationRequest, values), source)
    for hour in _hours(ready):
        yield _tried(hour, ready, max_events)


def first_broken(tried: Sequence[Hardship]) -> Hardship | None:
    """The likeliest hour that the plan does not survive, None where it survives all."""
    return next((hardship for hardship in tried if not hardship.survived), None)


def _watched_s(traffic: Traffic) -> float:
    """How long people are watched: an hour, or as long as the bounds on turns allow."""
    turn = traffic.turn_s / traffic.people
    return min(_LONGEST_S, max(_FEWEST_TURNS * turn, min(HOUR_S, _MOST_TURNS * turn)))


def _hours(ready: SetUp) -> Iterator[_Hour]:
    server = ready.scheduler
    usual = replace(ready.traffic, duration_s=_watched_s(ready.traffic), together=False)
    people = units.counted(usual.people, "user")
    yield _Hour("ordinary", "Ordinary use", f"{people} as planned.", server, usual)

    more = min(MAX_PEOPLE, math.ceil(usual.people * 1.5))
    if more > usual.people:
        grown = replace(usual, people=more)
        yield _Hour("more_users", "Half as many users again", f"{more:,} users instead of {usual.people:,}.", server, grown)
    if usual.people > 1:
        at_once = replace(usual, arrivals="closed", together=True, duration_s=0.001)
        yield _Hour(
            "together", "Everyone at the same moment", f"All {people} send a turn at once, as at 9:00 or after a break.", server, at_once
        )
    if usual.turns < _FEWEST_TURNS:
        long = replace(usual, turns=1e9, cached_share=None)
        what = f"Nobody begins a new conversation before {usual.context_tokens:,} tokens are full."
        yield _Hour("long_conversations", "Conversations up to the end of the context", what, server, long)
    if usual.adapters == 1 and usual.people > 1 and server.policy == "llama-server":
        switch = server.switch_s or SWITCH_S
        what = f"Every other user asks for another adapter, and a change takes {units.seconds(switch)}."
        yield _Hour("adapters", "Two adapters in turn", what, replace(server, switch_s=switch), replace(usual, adapters=2))
    tokens = min(PASTE_TOKENS, usual.context_tokens - 1)
    moments = tuple(usual.duration_s * (number + 0.5) / _PASTES for number in range(_PASTES))
    what = f"Somebody pastes {tokens:,} tokens while the others work; judged by the turns beside it."
    yield _Hour("paste", "A long document", what, server, usual, moments, tokens)
    if usual.arrivals != "agents":
        what = f"{people} send the next turn as soon as the last is answered, as agents do."
        yield _Hour("no_pause", "Nobody pauses to think", what, server, replace(usual, arrivals="agents"))


def _tried(hour: _Hour, ready: SetUp, max_events: int) -> Hardship:
    names = tuple(kind.name for kind in hour.traffic.kinds)
    source = source_of(hour.traffic)
    if hour.pastes:
        names = ("turns", "beside the document", "the document")
        source = _WithPastes(source, hour, before_s=hour.traffic.turn_s - hour.traffic.think_s)
    run = replay(hour.scheduler, ready.cost, source, kinds=names, shared_tokens=hour.traffic.shared_tokens, max_events=max_events)
    felt = run.kinds[1] if hour.pastes and run.kinds[1].turns else run.everyone
    return Hardship(hour.code, hour.title, hour.what, felt, run, tuple(breaches(felt, ready.request)), ready)


def breaches(felt: Felt, request: SimulationRequest) -> Iterator[Breach]:
    """The limits of the request that these turns do not keep."""
    if felt.pause and felt.pause.p95 > request.pause_target:
        found, limit = felt.pause.p95, request.pause_target
        message = f"The longest pause of a reply is {units.seconds(found)} (p95), more than the {units.seconds(limit)} you set."
        yield Breach("pause", found, limit, message)
    if felt.wait and felt.wait.p95 > request.patience:
        found, limit = felt.wait.p95, request.patience
        message = f"A turn waits {units.seconds(found)} for its slot (p95), more than the {units.seconds(limit)} people are ready to wait."
        yield Breach("wait", found, limit, message)
    lost = felt.rejected + felt.failed
    share = lost / (felt.turns + lost) if lost else 0.0
    if share > _REFUSED:
        yield Breach("refused", share, _REFUSED, f"{units.percent(share)} of the turns are refused or lost.")


class _WithPastes:
    """A load, and a document pasted now and then. Turns that may meet one are of kind 1, the documents of kind 2, others of kind 0.

    A turn may meet a document that comes within `before_s` of it, or that is still being read. Nothing else is asked of a
    document than one token: it is its reading that others feel.
    """

    def __init__(self, load: Load, hour: _Hour, *, before_s: float) -> None:
        self._load = load
        self._before_s = before_s
        self._reading = 0
        self._documents = deque(
            Turn(arrival_s=at_s, prompt=hour.paste_tokens, output=1, conversation=-number, kind=2, person=_NOBODY)
            for number, at_s in enumerate(hour.pastes, 1)
        )
        self._look()

    def take(self) -> Turn:
        if self._paste_s <= self._load.next_s:
            turn = self._documents.popleft()
            self._reading += 1
        else:
            turn = self._load.take()
            turn.kind = 1 if self._reading or self._paste_s <= turn.arrival_s + self._before_s else 0
        self._look()
        return turn

    def done(self, sequence: Turn, now_s: float, *, refused: bool) -> None:
        if sequence.person == _NOBODY:
            self._reading -= 1
        else:
            self._load.done(sequence, now_s, refused=refused)
        self._look()

    def _look(self) -> None:
        self._paste_s = self._documents[0].arrival_s if self._documents else math.inf
        self.next_s = min(self._load.next_s, self._paste_s)
