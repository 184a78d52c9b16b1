"""Idempotency-Key: a call that creates something may be sent again, and creates it once."""

import hashlib
import json
import re
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from planner.accounts.models import User
from planner.api.models import KeptAnswer
from planner.core.errors import InputError
from planner.operations.problems import problem

HEADER: Final = "Idempotency-Key"
LASTS: Final = timedelta(hours=24)
MAX_KEPT: Final = 500
_SWEEP_ONE_IN: Final = 50
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_HEADERS: Final = ("Location", "ETag")


def once(request: HttpRequest, user: User, prepare: Callable[[], Callable[[], HttpResponse]]) -> HttpResponse:
    """The answer of this call, or of the one before with the same key.

    `prepare` does what takes long and changes nothing; what it returns is called inside the transaction that takes the key, so of two
    that come at once one waits for the other and is told the same. 409 where the key was used for something else.
    """
    given = request.headers.get(HEADER, "")
    if not given:
        return prepare()()
    if not _KEY.fullmatch(given):
        raise InputError(f"{HEADER} takes 1 to 255 visible characters: a new UUID for each plan is good.", field=HEADER)
    key, call = _hash(given.encode()), _hash(f"{request.method} {request.path_info}\n".encode() + _same(request.body))
    if before := _kept(user, key):
        return _again(before, call)
    act = prepare()
    _sweep()
    try:
        with transaction.atomic():
            _make_room(user)
            taken = KeptAnswer.objects.create(user=user, key=key, call=call)
            response = act()
            taken.status, taken.body = response.status_code, response.content.decode()
            taken.headers = {name: response[name] for name in _HEADERS if name in response}
            taken.save()
    except IntegrityError:
        before = _kept(user, key)
        if before is None:
            raise
        return _again(before, call)
    return response


def _kept(user: User, key: str) -> KeptAnswer | None:
    return KeptAnswer.objects.filter(user=user, key=key, created_at__gt=timezone.now() - LASTS).first()


def _again(before: KeptAnswer, call: str) -> HttpResponse:
    if before.call != call:
        return problem(409, f"This {HEADER} was used for another plan already: take a new one for each.")
    headers = {**before.headers, "Idempotency-Replayed": "true"}
    return HttpResponse(before.body, status=before.status, content_type="application/json", headers=headers)


def _sweep() -> None:
    """Now and then, so that nothing stays of those who do not come again. Outside the transaction: nobody waits for it."""
    if secrets.randbelow(_SWEEP_ONE_IN) == 0:
        KeptAnswer.objects.filter(created_at__lte=timezone.now() - LASTS).delete()


def _make_room(user: User) -> None:
    """Forgets what has ended, and the oldest of very many."""
    own = KeptAnswer.objects.filter(user=user)
    own.filter(created_at__lte=timezone.now() - LASTS).delete()
    own.filter(pk__in=list(own.order_by("-created_at", "-pk").values_list("pk", flat=True)[MAX_KEPT - 1 :])).delete()


def _same(body: bytes) -> bytes:
    """The body, so that the same object in another order or spacing is the same."""
    return json.dumps(json.loads(body), sort_keys=True).encode()


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
