"""`manage.py backup FILE`: everything that people saved, in one file that any database of ours can take back."""

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from planner.operations.backup import write_backup


class Command(BaseCommand):
    help = (
        "Writes every account, plan and version as of this moment into one file, while the site goes on.\n"
        "\nExample: manage.py backup /var/backups/slotwise-$(date +%F).jsonl.gz\n"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("file", metavar="FILE", help="where to write; - for standard output")

    def handle(self, *_: Any, **options: Any) -> None:
        rows = write_backup(sys.stdout.buffer) if options["file"] == "-" else _into(Path(options["file"]))
        self.stderr.write(f"{rows:,} rows")


def _into(path: Path) -> int:
    """Writes beside the file and puts it in place when it is whole. Readable by its owner alone: it holds password hashes."""
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            rows = write_backup(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.", returncode=2) from error
    return rows
