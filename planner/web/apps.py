"""The site's start: the operator's own devices join the catalogue before anything is planned."""

import sys

from django.apps import AppConfig

from planner.core.errors import InputError
from planner.web import site


class WebConfig(AppConfig):
    name = "planner.web"

    def ready(self) -> None:
        """A file that cannot be used ends the start with its sentence: a plan for a device that is silently missing helps nobody."""
        try:
            site.add_own_devices()
        except InputError as refusal:
            sys.stderr.write(f"SLOTWISE_CATALOGUE: {refusal}\n")
            raise SystemExit(2) from None
