"""Sweeps and bad hours as they come in: after each run the table and the figure of all so far."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.http import StreamingHttpResponse
from django.template.loader import render_to_string

from planner.core import units
from planner.core.errors import InputError
from planner.core.request import read_as
from planner.core.simulating.hardship import first_broken
from planner.core.simulating.report import knees
from planner.core.simulating.runs import Trial
from planner.core.simulation import policies
from planner.core.simulation.request import SimulationRequest
from planner.web.address import address
from planner.web.charts import Curve, felt_by_option
from planner.web.simulating.inputs import LABELS
from planner.web.simulating.trying import Question, bad_hours, sweep

T = TypeVar("T")
TYPE: Final = "application/x-ndjson"
_MEASURES: Final = {"ttft": "First token", "pause": "Longest pause"}


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep: its values as they are shown, and where it is on a page of its own."""

    values: tuple[str, ...]
    trial: Trial
    address: str
    own: bool
    knees: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` runs (None: not known beforehand), and what there is to show of them. `error` ends it early."""

    done: int
    total: int | None
    context: Mapping[str, Any]
    error: str = ""


def sweep_so_far(question: Question) -> Iterator[Progress]:
    """After each run of the question's sweep, everything up to it. Whoever asks for no more has cancelled the rest."""
    return _so_far(lambda: sweep(question), question.runs, lambda done: swept(question, done))


def hours_so_far(question: Question) -> Iterator[Progress]:
    """After each bad hour, all up to it, and the first that the plan does not survive."""
    return _so_far(lambda: bad_hours(question), None, lambda done: {"hours": done, "broken": first_broken(done)})


def _so_far(begin: Callable[[], Iterator[T]], total: int | None, shown: Callable[[Sequence[T]], Mapping[str, Any]]) -> Iterator[Progress]:
    done: list[T] = []
    yield Progress(0, total, {})
    try:
        for each in begin():
            done.append(each)
            yield Progress(len(done), total, shown(done))
    except InputError as refused:
        yield Progress(len(done), total, shown(done) if done else {}, str(refused))


def streamed(template: str, steps: Iterator[Progress]) -> StreamingHttpResponse:
    """A line of JSON for each step, sent as it is made: `done`, `total`, `html`, and `error` where it ends early. Then one that it ended."""

    def lines() -> Iterator[str]:
        for step in steps:
            html = render_to_string(template, dict(step.context)) if step.context else ""
            yield json.dumps({"done": step.done, "total": step.total, "html": html, "error": step.error}) + "\n"
        yield json.dumps({"ended": True}) + "\n"

    # Named as sent plainly, it passes the compression, which would hold lines back; the other header asks nginx for the same.
    return StreamingHttpResponse(
        lines(), content_type=TYPE, headers={"Content-Encoding": "identity", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


def swept(question: Question, done: Sequence[Trial]) -> dict[str, Any]:
    """The context of simulate/_sweep.html for the runs so far."""
    options = [name for name, _ in done[0].options]
    given = read_as(SimulationRequest, question.values)
    own = tuple((name, getattr(given, name)) for name in options)
    # a curve that is not whole bends somewhere else
    found = [(knee["measure"], knee["value"]) for knee in knees(done)] if len(done) == question.runs else []
    context: dict[str, Any] = {
        "id": "-".join(options),
        "labels": [LABELS.get(name, name.replace("_", " ")) for name in options],
        "points": [
            Point(
                values=tuple(_shown(value) for _, value in trial.options),
                trial=trial,
                address=address("/simulate/", question.values, **dict(trial.options)),
                own=trial.options == own,
                knees=tuple(_MEASURES[measure] for measure, value in found if value == trial.options[0][1]),
            )
            for trial in done
        ],
    }
    if len(options) == 1 and len(done) > 1 and options != ["policy"]:
        context |= _figure(context["labels"][0], done, dict(found), own=own[0][1])
    return context


def _shown(value: float | str) -> str:
    return policies()[value].title if isinstance(value, str) else units.trimmed(value, 4)


def _figure(label: str, done: Sequence[Trial], knee_at: Mapping[str, Any], *, own: Any) -> dict[str, Any]:
    """The figure over one numeric option, and the same in a sentence."""
    values = sorted(float(trial.options[0][1]) for trial in done)
    ordered = sorted(done, key=lambda trial: float(trial.options[0][1]))
    curves, said = [], []
    for measure, title in _MEASURES.items():
        felt = [getattr(trial.run.everyone, measure) for trial in ordered]
        p95 = [each and each.p95 for each in felt]
        limit = done[0].set_up.request.pause_target if measure == "pause" else None
        curves.append(Curve(f"{title}, s", [each and each.p50 for each in felt], p95, knee_at.get(measure), limit))
        said.append(_sentence(title, p95, knee_at.get(measure)))
    return {
        "figure": felt_by_option(label, values, curves, own=own),
        "description": f"{label} from {_shown(values[0])} to {_shown(values[-1])}. {' '.join(said)} The table has every run.",
    }


def _sentence(title: str, p95: Sequence[float | None], knee: float | None) -> str:
    if p95[0] is None or p95[-1] is None:
        return f"{title}: not known everywhere."
    bend = f", with its knee at {_shown(knee)}" if knee is not None else ""
    return f"{title}, p95: {units.seconds(p95[0])} at first, {units.seconds(p95[-1])} at last{bend}."
