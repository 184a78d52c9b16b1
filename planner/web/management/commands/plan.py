"""`manage.py plan`: how many people a machine can serve, and the files to install."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from planner.answer import Answer, answer
from planner.core.errors import InputError
from planner.core.readers.hf_config import parse_config
from planner.core.report import plan_json, plan_text
from planner.core.request import read_request
from planner.sources import source_from_config, source_from_gguf
from planner.web import site
from planner.web.management.request_options import LARGEST_LINE, RequestCommand, given_request, given_source

EXAMPLE: Final = """
example:
  manage.py plan Qwen/Qwen3-8B --device rtx-4090 --context 8192 --users 20 \\
      --generate-seconds 12 --turn-seconds 90 --engine vllm --out ./files
"""


class Command(RequestCommand):
    help = "How many people this machine can serve with this model, why, and the configuration to install."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)
        parser.add_argument("--out", metavar="DIR", help="write the files there, below their path on the target machine")
        parser.add_argument("--batch", metavar="FILE", help="one JSON object a line (- for standard input), one result a line")

    def run(self, options: Mapping[str, Any]) -> None:
        if options["batch"]:
            self._batch(options["batch"])
        else:
            self._one(options)

    def _one(self, options: Mapping[str, Any]) -> None:
        request = given_request(options)
        made = answer(request, site.hub(), given_source(request, options))
        if options["out"]:
            _write_files(made, Path(options["out"]))
        if options["json"]:
            self.stdout.write(json.dumps(plan_json(made.plan, made.hand_over), allow_nan=False))
        else:
            self.stdout.write(plan_text(made.plan, made.hand_over))

    def _batch(self, name: str) -> None:
        if name == "-":
            self._answer_lines(sys.stdin)
            return
        try:
            with Path(name).open(encoding="utf-8") as lines:
                self._answer_lines(lines)
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(f"{name} cannot be read: {problem}.", field="batch") from None

    def _answer_lines(self, lines: TextIO) -> None:
        for line in _bounded_lines(lines):
            try:
                result = _answer_line(line)
            except InputError as refusal:
                result = {"error": str(refusal), "field": refusal.field}
            self.stdout.write(json.dumps(result, allow_nan=False))


def _bounded_lines(lines: TextIO) -> Iterator[str]:
    """Lines with anything in them; one longer than the bound comes cut, which its reader refuses."""
    while line := lines.readline(LARGEST_LINE + 2):
        rest = line
        while len(line) > LARGEST_LINE and rest and not rest.endswith("\n"):
            rest = lines.readline(LARGEST_LINE)
        if line.strip():
            yield line


def _answer_line(line: str) -> dict[str, Any]:
    """One request of a batch. `config` and `gguf` may be the objects themselves."""
    values = dict(parse_config(line))
    config, gguf = values.pop("config", ...), values.pop("gguf", ...)
    values.pop("json", None)
    request = read_request(values)
    source = None
    if config is not ...:
        if not isinstance(config, Mapping):
            raise InputError("config must be a JSON object: the contents of a config.json.", field="config")
        source = source_from_config(request, config, name=request.model, where="the config of this line")
    elif gguf is not ...:
        if not isinstance(gguf, Mapping):
            raise InputError("gguf must be a JSON object: the metadata of a GGUF file.", field="gguf")
        source = source_from_gguf(gguf, name=request.model, where="the GGUF metadata of this line")
    made = answer(request, site.hub(), source)
    return plan_json(made.plan, made.hand_over)


def _write_files(made: Answer, directory: Path) -> None:
    """Each file below its path on the target machine, with its own permission bits."""
    for file in made.hand_over.files:
        target = directory / file.path.lstrip("/")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.content, encoding="utf-8")
            target.chmod(file.mode)
        except OSError as problem:
            raise InputError(f"{target} cannot be written: {problem.strerror}.", field="out") from None
