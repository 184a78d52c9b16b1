"""Forgets what has ended: sessions, counts of windows that are over, wrong log-ins long ago."""

from datetime import timedelta
from importlib import import_module
from typing import Final

from axes.models import AccessAttempt
from django.conf import settings
from django.utils import timezone

from planner.operations.models import CacheEntry, Count

# Longer than any lockout, and short enough that addresses of people do not pile up.
ATTEMPTS_STAY: Final = timedelta(days=7)


def tidy() -> dict[str, int]:
    """What was forgotten, by its name; expired sessions are not counted by Django."""
    now = timezone.now()
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    gone = {
        "counts": Count.objects.filter(ends__lt=int(now.timestamp())),
        "cached answers": CacheEntry.objects.filter(expires__lt=now),
        "wrong log-ins": AccessAttempt.objects.filter(attempt_time__lt=now - ATTEMPTS_STAY),
    }
    return {name: found.delete()[0] for name, found in gone.items()}
