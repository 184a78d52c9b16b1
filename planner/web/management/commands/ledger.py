"""`manage.py ledger`: what else a machine carries beside the model, the slots it costs, and whether it survives a restart."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from planner.answer import answer
from planner.core.ledger import ledger
from planner.core.ledger.report import ledger_json, ledger_text
from planner.core.sensitivity import held
from planner.web import site
from planner.web.management.request_options import RequestCommand, given_request, given_source

EXAMPLE: Final = """
example:
  manage.py ledger Qwen/Qwen3-8B --device rtx-4090 --engine llama-server --beside bge-m3,whisper-large-v3,desktop,reranker=1.2GiB
  manage.py ledger Qwen/Qwen3-8B --device rtx-4090 --engine llama-server --beside draft=qwen3-0.6b
"""


class Command(RequestCommand):
    help = "What else the card carries (embedder, reranker, whisper, projector, draft model, desktop), the slots each costs, and the peaks of a restart."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)
        parser.add_argument(
            "--beside",
            metavar="LIST",
            default="",
            help="bge-m3, bge-reranker-v2-m3, whisper-small, whisper-medium, whisper-large-v3, desktop, mmproj, NAME=SIZE, draft=MODEL or MODEL",
        )

    def run(self, options: Mapping[str, Any]) -> None:
        made = answer(given_request(options), site.hub(), given_source(given_request(options), options), simulated=False)
        found = ledger(held(made.plan, made.source), options["beside"])
        if options["json"]:
            self.stdout.write(json.dumps({"schema": 1, "model": made.source.id, **ledger_json(found)}, allow_nan=False))
        else:
            self.stdout.write(ledger_text(found), ending="")
