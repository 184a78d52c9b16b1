"""`manage.py diagnose`: why a server was slow, from its own log."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from planner.core import units
from planner.core.diagnosing import Given, Options, diagnose
from planner.core.diagnosing.calls import read_calls
from planner.core.diagnosing.comparing import compare
from planner.core.diagnosing.report import diagnosis_json
from planner.core.diagnosing.report_text import diagnosis_text
from planner.core.errors import InputError
from planner.core.logs.metrics import read_metrics
from planner.core.logs.reading import read
from planner.core.logs.vmstat import read_vmstat
from planner.core.simulation.loop import LONG_PREFILL
from planner.files import open_file
from planner.log_files import log_chunks
from planner.web.management.request_options import RequestCommand

# What a text beside the log may hold at most.
MAX_BESIDE: Final = 256 * units.MIB
MAX_LINE: Final = 65_536

EXAMPLE: Final = """
example:
  journalctl -u llama-server -o cat | manage.py diagnose -
  manage.py diagnose llama-server.log.2.gz llama-server.log.1 llama-server.log --calls calls.csv
  manage.py diagnose after.log --before before.log --json
"""

T = TypeVar("T")


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

    def run(self, options: Mapping[str, Any]) -> None:
        asked = _options(options)
        with ExitStack() as files:
            answer = diagnose(read(_chunks(options["logs"], files, field="logs")), asked)
        if options["before"]:
            with ExitStack() as files:
                alone = replace(asked, calls=None, metrics=None, vmstat=None, tries=False)
                older = diagnose(read(_chunks([options["before"]], files, field="before")), alone)
            answer = replace(answer, comparison=compare(older, answer))
        if options["json"]:
            self.stdout.write(json.dumps(diagnosis_json(answer), allow_nan=False))
        else:
            self.stdout.write(diagnosis_text(answer))


def _options(options: Mapping[str, Any]) -> Options:
    return Options(
        long_prefill=_long(options["long_prefill"]),
        given=Given(prefill=_rate(options, "prefill_rate"), decode=_rate(options, "decode_rate")),
        calls=_beside(options["calls"], read_calls, field="calls"),
        metrics=_beside(options["metrics"], read_metrics, field="metrics"),
        vmstat=_beside(options["vmstat"], read_vmstat, field="vmstat"),
    )


def _long(text: str | None) -> int:
    return LONG_PREFILL if text is None else units.parse_tokens(text, field="long_prefill")


def _rate(options: Mapping[str, Any], name: str) -> float | None:
    if options[name] is None:
        return None
    value = units.parse_number(options[name], field=name)
    if not 0.001 <= value <= 1e9:
        raise InputError("A rate is a number of tokens per second above 0.", field=name)
    return value


def _beside(name: str | None, reader: Callable[[Iterable[str]], T], *, field: str) -> T | None:
    """A text beside the log, read by its reader."""
    if name is None:
        return None
    with ExitStack() as files:
        chunks = _chunks([name], files, field=field)
        return reader(_lines(chunks, field))


def _lines(chunks: Iterable[bytes], field: str) -> Iterator[str]:
    """Lines of a bounded text; what is too long for one is cut."""
    rest, left = b"", MAX_BESIDE
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise InputError(f"More than {units.size(MAX_BESIDE)}: give a part of it.", field=field)
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line[:MAX_LINE].decode("utf-8", "replace") for line in whole)
        rest = rest[:MAX_LINE]
    if rest:
        yield rest.decode("utf-8", "replace")


def _chunks(names: Sequence[str], files: ExitStack, *, field: str) -> Iterator[bytes]:
    """The bytes of all files, rotated parts in the order of their times."""
    opened = [(name, sys.stdin.buffer if name == "-" else files.enter_context(open_file(Path(name), field=field))) for name in names]
    return log_chunks(opened, field=field)
