"""`manage.py compare`: every machine that could serve these people, as a table."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from planner.core import units
from planner.core.comparing import compare
from planner.core.comparing.order import ORDERS, By, Sieve, best_of_each, ranked, read_vendors, read_verdicts, sift
from planner.core.comparing.report import comparison_csv, comparison_json, comparison_text, empty_text
from planner.core.comparing.scope import read_scope
from planner.core.comparing.table import assumptions
from planner.core.errors import InputError
from planner.core.prices import MAX_BYTES, NO_PRICES, Prices, parse_prices
from planner.core.running_cost import Tariff
from planner.files import read_file
from planner.sources import find_model
from planner.web import site
from planner.web.management.request_options import RequestCommand, given_request, given_source

EXAMPLE: Final = """
example:
  manage.py compare Qwen/Qwen3-8B --users 20 --context 8192 --max-price 2000 --have rtx-3090
  manage.py compare openai/gpt-oss-120b --users 100 --device rtx-pro-6000-blackwell,h100-sxm --count 1,2,4 --json
"""
SHOWN: Final = 25

# Option, metavar, help: what `compare` takes beside the options of a plan.
TABLE_OPTIONS: Final = (
    (
        "--prices",
        "CSV",
        "price list: device,price,currency and, as known, per, vat, date, condition, note; with ram, vcpus, bandwidth: an offer",
    ),
    ("--have", "DEVICE[xN]", "what stands there already, for example rtx-3090x2: it need not be bought"),
    ("--max-price", "AMOUNT", "at most this to buy, in the price list's currency (else US dollars at launch)"),
    ("--max-watts", "N", "at most this board power in all"),
    ("--vendor", "NAMES", "NVIDIA, AMD, Intel, Apple, CPU"),
    ("--verdict", "NAMES", "fits, tight, does_not_fit"),
    ("--min-slots", "N", "room for at least so many conversations at the full context"),
    ("--kwh-price", "AMOUNT", "price of a kWh, for the cost of a month"),
    ("--hours", "N", "hours a day in which people are there (24)"),
    ("--sort", "KEY", f"{', '.join(ORDERS)} (best)"),
    ("--top", "N", f"rows to print (the best of each machine, {SHOWN} of them)"),
)


class Command(RequestCommand):
    help = "The hardware table: every device and number of them, with each sensible engine, weight format and cache type."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)
        for option, metavar, text in TABLE_OPTIONS:
            parser.add_argument(option, metavar=metavar, help=text)
        parser.add_argument("--single-slot", action="store_true", help="only cards that cover one slot of the case")
        parser.add_argument("--all", action="store_true", help="every row, not the best of each machine")
        parser.add_argument("--csv", action="store_true", help="print every row as CSV")

    def run(self, options: Mapping[str, Any]) -> None:
        if options["gpu_memory"] is not None:
            raise InputError("The table is of catalogue devices: leave it out, or add your device to the catalogue.", field="gpu_memory")
        # Lists of devices and counts say what to compare; they are no part of the request.
        request = given_request({**options, "device": None, "count": None})
        source = given_source(request, options) or find_model(request, site.hub())
        prices, sieve, by = _prices(options["prices"]), _sieve(options), _order(options["sort"])
        scope = read_scope(
            devices=options["device"] or "",
            counts=options["count"] or "",
            have=options["have"] or "",
            offers=tuple(offer.name for offer in prices.offers),
        )
        table = compare(request, source, scope, prices=prices, tariff=_tariff(options))
        found = ranked(sift(table, sieve), by, patience_seconds=request.patience)
        assumed = assumptions(request)
        if options["json"]:
            self.stdout.write(
                json.dumps(comparison_json(found, model=source.id, currency=prices.currency, assumed=assumed), allow_nan=False)
            )
        elif options["csv"]:
            self.stdout.write(comparison_csv(found), ending="")
        elif not found:
            self.stdout.write(empty_text(table, sieve))
        else:
            best = (
                found
                if options["all"]
                else ranked(best_of_each(found, patience_seconds=request.patience), by, patience_seconds=request.patience)
            )
            top = _whole(options, "top") or (len(best) if options["all"] else SHOWN)
            self.stdout.write(comparison_text(best[:top], total=len(found), request=request, assumed=assumed))


def _prices(name: str | None) -> Prices:
    if name is None:
        return NO_PRICES
    try:
        return parse_prices(read_file(Path(name), MAX_BYTES, field="prices").decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{name} is not in UTF-8: save it as such.", field="prices") from None


def _sieve(options: Mapping[str, Any]) -> Sieve:
    return Sieve(
        max_price=_number(options, "max_price"),
        max_watts=_whole(options, "max_watts"),
        vendors=read_vendors(options["vendor"] or ""),
        verdicts=read_verdicts(options["verdict"] or ""),
        min_slots=_whole(options, "min_slots"),
        single_slot=options["single_slot"],
    )


def _tariff(options: Mapping[str, Any]) -> Tariff:
    hours = _number(options, "hours")
    if hours is not None and not 0 < hours <= 24:
        raise InputError("A day has 24 hours: give how many of them people are there.", field="hours")
    return Tariff(per_kwh=_number(options, "kwh_price"), hours_per_day=24.0 if hours is None else hours)


def _order(name: str | None) -> By:
    wanted = (name or "best").strip().lower()
    found = next((order for order in ORDERS if order == wanted), None)
    if found is None:
        raise InputError(f"“{wanted[:20]}” is nothing to sort by: give one of {', '.join(ORDERS)}.", field="sort")
    return found


def _number(options: Mapping[str, Any], name: str) -> float | None:
    if options[name] is None:
        return None
    value = units.parse_number(options[name], field=name)
    if not 0 <= value <= 1e9:
        raise InputError(f"“{options[name][:20]}” is out of range: give a number from 0 to 1,000,000,000.", field=name)
    return value


def _whole(options: Mapping[str, Any], name: str) -> int | None:
    value = _number(options, name)
    if value is not None and not value.is_integer():
        raise InputError(f"“{options[name][:20]}” is no whole number.", field=name)
    return None if value is None else int(value)
