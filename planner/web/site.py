"""What the site's pages and commands share: the Hub they ask, as the settings have it."""

from functools import cache
from pathlib import Path

from django.conf import settings

from planner.core.catalog import read_additions, set_additions
from planner.core.catalog.additions import MAX_BYTES as MAX_ADDITIONS
from planner.core.errors import InputError
from planner.files import read_file
from planner.hub import Hub
from planner.operations.hub_answers import SharedAnswers


def add_own_devices() -> None:
    """Reads the file of SLOTWISE_CATALOGUE, where one is named. Raises InputError where it cannot be used."""
    name = settings.CATALOGUE_FILE
    if not name:
        return
    content = read_file(Path(name), MAX_ADDITIONS, field="device")
    try:
        set_additions(read_additions(content.decode("utf-8")))
    except UnicodeDecodeError:
        raise InputError(f"{name} is not in UTF-8: save it as such.") from None
    except InputError as refusal:
        raise InputError(f"{name}: {refusal}") from None


@cache
def hub() -> Hub:
    return Hub(
        endpoint=settings.HUB_ENDPOINT,
        token=settings.HUB_TOKEN or None,
        timeout_seconds=settings.HUB_TIMEOUT_SECONDS,
        cache=SharedAnswers(),
    )
