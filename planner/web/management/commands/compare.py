"""`manage.py compare`: every machine that could serve these people, as a table."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from planner.core.comparing import compare
from planner.core.comparing.order import ORDERS, By, Sieve, best_of_each, ranked, read_vendors, read_verdicts, sift
from planner.core.comparing.report import comparison_csv, comparison_json, comparison_text, empty_text
from planner.core.comparing.scope import read_scope
from planner.core.comparing.table import assumptions
from planner.core.errors import InputError
from planner.sources import find_model
from planner.web import site
from planner.web.management.price_options import (
    ELECTRICITY,
    HAVE,
    PRICES,
    add_options,
    given_number,
    given_prices,
    given_tariff,
    given_whole,
)
from planner.web.management.request_options import RequestCommand, given_request, given_source

EXAMPLE: Final = """
example:
  manage.py compare Qwen/Qwen3-8B --users 20 --context 8192 --max-price 2000 --have rtx-3090
  manage.py compare openai/gpt-oss-120b --users 100 --device rtx-pro-6000-blackwell,h100-sxm --count 1,2,4 --json
"""
SHOWN: Final = 25

# Option, metavar, help: what `compare` takes beside the options of a plan.
TABLE_OPTIONS: Final = (
    PRICES,
    HAVE,
    ("--max-price", "AMOUNT", "at most this to buy, in the price list's currency (else US dollars at launch)"),
    ("--max-watts", "N", "at most this board power in all"),
    ("--vendor", "NAMES", "NVIDIA, AMD, Intel, Apple, CPU"),
    ("--verdict", "NAMES", "fits, tight, does_not_fit"),
    ("--min-slots", "N", "room for at least so many conversations at the full context"),
    *ELECTRICITY,
    ("--sort", "KEY", f"{', '.join(ORDERS)} (best)"),
    ("--top", "N", f"rows to print (the best of each machine, {SHOWN} of them)"),
)


class Command(RequestCommand):
    help = "The hardware table: every device and number of them, with each sensible engine, weight format and cache type."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)
        add_options(parser, TABLE_OPTIONS)
        parser.add_argument("--single-slot", action="store_true", help="only cards that cover one slot of the case")
        parser.add_argument("--all", action="store_true", help="every row, not the best of each machine")
        parser.add_argument("--csv", action="store_true", help="print every row as CSV")

    def run(self, options: Mapping[str, Any]) -> None:
        if options["gpu_memory"] is not None:
            raise InputError("The table is of catalogue devices: leave it out, or add your device to the catalogue.", field="gpu_memory")
        # Lists of devices and counts say what to compare; they are no part of the request.
        request = given_request({**options, "device": None, "count": None})
        source = given_source(request, options) or find_model(request, site.hub())
        prices, sieve, by = given_prices(options), _sieve(options), _order(options["sort"])
        scope = read_scope(
            devices=options["device"] or "",
            counts=options["count"] or "",
            have=options["have"] or "",
            offers=tuple(offer.name for offer in prices.offers),
        )
        table = compare(request, source, scope, prices=prices, tariff=given_tariff(options))
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
            top = given_whole(options, "top") or (len(best) if options["all"] else SHOWN)
            self.stdout.write(comparison_text(best[:top], total=len(found), request=request, assumed=assumed))


def _sieve(options: Mapping[str, Any]) -> Sieve:
    return Sieve(
        max_price=given_number(options, "max_price"),
        max_watts=given_whole(options, "max_watts"),
        vendors=read_vendors(options["vendor"] or ""),
        verdicts=read_verdicts(options["verdict"] or ""),
        min_slots=given_whole(options, "min_slots"),
        single_slot=options["single_slot"],
    )


def _order(name: str | None) -> By:
    wanted = (name or "best").strip().lower()
    found = next((order for order in ORDERS if order == wanted), None)
    if found is None:
        raise InputError(f"“{wanted[:20]}” is nothing to sort by: give one of {', '.join(ORDERS)}.", field="sort")
    return found
