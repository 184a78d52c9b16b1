"""The options about money and power that several commands take: a price list, today's machine, electricity, an API to compare with."""

from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from planner.core import catalog, units
from planner.core.economics import MONTHS, Terms
from planner.core.errors import InputError
from planner.core.prices import MAX_BYTES, NO_PRICES, Prices, parse_prices
from planner.core.running_cost import Tariff
from planner.files import read_file

Option = tuple[str, str, str]

PRICES: Final[Option] = (
    "--prices",
    "CSV",
    "price list: device,price,currency and, as known, per, vat, date, condition, note; with ram, vcpus, bandwidth: an offer",
)
HAVE: Final[Option] = ("--have", "DEVICE[xN]", "what stands there already, for example rtx-3090x2: it need not be bought")
ELECTRICITY: Final[tuple[Option, ...]] = (
    ("--kwh-price", "AMOUNT", "price of a kWh, for the cost of a month"),
    ("--hours", "N", "hours a day in which people are there (24)"),
)
OWNING: Final[tuple[Option, ...]] = (
    ("--api-input", "AMOUNT", "an API's price for a million prompt tokens, in the price list's currency"),
    ("--api-output", "AMOUNT", "and for a million answer tokens"),
    ("--months", "N", f"months over which a purchase is spread ({MONTHS})"),
    ("--idle-watts", "N", "what your meter shows for the whole machine when nobody asks; with --busy-watts"),
    ("--busy-watts", "N", "and while it answers"),
)
_MOST_MONTHS: Final = 240
_MOST_WATTS: Final = 1e6


def add_options(parser: ArgumentParser, options: Iterable[Option]) -> None:
    for option, metavar, text in options:
        parser.add_argument(option, metavar=metavar, help=text.replace("%", "%%"))


def given_prices(options: Mapping[str, Any]) -> Prices:
    """The price list of `--prices`. Raises InputError for a file that cannot be read or used."""
    name = options["prices"]
    if name is None:
        return NO_PRICES
    try:
        return parse_prices(read_file(Path(name), MAX_BYTES, field="prices").decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{name} is not in UTF-8: save it as such.", field="prices") from None


def given_have(options: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Today's machine, (slug, number) for each kind of device; empty where none is given. Raises InputError (field "have")."""
    try:
        return catalog.parse_machines(options["have"]) if options["have"] else ()
    except InputError as refusal:
        raise InputError(str(refusal), field="have") from None


def given_tariff(options: Mapping[str, Any]) -> Tariff:
    hours = given_number(options, "hours")
    if hours is not None and not 0 < hours <= 24:
        raise InputError("A day has 24 hours: give how many of them people are there.", field="hours")
    return Tariff(per_kwh=given_number(options, "kwh_price"), hours_per_day=24.0 if hours is None else hours)


def given_terms(options: Mapping[str, Any]) -> Terms:
    months = given_whole(options, "months")
    if months is not None and not 1 <= months <= _MOST_MONTHS:
        raise InputError(f"Give 1 to {_MOST_MONTHS} months.", field="months")
    idle, busy = given_number(options, "idle_watts"), given_number(options, "busy_watts")
    if (idle is None) != (busy is None):
        raise InputError("Give both: what the machine draws idle, and busy.", field="busy_watts" if busy is None else "idle_watts")
    if idle is not None and busy is not None and not idle <= busy <= _MOST_WATTS:
        raise InputError(f"A busy machine draws no less than an idle one, and at most {_MOST_WATTS:,.0f} W.", field="busy_watts")
    return Terms(
        api_input=given_number(options, "api_input"),
        api_output=given_number(options, "api_output"),
        months=MONTHS if months is None else months,
        idle_watts=idle,
        busy_watts=busy,
    )


def given_number(options: Mapping[str, Any], name: str) -> float | None:
    if options[name] is None:
        return None
    value = units.parse_number(options[name], field=name)
    if not 0 <= value <= 1e9:
        raise InputError(f"“{options[name][:20]}” is out of range: give a number from 0 to 1,000,000,000.", field=name)
    return value


def given_whole(options: Mapping[str, Any], name: str) -> int | None:
    value = given_number(options, name)
    if value is not None and not value.is_integer():
        raise InputError(f"“{options[name][:20]}” is no whole number.", field=name)
    return None if value is None else int(value)
