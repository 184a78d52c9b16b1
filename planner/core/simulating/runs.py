"""One run, or one for every point of a sweep; a run at both ends of an estimate; the knee of a curve."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.core.draft import Source
from planner.core.errors import InputError
from planner.core.request import read_as
from planner.core.simulated import costs_at_ends
from planner.core.simulating.recorded import Recorded, replay_of
from planner.core.simulating.set_up import SetUp, set_up
from planner.core.simulation import MAX_EVENTS, PassCost, Run, replay, simulate
from planner.core.simulation.request import SimulationRequest

MAX_RUNS: Final = 100
# Farther than this from the straight line, as a share of both axes, a curve has a knee.
_STRAIGHT: Final = 0.1


@dataclass(frozen=True, slots=True)
class Trial:
    """A run with what it was of. `options` are the values that this point of the sweep has, `replayed` how many recorded requests
    were sent instead of the load of the set-up."""

    options: tuple[tuple[str, float | str], ...]
    set_up: SetUp
    run: Run
    replayed: int = 0


@dataclass(frozen=True, slots=True)
class Axis:
    """An option and the values it is to take, as they were typed."""

    option: str
    values: tuple[str, ...]


def read_axis(text: str) -> Axis:
    """`batch=256,512`. Raises InputError where it is no option with values."""
    option, equals, values = text.partition("=")
    name = option.strip().lstrip("-").replace("-", "_")
    listed = tuple(value.strip() for value in values.split(",") if value.strip())
    if not equals or not listed:
        raise InputError(f"“{text[:60]}” is no sweep: write an option and its values, for example batch=256,512,1024.", field="sweep")
    if name not in SimulationRequest.model_fields:
        raise InputError(f"“{option[:40]}” is no option that a sweep can take: try batch, slots or users.", field="sweep")
    return Axis(name, listed)


def points(axes: Sequence[Axis]) -> list[dict[str, str]]:
    """Every combination of the axes' values; one empty point where there are none. Raises InputError where they are too many."""
    options = [axis.option for axis in axes]
    if len(set(options)) < len(options):
        raise InputError("A sweep names an option twice: write all its values once, separated by commas.", field="sweep")
    count = math.prod(len(axis.values) for axis in axes)
    if count > MAX_RUNS:
        raise InputError(f"A sweep has at most {MAX_RUNS} runs, this one has {count:,}: give fewer values.", field="sweep")
    return [dict(zip(options, values, strict=True)) for values in itertools.product(*(axis.values for axis in axes))]


def requests_of(values: Mapping[str, Any], axes: Sequence[Axis]) -> list[tuple[dict[str, str], SimulationRequest]]:
    """The points of a sweep, each with its request. Raises InputError for values that cannot be used."""
    requests = [(point, read_as(SimulationRequest, {**values, **point})) for point in points(axes)]
    for point, request in requests:
        for name in point:
            value = getattr(request, name)
            if name != "policy" and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise InputError(f"{name.replace('_', ' ')} is not a number, and a sweep runs over numbers.", field="sweep")
    return requests


def trials(
    values: Mapping[str, Any],
    source: Source,
    axes: Sequence[Axis] = (),
    *,
    recorded: Sequence[Recorded] = (),
    max_events: int = MAX_EVENTS,
    events_in_all: int | None = None,
) -> Iterator[Trial]:
    """A run for every point, one at a time: whoever asks for no more has cancelled the rest.

    With `recorded` requests those are sent instead of the request's own load.

    The engine that the first point is planned for serves all of them, so that they can be compared: over policies
    only the scheduler differs. `events_in_all` bounds the runs together, as `max_events` does each of them.
    Raises InputError for values that cannot be used, before the first run where they are in a sweep's values.
    """
    requests = requests_of(values, axes)
    left = math.inf if events_in_all is None else events_in_all
    engine: str = requests[0][1].engine
    for point, request in requests:
        ready = set_up(request.model_copy(update={"engine": engine}), source)
        engine = ready.engine
        run = _run(ready, ready.cost, recorded, int(min(max_events, left)))
        left -= run.events
        yield Trial(tuple((name, getattr(request, name)) for name in point), ready, run, len(recorded))


def ends(trial: Trial, recorded: Sequence[Recorded] = (), *, max_events: int = MAX_EVENTS) -> tuple[Run, Run] | None:
    """The same load and server where the machine is as fast, and where it is as slow, as its estimated rates may be.

    None where both rates are measured. Raises InputError where a run takes too many events.
    """
    ready = trial.set_up
    costs = costs_at_ends(ready.cost, ready.prefill_rate, ready.decode_rate)
    if costs is None:
        return None
    fast, slow = costs
    return _run(ready, fast, recorded, max_events), _run(ready, slow, recorded, max_events)


def _run(ready: SetUp, cost: PassCost, recorded: Sequence[Recorded], max_events: int) -> Run:
    if recorded:
        try:
            return replay(ready.scheduler, cost, replay_of(recorded), max_events=max_events)
        except InputError:
            raise InputError("These requests take too long to simulate: cut the file to the hours that matter.", field="replay") from None
    return simulate(ready.scheduler, cost, ready.traffic, max_events=max_events)


def knee(curve: Sequence[tuple[float, float]]) -> int | None:
    """Index of the point where a curve turns most: the farthest from the straight line between its ends.

    Both axes are scaled to 1 first, so that units do not matter. None below three points, where the curve is nearly straight,
    and where it goes up and down: that is chance, no knee.
    """
    if len(curve) < 3:
        return None
    (x0, y0), (x1, y1) = curve[0], curve[-1]
    rises = [later - sooner for (_, sooner), (_, later) in itertools.pairwise(curve)]
    if x1 == x0 or y1 == y0 or min(rises) < 0 < max(rises):
        return None
    bends = [abs((y - y0) / (y1 - y0) - (x - x0) / (x1 - x0)) for x, y in curve]
    most = max(range(len(bends)), key=bends.__getitem__)
    return most if bends[most] > _STRAIGHT else None
