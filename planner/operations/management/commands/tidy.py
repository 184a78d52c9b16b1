"""`manage.py tidy`: forgets what has ended, so that the database does not grow with it."""

from typing import Any

from django.core.management.base import BaseCommand

from planner.operations.tidying import tidy


class Command(BaseCommand):
    help = "Deletes expired sessions, old counts and wrong log-ins of more than a week ago. Run it once a day. Example: manage.py tidy"

    def handle(self, *_: Any, **__: Any) -> None:
        self.stderr.write(", ".join(f"{count:,} {name}" for name, count in tidy().items()))
