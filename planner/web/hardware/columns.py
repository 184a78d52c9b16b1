"""The columns of the hardware table: what each is called, how it is sorted, and what stands in its cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.core import units
from planner.core.comparing import Option
from planner.core.comparing.order import By, keeps_pace
from planner.core.plan import Figure
from planner.core.prices import Price

VERDICTS: Final = {"fits": "fits", "tight": "tight", "does_not_fit": "does not fit"}


@dataclass(frozen=True, slots=True)
class Cell:
    """`range` and `grade` are there for figures that have them, `under` is a second line. `note`: the footnote that says why nothing is known."""

    text: str
    range: str = ""
    grade: str = ""
    under: str = ""
    note: int | None = None


@dataclass(slots=True)
class Footnotes:
    """Why figures are not known, each reason once: its number is its place."""

    reasons: list[str] = field(default_factory=list)

    def of(self, reason: str) -> int:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return self.reasons.index(reason) + 1


@dataclass(frozen=True, slots=True)
class Column:
    """`label` stands in its head, `title` says it in full; `term` where the glossary has it; `show` makes its cell."""

    name: str
    label: str
    title: str
    show: Callable[[Option, Footnotes], Cell]
    sort: By | None = None
    term: str = ""
    usual: bool = True


def _unknown(option: Option, name: str, footnotes: Footnotes, otherwise: str) -> Cell:
    return Cell("not known", note=footnotes.of(dict(option.unknown).get(name, otherwise)))


def _figure(name: str, show: Callable[[float], str], otherwise: str) -> Callable[[Option, Footnotes], Cell]:
    def cell(option: Option, footnotes: Footnotes) -> Cell:
        figure: Figure | None = getattr(option, name)
        if figure is None:
            return _unknown(option, name, footnotes, otherwise)
        between = ""
        if figure.low is not None and figure.high is not None:
            between = f"{show(figure.low)} to {show(figure.high)}"
        return Cell(show(figure.value), between, figure.grade)

    return cell


def _slots(option: Option, footnotes: Footnotes) -> Cell:
    if option.slots_needed is None:
        return _unknown(option, "slots_needed", footnotes, "")
    return Cell(f"{option.slots_that_fit:,} of {option.slots_needed:,}")


def _wait(option: Option, footnotes: Footnotes) -> Cell:
    if option.wait_probability is None:
        return _unknown(option, "wait_probability", footnotes, "")
    return Cell(units.percent(option.wait_probability))


def _watts(option: Option, footnotes: Footnotes) -> Cell:
    if option.watts is None:
        return _unknown(option, "watts", footnotes, "The catalogue has no board power for it.")
    return Cell(f"{option.watts:,}")


def _price(option: Option, footnotes: Footnotes) -> Cell:
    unit = option.unit_price
    if option.owned == option.count:
        return Cell("there already")
    if unit is None:
        return Cell(
            "not known", note=footnotes.of("No price of it is in your list, and the catalogue has no launch price in its currency.")
        )
    if unit.per != "once":
        return Cell(f"{unit.amount * option.count:,.2f}", under=f"{unit.currency} a {unit.per}{_about(unit)}")
    some = f" for {option.count - option.owned} more" if option.owned else ""
    if unit.origin == "launch":
        return Cell(f"{option.price or 0:,.0f}", under=f"{unit.currency}{some}, launch {unit.year or ''}".rstrip())
    return Cell(f"{option.price or 0:,.0f}", under=f"{unit.currency}{some}{_about(unit)}")


def _about(unit: Price) -> str:
    """What was said of a price that somebody entered: `, used, VAT excluded, 2026-11-29`."""
    said = (
        unit.condition if unit.condition == "used" else "",
        f"VAT {unit.vat}" if unit.vat else "",
        unit.date.isoformat() if unit.date else "",
    )
    return "".join(f", {part}" for part in said if part)


def _free(option: Option, footnotes: Footnotes) -> Cell:
    if option.free_bytes is None:
        return _unknown(option, "free_bytes", footnotes, "")
    return Cell(units.gib(option.free_bytes).replace("-", "−"))


def _rate(value: float) -> str:
    return units.significant(value, 2)


def _money(value: float) -> str:
    return f"{value:,.0f}"


COLUMNS: Final = (
    Column("slots", "Slots", "Slots that fit, of those needed", _slots, "slots", "slot"),
    Column("wait", "Turns wait", "Share of turns that find no free slot", _wait, "wait", "queue-wait"),
    Column("rate", "Tokens/s each", "Tokens a second that everyone gets", _figure("user_rate", _rate, "It takes the decode speed."), "rate", "decode"),
    Column("ttft", "First token", "Time to first token that 95 % of turns keep", _figure("ttft_p95", units.seconds, ""), "ttft", "ttft"),
    Column("pause", "Pause", "Longest pause that 95 % of answers keep", _figure("pause_p95", units.gap, ""), "pause", "pause"),
    Column("watts", "Watts", "Board power together", _watts, "watts"),
    Column("price", "Price", "What is still to be bought", _price, "price"),
    Column("cost", "A month", "Electricity, or the rent", _figure("monthly_cost", _money, "It takes the board power and what a kWh costs."), "cost", usual=False),
    Column("kwh", "kWh a month", "Of the boards", _figure("monthly_kwh", _money, "It takes the board power."), usual=False),
    Column("memory", "Memory", "Of all its devices", lambda option, _: Cell(units.gib(option.memory_bytes)), usual=False),
    Column("free", "Left", "Memory left on the fullest device", _free, usual=False),
)  # fmt: skip
_BY_NAME: Final = {column.name: column for column in COLUMNS}


def columns_of(names: Sequence[str], *, tariff_known: bool) -> tuple[Column, ...]:
    """Those that were chosen, in their own order; names that are none are passed over, and without any the usual ones are taken."""
    chosen = tuple(column for column in COLUMNS if column.name in names)
    return chosen or tuple(column for column in COLUMNS if column.usual or (column.name == "cost" and tariff_known))


def verdict_word(option: Option, *, patience_seconds: float) -> str:
    if option.refusal:
        return "refused"
    slow = option.verdict != "does_not_fit" and keeps_pace(option, patience_seconds=patience_seconds) is False
    return VERDICTS[option.verdict] + (", slow" if slow else "")
