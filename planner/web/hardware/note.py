"""The purchase note as a page that prints on two, and as one HTML file that asks nobody for anything."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final

from django.http import QueryDict
from django.template.loader import render_to_string

from planner import VERSION
from planner.core import catalog
from planner.core.draft import Source
from planner.core.economics import NO_TERMS, Terms
from planner.core.errors import InputError, one_line
from planner.core.prices import NO_PRICES, Prices
from planner.core.purchase_note import purchase_note
from planner.core.purchase_note.tree import PurchaseNote
from planner.core.request import FIELDS, PlanRequest, read_request
from planner.core.running_cost import NO_TARIFF, Tariff
from planner.sources import find_model
from planner.web import choices, site
from planner.web.address import EXAMPLE, address, given, query
from planner.web.asking import Outcome
from planner.web.figures import GRADES
from planner.web.hardware.inlined import style
from planner.web.hardware.inputs import BESIDE, MACHINES, NEED, OF_ONE_MACHINE, OWNING, POWER
from planner.web.hardware.parts import Parts
from planner.web.hardware.question import typed_in
from planner.web.hardware.typed_prices import read_prices
from planner.web.inputs import GROUPS as PLAN_GROUPS
from planner.web.inputs import Form, Group, Input, form
from planner.web.management.price_options import given_tariff, given_terms

FILE_NAME: Final = "purchase-note.html"
MAX_LINE: Final = 120
_STYLES: Final = ("app.css", "hardware.css")
_LINES: Final = ("title", "author")
_MONEY: Final = ("kwh_price", "hours", "api_input", "api_output", "months", "idle_watts", "busy_watts")
OWN: Final = (*_LINES, "have", "prices", "beside", *_MONEY)
_MACHINE: Final = next(group for group in PLAN_GROUPS if group.name == "machine")
GROUPS: Final = (
    Group(
        "head",
        "The note’s head",
        (
            Input("title", "Title", "made from the need"),
            Input("author", "From", "e.g. your name, your department", hint="A line under the title."),
        ),
    ),
    NEED,
    Group(
        "buy",
        "What to buy",
        (
            *(
                replace(item, label="Machine", hint="Empty: the cheapest step, or the best of the table.")
                if item.name == "device"
                else item
                for item in _MACHINE.inputs
            ),
            replace(next(item for item in MACHINES.inputs if item.name == "have"), width="whole"),
            BESIDE,
        ),
    ),
    POWER,
    replace(OWNING, folded=True),
)


@dataclass(frozen=True, slots=True)
class Noted:
    """`note` is None where there are errors."""

    typed: Mapping[str, str]
    note: PurchaseNote | None
    errors: Mapping[str, str]


def read_note(asked: QueryDict) -> Noted:
    """The note for a query string. Nothing of a need in it asks for the worked example’s."""
    typed = typed_in(asked)
    if not typed.keys() & (set(FIELDS) - set(OF_ONE_MACHINE)):
        typed = given({name: value for name, value in EXAMPLE.items() if name not in OF_ONE_MACHINE} | typed)
    parts = Parts(OWN)
    part, errors = parts.read, parts.errors
    options = dict.fromkeys(OWN) | typed
    request = part("", lambda: read_request({name: value for name, value in typed.items() if name not in OWN}), None)
    prices = part("prices", lambda: read_prices(typed.get("prices", "")), NO_PRICES)
    tariff = part("kwh_price", lambda: given_tariff(options), NO_TARIFF)
    terms = part("", lambda: given_terms(options), NO_TERMS)
    have: tuple[tuple[str, int], ...] = part("have", lambda: catalog.parse_machines(typed["have"]) if "have" in typed else (), ())
    for name in _LINES:
        part(name, partial(_line, name, typed), "")
    source = part("model", lambda: find_model(request, site.hub()), None) if request and not errors else None
    if request is None or source is None or errors:
        return Noted(typed, None, errors)
    beside = typed.get("beside", "")
    need = frozenset(request.model_fields_set)
    made = part(
        "", lambda: _written(request, source, have=have, prices=prices, tariff=tariff, terms=terms, beside=beside, named=need), None
    )
    return Noted(typed, made, errors)


@lru_cache(maxsize=8)
def _written(
    request: PlanRequest,
    source: Source,
    *,
    have: tuple[tuple[str, int], ...],
    prices: Prices,
    tariff: Tariff,
    terms: Terms,
    beside: str,
    named: frozenset[str],  # noqa: ARG001 (an input that was given counts, also where it is the default)
) -> PurchaseNote:
    """The page and its file are of the same note."""
    return purchase_note(request, source, have=have, prices=prices, tariff=tariff, terms=terms, beside=beside)


def _line(name: str, typed: Mapping[str, str]) -> str:
    text = typed.get(name, "")
    if len(text) > MAX_LINE:
        raise InputError(f"At most {MAX_LINE} characters: this line has {len(text):,}.", field=name)
    return text


def note_page(noted: Noted, *, origin: str) -> dict[str, Any]:
    """The context of hardware/note.html, and of the file. `origin` is this site, for the address on paper."""
    typed = noted.typed
    made = form(Outcome(typed, errors=noted.errors), GROUPS)
    kept = {name: value for name, value in made.kept.items() if name != "prices"}
    problems = tuple(sentence for sentence in made.problems if sentence != noted.errors.get("prices"))
    context: dict[str, Any] = {
        "nav": "hardware",
        "typed": typed,
        "query": query(typed),
        "origin": origin,
        "models": choices.models(),
        "devices": choices.devices(),
        "form": Form(made.groups, kept, problems),
        "errors": noted.errors,
        "prices": typed.get("prices", ""),
        "prices_error": noted.errors.get("prices", ""),
        "summary": f"{typed.get('model', '').rpartition('/')[2][:40]} · {typed.get('users', '')[:10]} users",
        "table_address": address(
            "/hardware/",
            {
                name: value
                for name, value in typed.items()
                if name not in {*OF_ONE_MACHINE, *_LINES, "beside", "ram", "api_input", "api_output", "months", "idle_watts", "busy_watts"}
            },
        ),
    }
    if noted.note:
        plan_values = {name: value for name, value in typed.items() if name in FIELDS}
        context |= {
            "note": noted.note,
            "title": one_line(typed.get("title", "")) or noted.note.title,
            "author": one_line(typed.get("author", "")),
            "plan_address": address("/", plan_values, **dict(noted.note.changes)),
            "grades": list(GRADES.items()),
            "known_grades": tuple(GRADES),
        }
    return context


def note_file(noted: Noted, *, origin: str) -> str:
    """The whole file."""
    styles = [style(name) for name in _STYLES]
    return render_to_string("hardware/note_file.html", note_page(noted, origin=origin) | {"styles": styles, "slotwise_version": VERSION})
