"""What was compared, and the first reason against everything that was not chosen."""

from collections.abc import Callable
from typing import Final

from planner.core import units
from planner.core.comparing import Option
from planner.core.comparing.order import READING_RATE, keeps_pace
from planner.core.plan import Figure
from planner.core.purchase_note.case import Case
from planner.core.purchase_note.choosing import serves
from planner.core.purchase_note.tree import Section, Sentence, Table

_VERDICTS: Final = {"fits": "fits", "tight": "tight", "does_not_fit": "does not fit"}
_COLUMNS: Final = (
    "Machine",
    "Engine, weights, cache",
    "Slots",
    "Verdict",
    "Turns that wait",
    "Tokens/s each",
    "First token (95 %)",
    "Watts",
    "Price",
)


def options(case: Case) -> Section:
    rows = tuple(_option(option, case) for option in case.options)
    chosen = case.options.index(case.chosen) if case.chosen in case.options else None
    said = [
        Sentence(
            f"{case.compared:,} combinations of machine, engine, weight format and cache type were planned by the same rules; these are the ones that matter here."
        ),
        Sentence(
            "Speeds and first tokens are estimates unless you measured them; their middle is shown with ~ and their range behind it.",
            "estimated",
        ),
    ]
    disputed = {text: option.name.removeprefix(f"{option.count} × ") for option in case.options for text in option.disputed}
    said.extend(Sentence(f"{name}: sources differ on its {text}. The first is used.", "", "catalogue") for text, name in disputed.items())
    return Section("options", "What was compared", tuple(said), (Table("Options", _COLUMNS, rows, chosen=chosen),))


def _option(option: Option, case: Case) -> tuple[str, ...]:
    return (
        option.name,
        f"{option.engine}, {option.weights}, {option.cache_type}",
        "not known" if option.slots_needed is None else f"{option.slots_that_fit:,} of {option.slots_needed:,}",
        _VERDICTS[option.verdict] + (", slow" if keeps_pace(option, patience_seconds=case.request.patience) is False else ""),
        "" if option.wait_probability is None else units.percent(option.wait_probability),
        _about(option.user_rate, _rate),
        _about(option.ttft_p95, units.seconds),
        "not known" if option.watts is None else f"{option.watts:,}",
        price_words(option),
    )


def _rate(value: float) -> str:
    return units.significant(value, 2)


def _about(figure: Figure | None, show: Callable[[float], str]) -> str:
    if figure is None:
        return "not known"
    ends = f" ({show(figure.low)} to {show(figure.high)})" if figure.low is not None and figure.high is not None else ""
    return f"{'~' if figure.grade == 'estimated' else ''}{show(figure.value)}{ends}"


def price_words(option: Option) -> str:
    """The price as an offer, as the launch price of a year, or that none is given."""
    unit = option.unit_price
    if option.owned == option.count:
        return "there already"
    if unit is None:
        return "no price given"
    if unit.per != "once":
        return f"{unit.amount:,.2f} {unit.currency} a {unit.per}"
    if unit.origin == "launch":
        return f"no price given (at launch in {unit.year}: {option.price or 0:,.0f} {unit.currency})"
    about = f"{unit.condition}{f', VAT {unit.vat}' if unit.vat else ', VAT not said'}"
    return f"{option.price or 0:,.0f} {unit.currency} ({about})"


def rejected(case: Case) -> Section:
    rows = tuple(
        (f"{option.name} ({option.engine}, {option.weights})", against(option, case)) for option in case.options if option != case.chosen
    )
    return Section("rejected", "What was not chosen, and why", (), (Table("Not chosen", ("Machine", "Why not"), rows),))


def against(option: Option, case: Case) -> str:
    """The first reason against an option, in the order in which they count."""
    if case.chosen and (option.device, option.count) == (case.chosen.device, case.chosen.count):
        return "The same machine with other settings."
    return _short(option, case) or _dear(option, case) or _draws_more(option, case) or _last(case)


def _short(option: Option, case: Case) -> str:
    """Why it does not serve these people."""
    if option.refusal:
        return option.refusal
    if not serves(option):
        return f"Too small: {option.slots_that_fit:,} of {option.slots_needed or 0:,} slots fit."
    if keeps_pace(option, patience_seconds=case.request.patience) is not False:
        return ""
    if option.user_rate is not None and option.user_rate.value < READING_RATE:
        return f"Slow: {_about(option.user_rate, _rate)} tokens/s for everyone, and people read {READING_RATE:.1f}."
    return "Slow: the first token comes later than people are ready to wait."


def _dear(option: Option, case: Case) -> str:
    launch = option.unit_price is not None and option.unit_price.origin == "launch"
    if option.price is None:
        return "No price given."
    if case.cost.amount is not None and option.price > case.cost.amount:
        hint = " by launch prices, which are no offers" if launch else ""
        return f"Costs {option.price - case.cost.amount:,.0f} {case.prices.currency} more{hint}."
    return "Only a launch price is known." if launch and case.cost.is_offer else ""


def _draws_more(option: Option, case: Case) -> str:
    chosen = case.chosen.watts if case.chosen else None
    if option.watts is None or chosen is None or option.watts <= chosen:
        return ""
    return f"Draws {option.watts - chosen:,} W more."


def _last(case: Case) -> str:
    if case.request.device:
        return "Serves as well: you named another machine."
    return "Serves as well: another step is smaller." if case.ladder else "Comes later in the order: price, power, bits of the weights."
