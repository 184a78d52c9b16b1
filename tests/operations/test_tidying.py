"""What `manage.py tidy` forgets, and what it leaves."""

import time
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone

from planner.operations.models import CacheEntry, Count
from planner.operations.tidying import ATTEMPTS_STAY


def test_what_has_ended_is_forgotten_and_the_rest_stays(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    now = timezone.now()
    for name, hours in (("over", -1), ("open", 1)):
        ends = now + timedelta(hours=hours)
        Session.objects.create(session_key=name, session_data="", expire_date=ends)
        Count.objects.create(key=name, count=1, ends=int(time.time()) + hours * 3_600)
        CacheEntry.objects.create(cache_key=name, value="", expires=ends)
        tried = AccessAttempt.objects.create(username=name, failures_since_start=1)
        AccessAttempt.objects.filter(pk=tried.pk).update(attempt_time=ends - ATTEMPTS_STAY)
    call_command("tidy")
    assert "1 counts, 1 cached answers, 1 wrong log-ins" in capsys.readouterr().err
    left = [Session.objects.get().session_key, Count.objects.get().key, CacheEntry.objects.get().cache_key]
    assert [*left, AccessAttempt.objects.get().username] == ["open"] * 4


def test_who_is_locked_out_is_not_let_in_by_tidying() -> None:
    assert settings.AXES_COOLOFF_TIME < ATTEMPTS_STAY
