"""A queue short enough to be honest: whoever is let into it gets a slot within the time people are ready to wait."""

import math
from dataclasses import replace
from typing import Final

from planner.core import units
from planner.core.advice.passes import preface
from planner.core.advice.rehearsal import NotRehearsedError, Rehearsal
from planner.core.plan import Fit
from planner.core.simulation.results import Felt

_MOST_TRIES: Final = 4


def with_honest_queue(fit: Fit, tried: Rehearsal) -> Fit:
    """The fit with its queue tried: shorter where the p95 wait of those let in is then within the request's patience, and not before."""
    if tried.load.people <= tried.server.slots:
        return fit
    try:
        return _shortened(fit, tried)
    except NotRehearsedError:
        return fit


def _shortened(fit: Fit, tried: Rehearsal) -> Fit:
    patience, queue = tried.request.patience, fit.max_queue
    first = people = _with_queue(tried, queue)
    for _ in range(_MOST_TRIES):
        if _wait(people) <= patience or queue == 1:
            break
        queue = max(1, min(queue - 1, math.floor(queue * patience / _wait(people))))
        people = _with_queue(tried, queue)
    if _wait(people) > patience:
        shorter = (
            f"A queue of {queue:,} does not keep that either ({units.seconds(_wait(people))})"
            if queue < fit.max_queue
            else "None is shorter"
        )
        return _said(
            fit,
            f"{_let_in(tried, first, f'with {fit.max_queue:,} in the queue, ')}, and people are ready to wait {units.seconds(patience)}. "
            f"{shorter}; {_relief(tried)} may.{_refused(first)}",
        )
    if queue == fit.max_queue:
        return _said(fit, f"{fit.max_queue_why} {_let_in(tried, people)}.{_refused(people)}")
    beyond = f"with {fit.max_queue:,} it would be {units.seconds(_wait(first))}, and people are ready to wait {units.seconds(patience)}"
    return replace(
        _said(fit, f"{_let_in(tried, people, f'with {queue:,} in the queue, ')}; {beyond}.{_refused(people)}"),
        max_queue=queue,
    )


def _relief(tried: Rehearsal) -> str:
    return "one adapter for all" if tried.load.adapters > 1 and tried.server.policy != "vllm" else "more slots or shorter turns"


def _said(fit: Fit, why: str) -> Fit:
    return replace(fit, max_queue_why=why)


def _let_in(tried: Rehearsal, people: Felt, given: str = "") -> str:
    return f"{preface(tried)}: {given}whoever is let in waits at most {units.seconds(_wait(people))} in 95 % of turns"


def _with_queue(tried: Rehearsal, queue: int) -> Felt:
    """The plan's load with a queue of that length: the load without a bound where its queue never grows longer."""
    unbounded = tried.run()
    run = unbounded if unbounded.longest_queue <= queue else tried.run(replace(tried.server, max_queue=queue))
    return run.everyone


def _wait(people: Felt) -> float:
    return people.wait.p95 if people.wait else 0.0


def _refused(people: Felt) -> str:
    share = people.rejected / (people.turns + people.rejected) if people.rejected else 0.0
    return f" {units.percent(share)} of requests are turned away and sent again later." if share else ""
