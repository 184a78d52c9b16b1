"""`manage.py diagnose`: why a server was slow, from its own log."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from planner.core.diagnosing.report import diagnosis_json
from planner.core.diagnosing.report_text import diagnosis_text
from planner.core.errors import InputError
from planner.core.simulation.loop import LONG_PREFILL
from planner.diagnoses import Material, diagnosis_of
from planner.files import open_file
from planner.log_files import Part
from planner.web.diagnosing.report import report_page
from planner.web.management.request_options import RequestCommand

EXAMPLE: Final = """
example:
  journalctl -u llama-server -o cat | manage.py diagnose -
  manage.py diagnose llama-server.log.2.gz llama-server.log.1 llama-server.log --calls calls.csv
  manage.py diagnose after.log --before before.log --html report.html
"""


class Command(RequestCommand):
    help = "Find out from a llama-server, vLLM or Ollama log why it was slow; nothing of the log is kept."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "logs",
            nargs="+",
            metavar="LOG",
            help="the server's log, plain or .gz; several are its rotated parts, read in the order of their times; - for standard input",
        )
        parser.add_argument("--prefill-rate", metavar="TOK_S", help="measured prefill speed of a single stream (fitted from the log)")
        parser.add_argument("--decode-rate", metavar="TOK_S", help="measured decode speed of a single stream (fitted from the log)")
        parser.add_argument(
            "--calls",
            metavar="FILE",
            help="the application's own calls, CSV or JSON lines: time, purpose, prompt_tokens; end and gate_wait where known",
        )
        parser.add_argument("--metrics", metavar="FILE", help="what the server answered at /metrics")
        parser.add_argument("--vmstat", metavar="FILE", help="what `vmstat 1` printed meanwhile")
        parser.add_argument("--before", metavar="LOG", help="an older log to compare with, group by group")
        parser.add_argument(
            "--long-prefill", metavar="N", help=f"from how many tokens on a prompt counts as long in the tables ({LONG_PREFILL})"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--html",
            metavar="FILE",
            help="write one HTML file with tables and pictures, to pass on: no prompts, paths, addresses or keys in it",
        )

    def run(self, options: Mapping[str, Any]) -> None:
        with ExitStack() as files:
            answer = diagnosis_of(_material(options, files))
        if options["html"]:
            _write(Path(options["html"]), report_page(answer))
        if options["json"]:
            self.stdout.write(json.dumps(diagnosis_json(answer), allow_nan=False))
        else:
            self.stdout.write(diagnosis_text(answer))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}.", field="html") from None


def _material(options: Mapping[str, Any], files: ExitStack) -> Material:
    def opened(name: str, field: str) -> Part:
        return name, sys.stdin.buffer if name == "-" else files.enter_context(open_file(Path(name), field=field))

    def beside(field: str) -> Part | None:
        return None if options[field] is None else opened(options[field], field)

    return Material(
        logs=[opened(name, "logs") for name in options["logs"]],
        before=[opened(options["before"], "before")] if options["before"] else (),
        calls=beside("calls"),
        metrics=beside("metrics"),
        vmstat=beside("vmstat"),
        long_prefill=options["long_prefill"],
        prefill_rate=options["prefill_rate"],
        decode_rate=options["decode_rate"],
    )
