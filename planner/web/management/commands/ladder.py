"""`manage.py ladder`: from the machine that stands there, the smallest changes that serve more people, in order of cost."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from planner.core.ladder import ladder
from planner.core.ladder.report import ladder_json, ladder_text
from planner.sources import find_model
from planner.web import site
from planner.web.management.price_options import HAVE, PRICES, add_options, given_have, given_prices
from planner.web.management.request_options import RequestCommand, given_request, given_source

EXAMPLE: Final = """
example:
  manage.py ladder Qwen/Qwen3-8B --have rtx-3090 --users 120 --context 8192 --prices prices.csv
  where prices.csv may have: device,price,currency,condition
                             rtx-3090,750,EUR,used
                             rtx-5090,2400,EUR,new
"""


class Command(RequestCommand):
    help = "From today's machine to the users wanted: the smallest changes in order of cost, with users gained, watts, quality and the next limit."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)
        add_options(parser, (HAVE, PRICES))

    def run(self, options: Mapping[str, Any]) -> None:
        request = given_request(options)
        source = given_source(request, options) or find_model(request, site.hub())
        have = given_have(options)
        found = ladder(request, source, have=have, prices=given_prices(options))
        if options["json"]:
            self.stdout.write(json.dumps({"schema": 1, "model": source.id, **ladder_json(found)}, allow_nan=False))
        else:
            self.stdout.write(ladder_text(found), ending="")
