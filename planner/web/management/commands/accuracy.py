"""`manage.py accuracy`: our answers held against what engines printed, and the file that the page shows."""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from planner.core.errors import InputError
from planner.records import measure, read_records
from planner.web.accuracy import FILE, Table, tables

EXAMPLE: Final = """
example:
  manage.py accuracy
  manage.py accuracy --truth ../collection --write
"""


class Command(BaseCommand):
    help = "How right the answers are: every record of what an engine printed, beside ours."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog, parser.formatter_class = EXAMPLE, RawDescriptionHelpFormatter
        parser.add_argument("--truth", metavar="DIR", help="a folder with vllm.jsonl, llama_cpp.jsonl and cases.jsonl, to compare as well")
        parser.add_argument("--write", action="store_true", help="write the figures into the file that the page shows")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        try:
            found = measure(read_records(), Path(options["truth"]) if options["truth"] else None)
        except InputError as refusal:
            raise CommandError(f"--truth: {refusal}", returncode=2) from None
        if options["write"]:
            # What was not measured this time stays as it was.
            found = json.loads(FILE.read_text(encoding="utf-8")) | found if FILE.exists() else found
            FILE.write_text(text_of(found), encoding="utf-8")
        if options["json"]:
            self.stdout.write(json.dumps(found, allow_nan=False))
        else:
            self.stdout.writelines(f"{_line(table)}\n" for table in tables(found))


def text_of(found: dict[str, list[dict[str, object]]]) -> str:
    """The file's text: equal figures give equal bytes."""
    return json.dumps(found, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def _line(table: Table) -> str:
    ranged = "" if table.in_range is None else f", {table.in_range} within its range"
    return f"{table.engine}: {table.kind}: {table.cases} cases, {table.exact} equal, {table.near} within 0.5 %{ranged}"
