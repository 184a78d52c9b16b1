"""`manage.py check_catalogue`: what is wrong, missing or disputed in the catalogue, and where another list differs."""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from planner.core import catalog, units
from planner.core.catalog import care
from planner.core.errors import InputError
from planner.files import read_file
from planner.web.management.request_options import RequestCommand

EXAMPLE: Final = """
example:
  manage.py check_catalogue --against ../shared/data
  manage.py check_catalogue --file my-devices.toml
"""
LIST: Final = "gpus.csv"
MAX_LIST: Final = 4 * 2**20


class Command(RequestCommand):
    help = "Units, ranges, duplicates, missing sources and disputed figures of the catalogue; exits 1 where something must be mended."
    example = EXAMPLE

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--against", metavar="DIR", help=f"a folder with {LIST}: where its figures differ by more than 2 %%")
        parser.add_argument("--file", metavar="FILE", help="a file of your own devices, as SLOTWISE_CATALOGUE names one")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--errors", action="store_true", help="only what must be mended, and drift")

    def run(self, options: Mapping[str, Any]) -> None:
        if options["file"] is not None:
            catalog.set_additions(catalog.read_additions(_text(Path(options["file"]), field="file")))
        found = care.findings()
        if options["against"] is not None:
            found = (*care.drift(_text(Path(options["against"]) / LIST, field="against")), *found)
        if options["errors"]:
            found = tuple(each for each in found if each.severity in {"error", "drift"})
        if options["json"]:
            listed = [{"severity": each.severity, "entry": each.entry, "message": each.message} for each in found]
            self.stdout.write(
                json.dumps({"schema": 1, "devices": len(catalog.devices()), "models": len(catalog.models()), "findings": listed})
            )
        else:
            self.stdout.write("".join(f"{each.severity:9} {each.entry}: {each.message}\n" for each in found), ending="")
            counts = Counter(each.severity for each in found)
            said = ", ".join(f"{counts[severity]:,} {severity}" for severity in care.SEVERITIES if counts[severity]) or "nothing to say"
            self.stdout.write(
                f"{units.counted(len(catalog.devices()), 'device')}, {units.counted(len(catalog.models()), 'model')}: {said}."
            )
        if any(each.severity == "error" for each in found):
            sys.exit(1)


def _text(path: Path, *, field: str) -> str:
    try:
        return read_file(path, MAX_LIST, field=field).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not in UTF-8: save it as such.", field=field) from None
