"""`manage.py sensitivity`: which input moves the verdict of a plan, and the exact values at which it does."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from planner.answer import answer
from planner.core.sensitivity import sensitivity
from planner.core.sensitivity.report import sensitivity_json, sensitivity_text
from planner.web import site
from planner.web.management.request_options import RequestCommand, given_request, given_source

EXAMPLE: Final = """
example:
  manage.py sensitivity Qwen/Qwen3-8B --device rtx-4090 --users 20 --context 8192
  prints, among others: People: 20 users. Holds from 8 users to 39 users. At 40 users it does not fit: …
"""


class Command(RequestCommand):
    help = "Which input moves the verdict of a plan, the exact break points, and the range in which the verdict holds."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)

    def run(self, options: Mapping[str, Any]) -> None:
        request = given_request(options)
        made = answer(request, site.hub(), given_source(request, options), simulated=False)
        found = sensitivity(made.plan, made.source)
        if options["json"]:
            self.stdout.write(json.dumps({"schema": 1, "model": made.source.id, **sensitivity_json(found)}, allow_nan=False))
        else:
            self.stdout.write(sensitivity_text(found), ending="")
