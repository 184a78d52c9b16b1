"""What the page and the report of a diagnosis show, put together from it."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from planner.core import units
from planner.core.diagnosing.diagnosis import Diagnosis, Finding, Severity
from planner.core.diagnosing.told import told
from planner.core.engines import engines
from planner.core.plan import Grade
from planner.web.carried import Carried
from planner.web.diagnosing import tables
from planner.web.diagnosing.pictures import pictures
from planner.web.diagnosing.tables import words
from planner.web.figures import GRADES, Asked

# What picks icon and colour, and the word that says the same.
_STATES: Final[Mapping[Severity | None, tuple[str, str]]] = {
    "high": ("does_not_fit", "Matters much"),
    "medium": ("tight", "Matters"),
    "low": ("note", "Matters little"),
    None: ("fits", "Nothing found"),
}
_TTFT_FROM: Final[Mapping[str, str]] = {
    "arrival": "From the arrival of the request, as the server’s metrics count it, to the first token",
    "sending": "From sending the request to the first token",
    "launch": "From getting a slot (how long a request waited for it is not in a log) to the first token",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding as it is shown: `state` picks icon and colour, `word` says how much it matters. Its files have ids of their own."""

    number: int
    finding: Finding
    state: str
    word: str


def shown(diagnosis: Diagnosis, *, plan: Carried | None = None, shared: bool = False) -> dict[str, Any]:
    """The context of diagnose/_answer.html.

    `plan` is the one to carry the speeds into. What is `shared` has no words in it that came with the log or the calls.
    """
    said = told(diagnosis)
    state, word = _STATES[said.severity]
    if said.severity is None and (not diagnosis.finished or diagnosis.busy_share is None):
        state = "note"
    return {
        "diagnosis": diagnosis,
        "told": said,
        "state": state,
        "word": word,
        "server": _server(diagnosis, shared=shared),
        "readouts": tuple(_readouts(diagnosis)),
        "findings": [Shown(number, each, *_STATES[each.severity]) for number, each in enumerate(diagnosis.findings, 1)],
        "parts": tuple(tables.parts(diagnosis.breakdown)) if diagnosis.breakdown else (),
        "rates": tuple(tables.rates(diagnosis.rates)),
        "felt": tuple(tables.felt(diagnosis)),
        "counted_from": _counted_from(diagnosis),
        "waits": tuple(tables.waits(diagnosis)),
        "purposes": tuple(tables.purpose(each, shared=shared) for each in diagnosis.purposes),
        "pictures": pictures(diagnosis),
        "compared": tuple(tables.compared(row) for row in diagnosis.comparison.rows) if diagnosis.comparison else (),
        "changed": [words(text, shared=shared) for text in diagnosis.comparison.changed] if diagnosis.comparison else [],
        "what_if": tuple(tables.what_if(each) for each in diagnosis.what_if),
        "warnings": diagnosis.warnings,
        "unparsed": diagnosis.counts.unparsed_examples,
        "also": _also(diagnosis),
        "engine_title": _title(diagnosis.facts.engine),
        "plan_address": _plan_address(diagnosis, plan),
        "grades": list(GRADES.items()),
    }


def _server(diagnosis: Diagnosis, *, shared: bool) -> str:
    """`llama-server b11434, 854 tasks over 24 h`."""
    facts = diagnosis.facts
    title = _title(facts.engine)
    version = facts.values.get("version")
    named = f"{title} {words(str(version), shared=shared)[:40]}" if version else title
    span = f" over {units.seconds(diagnosis.span_s)}" if diagnosis.span_s else ""
    return f"{named}, {units.counted(diagnosis.tasks, 'task')}{span}"


def _title(engine: str) -> str:
    return engines()[engine].title if engine in engines() else engine


def _also(diagnosis: Diagnosis) -> str:
    """Other engines whose lines stand in the log and are not read, "" where there are none."""
    named = diagnosis.facts.values.get("also")
    return ", ".join(_title(str(name)) for name in named) if isinstance(named, list) else ""


def _readouts(diagnosis: Diagnosis) -> Iterator[Asked]:
    metrics = _from_metrics(diagnosis)
    source = f"From the log’s own lines: {diagnosis.counts.lines:,} of them, {diagnosis.counts.unparsed_lines:,} not understood."
    counts = (
        f"{diagnosis.finished:,} finished, {diagnosis.cancelled:,} cancelled, {diagnosis.refused:,} refused; "
        f"{diagnosis.prompt_tokens:,} prompt tokens ({diagnosis.cached_tokens:,} of them cached), {diagnosis.output_tokens:,} answer tokens."
    )
    grade: Grade = "measured"
    yield Asked("tasks", "tasks", f"{diagnosis.tasks:,}", grade, counts, source)
    if diagnosis.busy_share is not None:
        formula = "The share of the log’s time in which at least one task had a slot."
        yield Asked("busy", "of the time busy", units.percent(diagnosis.busy_share), grade, formula, source)
    if diagnosis.two_or_more_share is not None:
        formula = "The share of the log’s time in which two or more tasks had a slot. Where it is small, more or faster cards help little."
        yield Asked("together", "two or more at once", units.percent(diagnosis.two_or_more_share), grade, formula, source)
    if diagnosis.ttft is not None:
        formula = f"{_TTFT_FROM[_counted_from(diagnosis)]}; 95 % of {diagnosis.ttft.count:,} do not exceed it."
        yield Asked("felt-ttft", "to the first token, p95", units.seconds(diagnosis.ttft.p95), grade, formula, source)
    if diagnosis.itl is not None:
        known = "no longer than the bound of its bucket in the metrics" if metrics else "as far as progress lines show them"
        formula = f"The longest of {diagnosis.itl.count:,} gaps between two tokens of an answer, {known}."
        yield Asked("felt-gap", "longest gap in an answer", units.gap(diagnosis.itl.max), grade, formula, source)
    if diagnosis.prompt_cache.hit_rate is not None:
        formula = "The share of all prompt tokens that were found in the cache and not computed again."
        yield Asked("hits", "of prompts from the cache", units.percent(diagnosis.prompt_cache.hit_rate), grade, formula, source)


def _from_metrics(diagnosis: Diagnosis) -> bool:
    """The log has no line for a request: times are those of the server's metrics."""
    return diagnosis.ttft is not None and not diagnosis.lanes and not diagnosis.ttft_bars


def _counted_from(diagnosis: Diagnosis) -> str:
    return "arrival" if _from_metrics(diagnosis) else diagnosis.ttft_from


def _plan_address(diagnosis: Diagnosis, plan: Carried | None) -> str:
    """The planner with these speeds and this load, in the plan that came along where there is one. "" where too little is known."""
    if diagnosis.query is None:
        return ""
    found = dict(parse_qsl(diagnosis.query))
    if plan is None or not plan.values:
        return f"/?{diagnosis.query}"
    return plan.with_(found.pop("engine", plan.engine or "auto"), found)


def command(names: list[str], options: Mapping[str, str]) -> str:
    """The command that prints the same: names of the logs, and of what was given beside them."""
    words = ["manage.py", "diagnose", *(names or ["server.log"])]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", value]
    return shlex.join([*words, "--html", "report.html"])
