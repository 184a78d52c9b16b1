"""Two to four plans side by side: what they were asked and what they answer, what differs first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.core.errors import InputError
from planner.core.request import FIELDS, read_request
from planner.plans.changes import input_name, shown_input
from planner.plans.record import FACTS, Json, record
from planner.web.asking import ask


@dataclass(frozen=True, slots=True)
class Column:
    """One plan: its title, its page or its address in the planner, what was asked, and today's answer."""

    title: str
    address: str
    inputs: Mapping[str, str]
    result: Json


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    values: tuple[str, ...]
    differs: bool


@dataclass(frozen=True, slots=True)
class Table:
    columns: Sequence[Column]
    inputs: tuple[Row, ...]
    results: tuple[Row, ...]


def column(title: str, address: str, inputs: Mapping[str, str]) -> Column:
    """Raises InputError for inputs that have no answer (any more), with the plan's title in the sentence."""
    outcome = ask(inputs)
    if outcome.answer is None:
        raise InputError(f"“{title}” has no answer: {next(iter(outcome.errors.values()))}")
    return Column(title or outcome.answer.plan.model.id, address, inputs, record(outcome.answer).result)


def compare(columns: Sequence[Column]) -> Table:
    """Rows that differ stand first; inputs that nobody gave are left out."""
    asked = [read_request(each.inputs).model_dump() for each in columns]
    inputs = [
        Row(
            input_name(name),
            tuple(shown_input(each.inputs, name) for each in columns),
            _differ(tuple(str(values[name]) for values in asked)),
        )
        for name in FIELDS
        if any(name in each.inputs for each in columns)
    ]
    shown = [(fact.name, tuple(fact.of(each.result) for each in columns)) for fact in FACTS]
    results = [Row(name, values, _differ(values)) for name, values in shown]
    return Table(columns, _differing_first(inputs), _differing_first(results))


def _differ(values: Sequence[str]) -> bool:
    return len(set(values)) > 1


def _differing_first(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda row: not row.differs))
