"""`manage.py plan`: how many people a machine can serve, and the files to install."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from planner.answer import Answer, answer, held_against
from planner.core.engines.start_up_text import MAX_TEXT
from planner.core.errors import InputError
from planner.core.readers.json_text import MAX_BYTES, parse_object
from planner.core.report import plan_json, reconciliation_json
from planner.core.report_text import files_text, plan_text, reconciliation_text
from planner.core.request import FIELDS, read_request
from planner.files import open_file, read_file
from planner.sources import given_name, source_from_config, source_from_gguf
from planner.web import site
from planner.web.management.request_options import RequestCommand, given_request, given_source

EXAMPLE: Final = """
example:
  manage.py plan Qwen/Qwen3-8B --device rtx-4090 --context 8192 --users 20 \\
      --generate-seconds 12 --turn-seconds 90 --engine vllm --out ./files
"""

WANTED: Final = 'one JSON object a line, such as {"model": "Qwen/Qwen3-8B", "device": "rtx-4090"}'
# No request is cut off in the middle by this: what is passed over is already too long to be one.
ENDLESS: Final = 64 * MAX_BYTES


class Command(RequestCommand):
    help = "How many people this machine can serve with this model, why, and the configuration to install."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", metavar="MODEL", help="catalogue name, Hub id or model page address")
        self.add_request_options(parser)
        parser.add_argument("--out", metavar="DIR", help="write the files there, below their path on the target machine")
        parser.add_argument(
            "--startup", metavar="FILE", help="start-up lines of the engine (- for standard input), to hold against the plan"
        )
        parser.add_argument("--batch", metavar="FILE", help="one JSON object a line (- for standard input), one result a line")
        parser.add_argument(
            "--no-simulation",
            action="store_true",
            help="passes and queue from closed forms instead of a simulation of the load: a fraction of the time, for long batches",
        )

    def run(self, options: Mapping[str, Any]) -> None:
        if options["batch"] is None:
            self._one(options)
            return
        beside = [name for name in (*FIELDS, "gguf", "out", "startup") if options.get(name) is not None]
        if beside:
            raise InputError(f"--batch takes every input from its lines: write {beside[0]} into them.", field=beside[0])
        self._batch(options["batch"], simulated=not options["no_simulation"])

    def _one(self, options: Mapping[str, Any]) -> None:
        request = given_request(options)
        made = answer(request, site.hub(), given_source(request, options), simulated=not options["no_simulation"])
        if options["out"] is not None:
            _write_files(made, options["out"])
        found = held_against(made, _startup(options["startup"])) if options["startup"] is not None else None
        if options["json"]:
            compared = {"reconcile": reconciliation_json(found)} if found else {}
            self.stdout.write(json.dumps(plan_json(made.plan, made.hand_over) | compared, allow_nan=False))
        elif found:
            self.stdout.write(reconciliation_text(found))
        else:
            self.stdout.write(plan_text(made.plan, made.hand_over))
            if options["out"] is not None:
                self.stdout.write(files_text(made.hand_over, options["out"]))

    def _batch(self, name: str, *, simulated: bool) -> None:
        if name == "-":
            self._answer_lines(sys.stdin.buffer, simulated=simulated)
            return
        with open_file(Path(name), field="batch") as lines:
            self._answer_lines(lines, simulated=simulated)

    def _answer_lines(self, lines: BinaryIO, *, simulated: bool) -> None:
        for line in _bounded_lines(lines):
            try:
                result = _answer_line(line, simulated=simulated)
            except InputError as refusal:
                result = {"error": str(refusal), "field": refusal.field}
            self.stdout.write(json.dumps(result, allow_nan=False))


def _bounded_lines(lines: BinaryIO) -> Iterator[bytes]:
    """Lines with anything in them; one longer than the bound comes cut, which its reader refuses.

    Raises InputError for a line that does not end.
    """
    while line := lines.readline(MAX_BYTES + 2):
        rest, skipped = line, 0
        while len(line) > MAX_BYTES and rest and not rest.endswith(b"\n"):
            rest = lines.readline(MAX_BYTES)
            skipped += len(rest)
            if skipped > ENDLESS:
                raise InputError(f"A line goes on for more than {ENDLESS // 2**20} MiB: give {WANTED}.", field="batch")
        if line.strip():
            yield line


def _answer_line(line: bytes, *, simulated: bool) -> dict[str, Any]:
    """One request of a batch. `config` and `gguf` may be the objects themselves."""
    values = parse_object(line, wanted=WANTED)
    config, gguf = values.pop("config", ...), values.pop("gguf", ...)
    values.pop("json", None)
    request = read_request(values)
    source = None
    if config is not ...:
        if not isinstance(config, Mapping):
            raise InputError("config must be a JSON object: the contents of a config.json.", field="config")
        source = source_from_config(request, config, name=given_name(request), where="the config of this line")
    elif gguf is not ...:
        if not isinstance(gguf, Mapping):
            raise InputError("gguf must be a JSON object: the metadata of a GGUF file.", field="gguf")
        source = source_from_gguf(gguf, name=given_name(request), where="the GGUF metadata of this line")
    made = answer(request, site.hub(), source, simulated=simulated)
    return plan_json(made.plan, made.hand_over)


def _startup(name: str) -> str:
    """The pasted lines: one character more than may be used, so that their reader can refuse them."""
    if name == "-":
        return sys.stdin.read(MAX_TEXT + 1)
    return read_file(Path(name), MAX_TEXT, field="startup").decode("utf-8", "replace")


def _write_files(made: Answer, directory: str) -> None:
    """Each file below its path on the target machine, with its own permission bits."""
    if not directory.strip():
        raise InputError("Name the directory to write the files to.", field="out")
    for file in made.hand_over.files:
        target = Path(directory) / file.path.lstrip("/")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.content, encoding="utf-8")
            target.chmod(file.mode)
        except OSError as problem:
            raise InputError(f"{target} cannot be written: {problem.strerror}.", field="out") from None
