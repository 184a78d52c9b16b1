"""`manage.py review`: a pasted unit, drop-in, Compose file or command line beside the plan for the same machine."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from planner.answer import answer
from planner.core.errors import InputError
from planner.core.review import Review, engine_in, review
from planner.files import read_file
from planner.web import site
from planner.web.management.request_options import RequestCommand, given_request, given_source

# One byte more than the reader takes: it says so itself.
LARGEST: Final = 65_536
_TITLES: Final = {"wrong": "Wrong", "changed": "Changes", "added": "Added by the plan", "kept": "Kept"}

EXAMPLE: Final = """
example:
  systemctl cat ollama | manage.py review - --model Qwen/Qwen3-8B --device rtx-4090 --context 8192 --users 20
"""


class Command(RequestCommand):
    help = "What a plan would change in a configuration you have, what it keeps, and what was wrong in it."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the unit, drop-in, Compose file, exports or command line; - for standard input")
        parser.add_argument("--model", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)

    def run(self, options: Mapping[str, Any]) -> None:
        text = _text(options["file"])
        engine, request = engine_in(text), given_request(options)
        if request.engine not in {"auto", engine}:
            raise InputError(f"The text is for {engine}, and --engine says {request.engine}.", field="engine")
        request = request.model_copy(update={"engine": engine})
        made = answer(request, site.hub(), given_source(request, options))
        done = review(text, made.plan, made.hand_over)
        if options["json"]:
            self.stdout.write(json.dumps(review_json(done), allow_nan=False))
        else:
            self.stdout.write("\n".join(_lines(done)))


def _text(name: str) -> str:
    """The file's text. A byte that is no UTF-8 becomes a replacement character: the rest can still be reviewed."""
    raw = sys.stdin.buffer.read(LARGEST + 1) if name == "-" else read_file(Path(name), LARGEST, field="file")
    text = raw.decode("utf-8", "replace")
    if len(raw) > LARGEST:
        raise InputError(f"The text is longer than {LARGEST // 1024} KiB: give the unit, the drop-in or the command only.", field="file")
    return text


def review_json(done: Review) -> dict[str, Any]:
    """The review as one object (schema 1): `items` in the order wrong, changed, added, kept."""
    counts = {kind: len(done.of(kind)) for kind in _TITLES}  # type: ignore[arg-type]
    return {
        "schema": 1,
        "engine": done.engine,
        "version": done.version,
        "form": done.form,
        "counts": counts,
        "items": [asdict(item) for item in done.items],
        "replacement": done.replacement,
    }


def _lines(done: Review) -> Iterator[str]:
    wrong = len(done.of("wrong"))
    yield f"Read as {done.form.replace('_', '-')} for {done.engine} {done.version}: " + (
        f"{wrong} mistake{'s' if wrong != 1 else ''}." if wrong else "nothing wrong."
    )
    for kind, title in _TITLES.items():
        items = done.of(kind)  # type: ignore[arg-type]
        if items:
            yield ""
            yield title
        for item in items:
            change = f"{item.theirs} → {item.ours}" if kind == "changed" else item.theirs or item.ours
            yield f"  {change}"
            yield f"      {item.reason}"
            if item.replacement:
                yield from (f"      instead: {line}" for line in item.replacement.split("\n"))
    yield ""
    yield "As a whole"
    yield from (f"  {line}" for line in done.replacement.rstrip("\n").split("\n"))
