"""`manage.py restore FILE`: a back-up in the place of what the database holds."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from planner.operations.backup import BackupError, is_empty, restore_backup


class Command(BaseCommand):
    help = (
        "Reads a file of manage.py backup into this database, whichever the back-up came from: all of it, or nothing.\n"
        "\nExample: manage.py migrate && manage.py restore /var/backups/slotwise-2026-11-29.jsonl.gz\n"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("file", metavar="FILE", help="what manage.py backup wrote; - for standard input")
        parser.add_argument("--replace", action="store_true", help="go on where the database holds something, and lose it")

    def handle(self, *_: Any, **options: Any) -> None:
        if not options["replace"] and not is_empty():
            raise CommandError("The database is not empty, and all that it holds would be lost: say --replace.", returncode=2)
        try:
            if options["file"] == "-":
                rows = restore_backup(sys.stdin.buffer)
            else:
                with Path(options["file"]).open("rb") as file:
                    rows = restore_backup(file)
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.", returncode=2) from error
        except BackupError as error:
            raise CommandError(str(error), returncode=2) from error
        self.stderr.write(f"{rows:,} rows")
