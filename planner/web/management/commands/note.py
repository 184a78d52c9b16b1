"""`manage.py note`: the purchase note for a need, to hand to whoever pays."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from planner.core.comparing.scope import read_scope
from planner.core.purchase_note import purchase_note
from planner.core.purchase_note.report import note_json, note_text
from planner.sources import find_model
from planner.web import site
from planner.web.management.price_options import (
    ELECTRICITY,
    HAVE,
    OWNING,
    PRICES,
    add_options,
    given_have,
    given_prices,
    given_tariff,
    given_terms,
)
from planner.web.management.request_options import RequestCommand, given_request, given_source

EXAMPLE: Final = """
example:
  manage.py note Qwen/Qwen3-8B --users 120 --have rtx-3090 --prices prices.csv --kwh-price 0.30 --hours 10 \\
      --prompt-tokens 1500 --output-tokens 300 --think-seconds 60 --api-input 0.2 --api-output 0.8
  Without --device and --have it takes the best machine of the hardware table; with --device it is about that one.
"""


class Command(RequestCommand):
    help = "The purchase note: need, assumptions, options, choice and why, what must be true, cost, power and circuit, and how to check it."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)
        add_options(parser, (HAVE, PRICES, *ELECTRICITY, *OWNING))
        parser.add_argument("--beside", metavar="LIST", default="", help="what else it carries, as for manage.py ledger")
        parser.add_argument("--compare", metavar="DEVICES", default="", help="only these, for example rtx-4090,l40s (the whole catalogue)")
        parser.add_argument("--no-simulation", action="store_true", help="passes and queue from closed forms, in a fraction of the time")

    def run(self, options: Mapping[str, Any]) -> None:
        request = given_request(options)
        prices, tariff, terms = given_prices(options), given_tariff(options), given_terms(options)
        source = given_source(request, options) or find_model(request, site.hub())
        note = purchase_note(
            request,
            source,
            have=given_have(options),
            prices=prices,
            tariff=tariff,
            terms=terms,
            beside=options["beside"],
            scope=read_scope(devices=options["compare"], offers=tuple(offer.name for offer in prices.offers)),
            simulated=not options["no_simulation"],
        )
        if options["json"]:
            self.stdout.write(json.dumps(note_json(note), allow_nan=False))
        else:
            self.stdout.write(note_text(note), ending="")
