"""What the site's pages and commands share: the Hub they ask, as the settings have it."""

from functools import cache

from django.conf import settings

from planner.hub import Hub
from planner.operations.hub_answers import SharedAnswers


@cache
def hub() -> Hub:
    return Hub(
        endpoint=settings.HUB_ENDPOINT,
        token=settings.HUB_TOKEN or None,
        timeout_seconds=settings.HUB_TIMEOUT_SECONDS,
        cache=SharedAnswers(),
    )
