"""What would change a verdict, as a page: the strip of its break points, the steps up from today’s machine, and what else the card carries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django.http import QueryDict

from planner.core import catalog
from planner.core.errors import InputError
from planner.core.headline import headline
from planner.core.ladder import ladder
from planner.core.ladder.rung import Ladder, Rung
from planner.core.ledger import ledger
from planner.core.ledger.entries import Entry, Ledger
from planner.core.ledger.report import lost_words, size_words
from planner.core.prices import NO_PRICES
from planner.core.request import FIELDS, RequestError
from planner.core.sensitivity import Range, held, sensitivity
from planner.core.sensitivity.inputs import shown
from planner.core.sensitivity.ranges import VERDICT_WORDS, said
from planner.web.address import address, given
from planner.web.asking import Outcome, ask
from planner.web.figures import GRADES
from planner.web.hardware.inputs import BESIDE, MACHINES
from planner.web.hardware.question import typed_in
from planner.web.hardware.typed_prices import read_prices
from planner.web.inputs import Form, Group, form

OWN: Final = ("have", "prices", "beside")
_GROUP: Final = Group("steps", "", (next(item for item in MACHINES.inputs if item.name == "have"), replace(BESIDE, width="half")))
# The strip goes from nothing to this many times the plan’s own value, which stands at a fixed place.
_TIMES: Final = 2.5
_WIDTH: Final = 100.0


@dataclass(frozen=True, slots=True)
class Strip:
    """A range as a bar, in percent of the drawing: where the verdict holds, and where the plan’s own value stands."""

    x: float
    width: float
    own: float


@dataclass(frozen=True, slots=True)
class Mover:
    """An input with the range in which the verdict holds. `address` plans the nearest value beyond it."""

    range: Range
    value: str
    sentence: str
    strip: Strip | None
    beyond: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A rung as it is shown. `address` plans it."""

    number: int
    rung: Rung
    address: str
    enough: bool


@dataclass(frozen=True, slots=True)
class Guest:
    """Something else on the card, as it is shown."""

    entry: Entry
    size: str
    lost: str


def change_page(query: QueryDict) -> tuple[dict[str, Any], bool]:
    """The context of hardware/change.html, and whether there is an answer."""
    typed = given(typed_in(query))
    plan_values = {name: value for name, value in typed.items() if name not in OWN}
    if not plan_values.keys() & set(FIELDS):
        typed |= dict(ask({}).typed)
        plan_values = {name: value for name, value in typed.items() if name not in OWN}
    outcome = ask(plan_values)
    errors = dict(outcome.errors)
    context: dict[str, Any] = {}
    if outcome.answer:
        try:
            context = _answer(outcome, typed)
        except RequestError as refused:
            errors |= refused.errors
        except InputError as refused:
            errors[refused.field or ""] = str(refused)
    context |= {
        "nav": "hardware",
        "typed": typed,
        "form": _form(typed, errors),
        "prices": typed.get("prices", ""),
        "prices_error": errors.get("prices", ""),
        "errors": errors,
        "planner_address": address("/", plan_values),
        "grades": list(GRADES.items()),
    }
    return context, not errors


def _form(typed: Mapping[str, str], errors: Mapping[str, str]) -> Form:
    made = form(Outcome(typed, errors=errors), (_GROUP,))
    return Form(made.groups, {name: value for name, value in made.kept.items() if name != "prices"}, made.problems)


def _answer(outcome: Outcome, typed: Mapping[str, str]) -> dict[str, Any]:
    answer = outcome.answer
    if answer is None:
        return {}
    plan, source = answer.plan, answer.source
    moved = sensitivity(plan, source)
    prices = read_prices(typed["prices"]) if "prices" in typed else NO_PRICES
    have = catalog.parse_machines(typed["have"]) if "have" in typed else ()
    climbed = ladder(plan.request, source, have=have, prices=prices)
    beside = ledger(held(plan, source), typed.get("beside", ""))
    return {
        "plan": plan,
        "headline": headline(plan),
        "moved": moved,
        "verdict": VERDICT_WORDS[moved.verdict],
        "movers": [_mover(each, outcome.typed) for each in moved.movers],
        "unmoved": [each.title for each in moved.ranges if each.distance is None],
        "ladder": climbed,
        "steps": _steps(climbed, outcome.typed),
        "ledger": beside,
        "guests": _guests(beside),
        "note_address": address("/hardware/note/", typed),
        "table_address": _table_address(typed),
    }


def _mover(each: Range, typed: Mapping[str, str]) -> Mover:
    ends = [(end.beyond, shown(each.unit, end.beyond)) for end in (each.down, each.up) if end.beyond is not None]
    return Mover(
        range=each,
        value=shown(each.unit, each.value),
        sentence=said(each),
        strip=_strip(each),
        beyond=tuple((text, address("/", typed, **{each.field: _typed(each, value)})) for value, text in ends),
    )


def _typed(each: Range, value: float) -> str:
    """The value as the planner’s own input takes it."""
    return str(int(value)) if each.unit in {"users", "tokens", "bytes"} else f"{value:.10g}"


def _strip(each: Range) -> Strip | None:
    """None where the plan’s own value is nothing: no share of it can be drawn."""
    if each.value <= 0:
        return None

    def place(value: float) -> float:
        return round(min(_TIMES, max(0.0, value / each.value)) / _TIMES * _WIDTH, 2)

    low = 0.0 if each.down.beyond is None else place(each.down.last)
    high = _WIDTH if each.up.beyond is None else place(each.up.last)
    return Strip(low, max(0.6, round(high - low, 2)), place(each.value))


def _steps(found: Ladder, typed: Mapping[str, str]) -> list[Step]:
    return [Step(number, rung, _plan_address(rung, typed), found.suffices(rung)) for number, rung in enumerate(found.rungs, 1)]


def _plan_address(rung: Rung, typed: Mapping[str, str]) -> str:
    return address("/", typed, **{name: value for name, value in rung.changes if name in FIELDS})


def _guests(found: Ledger) -> list[Guest]:
    return [Guest(entry, size_words(entry), lost_words(entry)) for entry in found.entries]


def _table_address(typed: Mapping[str, str]) -> str:
    """The whole table for the same need."""
    one = {
        "device",
        "count",
        "gpu_memory",
        "reserved_memory",
        "tensor_parallel",
        "pipeline_parallel",
        "engine",
        "cache_type",
        "weights_quant",
        "ram",
        "beside",
    }
    return address("/hardware/", {name: value for name, value in typed.items() if name not in one})
