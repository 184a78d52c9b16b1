"""What the templates of the simulator show, put together from a question and its run."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, get_args

from planner.core import units
from planner.core.plan import Figure, Grade
from planner.core.simulating.around import axes_around, held
from planner.core.simulating.report import trials_json
from planner.core.simulating.runs import Axis, Trial, points
from planner.core.simulating.told import told
from planner.core.simulation import Run, policies
from planner.core.simulation.loop import LONG_PREFILL, SHORT_TURN
from planner.core.simulation.request import PolicyChoice
from planner.core.simulation.results import Felt, Quantiles
from planner.web import choices
from planner.web.address import address, query
from planner.web.figures import GRADES, Asked
from planner.web.inputs import form
from planner.web.page import summary
from planner.web.simulating.inputs import GROUPS, SWEEP
from planner.web.simulating.trying import Question, Tried

_CURVES: Final = {"batch": "tokens of a pass", "users": "users", "slots": "slots"}


@dataclass(frozen=True, slots=True)
class Measure:
    """What people feel, one kind of it: `name` as the runs have it, `term` where the glossary explains it, `show` how it is written."""

    name: str
    label: str
    what: str
    term: str
    show: Callable[[float], str]


_MEASURES: Final = (
    Measure("ttft", "Time to first token", "the wait in the queue is in it", "ttft", units.seconds),
    Measure("itl", "Between two tokens", "every gap of every answer", "itl", units.gap),
    Measure("pause", "Longest pause of an answer", "the longest gap of each", "pause", units.gap),
    Measure("wait", "Wait in the queue", "until the prompt is begun", "queue-wait", units.seconds),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of a run; `cells` are half, 95 %, 99 % and all, none where no turn has it.

    `between` is the 95th percentile at both ends of estimated speeds, "" where they are measured.
    """

    measure: Measure
    cells: tuple[tuple[str, str], ...]
    between: str


@dataclass(frozen=True, slots=True)
class Later:
    """A part that is worked out only when somebody wants to see it: `address` has it as a page, `starts` says when a script begins.

    `seen`: scrolled to; `shown`: at once; `asked`: with a click.
    """

    id: str
    title: str
    link: str
    address: str
    starts: str


def page(question: Question, tried: Tried | None, *, replay_error: str = "") -> dict[str, Any]:
    """The context of simulate/page.html."""
    outcome = question.outcome
    context: dict[str, Any] = {
        "nav": "simulate",
        "typed": outcome.typed,
        "query": query(outcome.typed),
        "planner_address": address("/", question.plan_values),
        "form": form(outcome, GROUPS),
        "errors": outcome.errors,
        "by_hand": outcome.by_hand,
        "config": outcome.typed.get("config", ""),
        "summary": summary(outcome),
        "models": choices.models(),
        "devices": choices.devices(),
        "formats": choices.formats(outcome.answer.plan if outcome.answer else None),
        "replay_error": replay_error,
        "long_prefill": LONG_PREFILL,
        "short_turn": SHORT_TURN,
    }
    if tried:
        context |= _answer(question, tried)
    return context


def _answer(question: Question, tried: Tried) -> dict[str, Any]:
    trial = tried.trial
    grade: Grade = "measured" if trial.set_up.prefill_rate.grade == trial.set_up.decode_rate.grade == "measured" else "estimated"
    return {
        "trial": trial,
        "run": trial.run,
        "told": told(trial),
        "grade": grade,
        "policy": policies()[trial.set_up.scheduler.policy].title,
        "readouts": _readouts(tried, grade),
        "rows": [_row(measure, tried) for measure in _MEASURES],
        "groups": _groups(trial),
        "warnings": trials_json([trial])["warnings"],
        "later": () if trial.replayed else tuple(_later(question, trial)),
        "command": "" if trial.replayed else command(question),
        "grades": list(GRADES.items()),
    }


def _row(measure: Measure, tried: Tried) -> Row:
    value: Quantiles | None = getattr(tried.trial.run.everyone, measure.name)
    cells = tuple((share, measure.show(getattr(value, share))) for share in ("p50", "p95", "p99", "max")) if value else ()
    return Row(measure, cells, _between(tried, partial(_p95, measure.name), measure.show))


def _p95(name: str, run: Run) -> float | None:
    value: Quantiles | None = getattr(run.everyone, name)
    return value.p95 if value else None


