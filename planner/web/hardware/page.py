"""What the hardware table's page shows, put together from a question and its rows."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.core.comparing import Option
from planner.core.comparing.order import READING_RATE, Sieve
from planner.core.comparing.table import assumptions
from planner.core.hardware import DeviceClass
from planner.web import choices
from planner.web.address import address, query
from planner.web.asking import Outcome
from planner.web.figures import GRADES
from planner.web.hardware.columns import COLUMNS, Cell, Column, Footnotes, columns_of, verdict_word
from planner.web.hardware.inputs import GROUPS
from planner.web.hardware.pictures import PICTURES
from planner.web.hardware.question import PAGE_ROWS, Asked, Found, Question
from planner.web.inputs import form

_VENDORS: Final = ("NVIDIA", "AMD", "Intel", "Apple", "CPU")
_VERDICTS: Final = {"fits": "fits", "tight": "tight", "does_not_fit": "does not fit"}
# These are in the order of who is served best: the most slots and the fastest first.
_MOST_FIRST: Final = frozenset({"slots", "rate"})
_KINDS: Final[Mapping[DeviceClass, str]] = {
    "consumer": "card",
    "workstation": "workstation card",
    "datacenter": "datacentre card",
    "unified": "unified memory",
    "cpu": "no GPU",
}


@dataclass(frozen=True, slots=True)
class Row:
    """An option as it is shown. `state` picks icon and colour, `word` says the same; `refused`: the footnote with the engine’s reason."""

    option: Option
    address: str
    state: str
    word: str
    kind: str
    cells: tuple[tuple[Column, Cell], ...]
    refused: int | None


@dataclass(frozen=True, slots=True)
class Head:
    """A column’s head. `sorts` is what its button asks for, "" where nothing is sorted by it; `aria` how the rows stand now."""

    name: str
    label: str
    title: str
    sorts: str
    aria: str
    number: bool = True


@dataclass(frozen=True, slots=True)
class Box:
    """A check box of a list."""

    value: str
    label: str
    checked: bool


def page(question: Question, found: Found | None, *, prices_error: str = "") -> dict[str, Any]:
    """The context of hardware/page.html; without `found` there are errors."""
    typed = question.typed
    errors = dict(question.errors) | ({"prices": prices_error} if prices_error else {})
    shown = columns_of(question.columns, tariff_known="kwh_price" in typed)
    context: dict[str, Any] = {
        "nav": "hardware",
        "typed": typed,
        "query": query({name: value for name, value in typed.items() if name != "page"}),
        "form": _form(typed, errors),
        "errors": errors,
        "prices": typed.get("prices", ""),
        "prices_error": errors.get("prices", ""),
        "config": typed.get("config", ""),
        "summary": " · ".join(part for part in (typed.get("model", "").rpartition("/")[2][:40], _people(typed)) if part),
        "vendors": _boxes("vendor", {name: name for name in _VENDORS}, typed),
        "verdicts": _boxes("verdict", _VERDICTS, typed),
        "columns": [Box(column.name, column.label, column in shown) for column in COLUMNS],
        "models": choices.models(),
        "devices": choices.devices(),
        "formats": choices.formats(None),
        "grades": list(GRADES.items()),
    }
    if found and question.asked:
        context |= _answer(question, question.asked, found, shown)
    return context


def _form(typed: Mapping[str, str], errors: Mapping[str, str]) -> Any:
    made = form(Outcome(typed, errors=errors), GROUPS)
    boxes = {"prices", "vendor", "verdict", "columns", "page", "sort", *(name for name in errors if name not in typed)}
    kept = {name: value for name, value in made.kept.items() if name not in boxes}
    return type(made)(made.groups, kept, tuple(sentence for sentence in made.problems if sentence != errors.get("prices")))


def _people(typed: Mapping[str, str]) -> str:
    return f"{typed['users'][:10]} users" if "users" in typed else ""


def _boxes(name: str, known: Mapping[str, str], typed: Mapping[str, str]) -> list[Box]:
    given = {part.strip().lower().replace(" ", "_") for part in typed.get(name, "").split(",")}
    return [Box(value, label, value.lower() in given) for value, label in known.items()]


def _answer(question: Question, asked: Asked, found: Found, shown: tuple[Column, ...]) -> dict[str, Any]:
    footnotes = Footnotes()
    pages = max(1, math.ceil(len(found.rows) / PAGE_ROWS))
    number = min(asked.page, pages)
    first = (number - 1) * PAGE_ROWS
    rows = [_row(question, option, shown, footnotes) for option in found.rows[first : first + PAGE_ROWS]]
    return {
        "asked": asked,
        "source": asked.source,
        "rows": rows,
        "first": first + 1,
        "last": first + len(rows),
        "total": len(found.rows),
        "combinations": len(found.table),
        "pages": [
            (each, address("/hardware/", question.typed, page=each if each > 1 else ""), each == number) for each in range(1, pages + 1)
        ],
        "order": ("-" if asked.backwards else "") + asked.by,
        "heads": list(_heads(asked, shown)),
        "footnotes": footnotes.reasons,
        "best": _best(question, found),
        "assumed": assumptions(asked.request),
        "reading": f"{READING_RATE:.1f}",
        "only_launch_prices": not asked.prices.by_slug,
        "currency": asked.prices.currency,
        "left_by_each": _left_by_each(asked.sieve, found.table) if not rows else (),
        "pictures": [picture for picture in PICTURES if rows],
    }


def _row(question: Question, option: Option, shown: tuple[Column, ...], footnotes: Footnotes) -> Row:
    patience = question.asked.request.patience if question.asked else 0.0
    word = verdict_word(option, patience_seconds=patience)
    return Row(
        option=option,
        address=plan_address(question, option),
        state="tight" if word == "fits, slow" else option.verdict,
        word=word,
        kind=_KINDS[option.device_class],
        cells=tuple((column, column.show(option, footnotes)) for column in shown) if not option.refusal else (),
        refused=footnotes.of(option.refusal) if option.refusal else None,
    )


def plan_address(question: Question, option: Option) -> str:
    """Where the planner plans exactly this row."""
    return address("/", question.plan_values, **dict(option.changes))


def _heads(asked: Asked, shown: tuple[Column, ...]) -> Iterator[Head]:
    yield Head(
        "verdict", "Verdict", "The best first: who is served, at which pace, at what price", "best", _aria(asked, "best"), number=False
    )
    yield Head("machine", "Machine", "By the name of the device", *_sorted(asked, "device"), number=False)
    yield Head("settings", "Engine", "", "", "", number=False)
    for column in shown:
        yield Head(column.name, column.label, column.title, *(_sorted(asked, column.sort) if column.sort else ("", "")))


def _sorted(asked: Asked, by: str) -> tuple[str, str]:
    """What the button asks for next, and how the rows stand now."""
    again = asked.by == by and not asked.backwards
    return (f"-{by}" if again else by, _aria(asked, by))


def _aria(asked: Asked, by: str) -> str:
    if asked.by != by:
        return ""
    return "descending" if asked.backwards != (by in _MOST_FIRST) else "ascending"


@dataclass(frozen=True, slots=True)
class Best:
    """The first row in one sentence, with the ways on from it."""

    option: Option
    state: str
    word: str
    price: str
    address: str
    note_address: str
    change_address: str


def _best(question: Question, found: Found) -> Best | None:
    if not found.rows or question.asked is None:
        return None
    option = found.rows[0]
    word = verdict_word(option, patience_seconds=question.asked.request.patience)
    priced = next(column for column in COLUMNS if column.name == "price").show(option, Footnotes())
    machine = {name: value for name, value in option.changes if name in {"device", "count", "ram"}}
    return Best(
        option=option,
        state="tight" if word == "fits, slow" else option.verdict,
        word=word.capitalize(),
        price=f"{priced.text} {priced.under}".strip() if priced.note is None else "price not known",
        address=plan_address(question, option),
        note_address=_on(question, "/hardware/note/", machine),
        change_address=_on(question, "/hardware/change/", dict(option.changes)),
    )


def _on(question: Question, path: str, changes: Mapping[str, Any]) -> str:
    """The page at `path` about this machine, at the same prices."""
    kept = ("have", "prices", "kwh_price", "hours")
    return address(path, question.plan_values | {name: question.typed[name] for name in kept if name in question.typed}, **changes)


def _left_by_each(sieve: Sieve, table: tuple[Option, ...]) -> tuple[tuple[str, int], ...]:
    """What each limit alone would leave, where all together leave nothing."""
    wishes = {
        "the price": Sieve(max_price=sieve.max_price),
        "the board power": Sieve(max_watts=sieve.max_watts),
        "the maker": Sieve(vendors=sieve.vendors),
        "the verdict": Sieve(verdicts=sieve.verdicts),
        "the slots": Sieve(min_slots=sieve.min_slots),
        "the width": Sieve(single_slot=sieve.single_slot),
    }
    return tuple((name, sum(wish.passes(option) for option in table)) for name, wish in wishes.items() if wish != Sieve())
