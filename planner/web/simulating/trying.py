"""From a query string to simulated runs, or to the sentences that say what to change. Nothing is kept between requests."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.http import QueryDict

from planner.core.draft import Source
from planner.core.engines import engines
from planner.core.errors import InputError
from planner.core.request import FIELDS as PLAN_FIELDS
from planner.core.request import RequestError, read_as
from planner.core.simulating.hardship import Hardship, hardships
from planner.core.simulating.recorded import Recorded
from planner.core.simulating.runs import Axis, Trial, ends, points, read_axis, requests_of, trials
from planner.core.simulation import Run
from planner.core.simulation.request import SimulationRequest
from planner.web.address import EXAMPLE, given
from planner.web.asking import Outcome, ask
from planner.web.simulating.inputs import SWEEP

# What one request of a page may cost: seconds of computing, however many runs share them.
MAX_EVENTS: Final = 600_000
_MOST_HOURS: Final = 8
MAX_POINTS: Final = 40
# A space or a semicolon ends an option's values; one after a comma was typed for looks.
_BETWEEN_AXES: Final = re.compile(r"(?<!,)[\s;]+(?!,)")


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be simulated. `outcome` has everything as it was typed and the plan, or the errors; `axes` are the sweep's."""

    outcome: Outcome
    axes: tuple[Axis, ...] = ()

    @property
    def values(self) -> dict[str, str]:
        """The inputs of one run, without the sweep."""
        return {name: value for name, value in self.outcome.typed.items() if name != SWEEP}

    @property
    def plan_values(self) -> dict[str, str]:
        return {name: value for name, value in self.values.items() if name in PLAN_FIELDS}

    @property
    def runs(self) -> int:
        return len(points(self.axes))

    def refused(self, refusal: InputError) -> "Question":
        """The same with the sentence of a refusal that came later, beside the input it is about."""
        errors = refusal.errors if isinstance(refusal, RequestError) else {_field(refusal): str(refusal)}
        return replace(self, outcome=replace(self.outcome, errors=errors))


@dataclass(frozen=True, slots=True)
class Tried:
    """The run, and the same load at the fast and at the slow end of estimated speeds: None where they are measured, or unknown."""

    trial: Trial
    ends: tuple[Run, Run] | None


def read_question(query: QueryDict) -> Question:
    """What a query string asks for. Nothing of a plan in it asks for the worked example's."""
    typed = given({name: str(value) for name, value in query.dict().items()} | {SWEEP: " ".join(map(str, query.getlist(SWEEP)))})
    if not typed.keys() & set(PLAN_FIELDS):
        typed = given({**EXAMPLE, **typed})
    question = Question(Outcome(typed))
    try:
        policy = read_as(SimulationRequest, question.values).policy
        question = replace(question, axes=_axes(typed.get(SWEEP, "")))
        requests_of(question.values, question.axes)
    except InputError as refused:
        # Once there are axes the single run is fine: what is refused then is a value of the sweep.
        return question.refused(InputError(str(refused), field=SWEEP) if question.axes else refused)
    plan = question.plan_values
    if policy in engines() and plan.get("engine", "auto") == "auto":
        plan["engine"] = policy
    return replace(question, outcome=replace(ask(plan), typed=typed))


def _axes(text: str) -> tuple[Axis, ...]:
    axes = tuple(read_axis(part) for part in _BETWEEN_AXES.split(text.strip()) if part)
    count = len(points(axes))
    if count > MAX_POINTS:
        raise InputError(
            f"A sweep on this page has at most {MAX_POINTS} runs, this one has {count}: give fewer values, or use manage.py simulate.",
            field=SWEEP,
        )
    return axes


def try_out(question: Question, recorded: Sequence[Recorded] = ()) -> Tried:
    """The run of a question that has a plan. Raises InputError where it cannot be simulated."""
    trial = next(trials(question.values, _source(question), recorded=recorded, max_events=MAX_EVENTS))
    try:
        return Tried(trial, ends(trial, recorded, max_events=(MAX_EVENTS - trial.run.events) // 2))
    except InputError:  # at the slow end it takes too long to simulate
        return Tried(trial, None)


def sweep(question: Question) -> Iterator[Trial]:
    """The runs of the question's sweep, one at a time. Raises InputError where they cannot be simulated, or take too long together."""
    if not question.axes and question.outcome.answer:
        raise InputError("There is no sweep in this address: add one, for example sweep=batch=256,512,1024.", field=SWEEP)
    return trials(question.values, _source(question), question.axes, events_in_all=MAX_EVENTS)


def bad_hours(question: Question) -> Iterator[Hardship]:
    """The bad hours that a plan is to survive, one at a time. Raises InputError where they cannot be simulated."""
    return hardships(question.values, _source(question), max_events=MAX_EVENTS // _MOST_HOURS)


def _source(question: Question) -> Source:
    if question.outcome.answer is None:
        raise InputError(next(iter(question.outcome.errors.values())))
    return question.outcome.answer.source


def _field(refusal: InputError) -> str:
    return refusal.field if refusal.field == SWEEP or refusal.field in SimulationRequest.model_fields else ""