def _between(tried: Tried, figure: Callable[[Run], float | None], show: Callable[[float], str]) -> str:
    """A figure at both ends of estimated speeds, "" where they are measured or it is not known there."""
    found = [value for run in tried.ends or () if (value := figure(run)) is not None]
    ends = dict.fromkeys(show(value) for value in sorted(found))
    return " to ".join(ends) if len(found) > 1 else ""


def _groups(trial: Trial) -> tuple[Felt, ...]:
    """The kinds of turns where there are several, and the short turns beside a long prefill where there are any."""
    run = trial.run
    several = run.kinds if len(run.kinds) > 1 else (run.everyone,)
    return (*several, run.beside) if run.beside.turns else several


def _readouts(tried: Tried, grade: Grade) -> tuple[Asked, ...]:
    run, ready = tried.trial.run, tried.trial.set_up
    source = (
        f"Simulated: {units.counted(run.everyone.turns, 'turn')}, {run.steps:,} passes, seed {ready.request.seed}. "
        f"Prefill {_rate(ready.prefill_rate)}, decode {_rate(ready.decode_rate)}."
    )
    timed = (
        ("ttft", "to the first token, p95", "From sending a turn to the first token of its answer, the wait in the queue included."),
        ("pause", "longest pause, p95", "The longest gap between two tokens of each answer: what people notice in mid-sentence."),
        ("wait", "wait in the queue, p95", "From sending a turn until its prompt is begun."),
    )
    refused = f"{run.everyone.rejected:,} refused at once, {run.everyone.failed:,} lost in the middle."
    busy = "The share of the time in which a pass runs."
    return (
        *(
            Asked(f"felt-{name}", label, units.seconds(value), grade, formula, source, range=_between(tried, partial(_p95, name), units.seconds))
            for name, label, formula in timed
            if (value := _p95(name, run)) is not None
        ),
        Asked("felt-refused", "turns refused or lost", f"{_lost(run):,}", grade, refused, source, range=_between(tried, _lost, "{:,}".format)),
        Asked(
            "felt-busy", "of the time busy", units.percent(run.utilization), grade, busy, source,
            range=_between(tried, lambda end: end.utilization, units.percent),
        ),
    )  # fmt: skip


def _lost(run: Run) -> int:
    return run.everyone.rejected + run.everyone.failed


def _rate(figure: Figure) -> str:
    if figure.low is None or figure.high is None or figure.grade != "estimated":
        return f"{units.significant(figure.value)} tokens/s ({figure.grade})"
    return f"{units.significant(figure.value)} tokens/s (estimated, {units.significant(figure.low)} to {units.significant(figure.high)})"


def _later(question: Question, trial: Trial) -> list[Later]:
    """The question's own sweep, the curves around the run, the schedulers side by side, and the bad hours."""
    own = [axis.option for axis in question.axes]
    later = []
    if question.axes:
        later.append(_sweep("own-sweep", "Your sweep", question.values, question.axes, starts="shown"))
    around = question.values | {name: str(value) for name, value in held(trial).items()}
    later += [
        _sweep(f"by-{axis.option}", f"First token and pause against {_CURVES[axis.option]}", around, (axis,), starts="seen")
        for axis in axes_around(trial)
        if own != [axis.option] and len(axis.values) > 1
    ]
    schedulers = Axis("policy", get_args(PolicyChoice))
    later.append(_sweep("by-policy", "Schedulers side by side", around, (schedulers,), starts="asked"))
    return [
        *later,
        Later("bad-hours", "Try to break this plan", "Try the bad hours", address("/simulate/break/", question.values), "asked"),
    ]


def _sweep(id_: str, title: str, values: dict[str, str], axes: tuple[Axis, ...], *, starts: str) -> Later:
    made = units.counted(len(points(axes)), "run")
    return Later(id_, title, f"Make the {made}", address("/simulate/sweep/", values, **{SWEEP: sweep_text(axes)}), starts)


def sweep_text(axes: tuple[Axis, ...]) -> str:
    """The axes as they are typed: `batch=256,512 users=10,20`."""
    return " ".join(f"{axis.option}={','.join(axis.values)}" for axis in axes)


def command(question: Question) -> str:
    """The command that prints the same figures as JSON."""
    words = ["manage.py", "simulate"]
    for name, value in question.values.items():
        said = "config.json" if name == "config" else value  # the command reads it from a file
        words += [said] if name == "model" else [f"--{name.replace('_', '-')}", said]
    for axis in question.axes:
        words += ["--sweep", sweep_text((axis,))]
    return shlex.join([*words, "--json"])
