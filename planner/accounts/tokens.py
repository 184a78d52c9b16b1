"""Tokens: what a program shows instead of a password. Made, recognised, used and revoked."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q
from django.utils import timezone

from planner.accounts.keys import SECRET_LENGTH, hashed, new_secret
from planner.accounts.models import Token, User
from planner.accounts.scopes import Scope
from planner.core.errors import InputError

MAX_TOKENS: Final = 50
# Says what it is wherever it turns up, so that a scan for lost secrets finds it.
MARK: Final = "slotwise_"
_SHOWN: Final = 4
# "Last use" to the minute is enough, and a program that calls a thousand times in it is noted once.
_USE_COUNTS_AFTER: Final = timedelta(minutes=1)


def make_token(user: User, *, name: str, scopes: Iterable[Scope], expires_at: datetime | None = None) -> tuple[Token, str]:
    """A token and its text, which is not stored. Raises InputError without a scope, and where very many are live."""
    chosen = [scope.value for scope in Scope if scope in set(scopes)]
    if not chosen:
        raise InputError("Choose at least one thing that the token may do.", field="scopes")
    if user.tokens.live().count() >= MAX_TOKENS:
        raise InputError(f"{MAX_TOKENS} of your tokens are live: revoke some first.", field="name")
    secret = new_secret()
    text = MARK + secret
    made = Token.objects.create(
        user=user, name=name, scopes=chosen, prefix=text[: len(MARK) + _SHOWN], secret_hash=hashed(text), expires_at=expires_at
    )
    return made, text


def find_token(text: str) -> Token | None:
    """The live token of somebody who may log in, None for anything else. Notes that it was used."""
    if len(text) != len(MARK) + SECRET_LENGTH or not text.startswith(MARK):
        return None
    found = Token.objects.live().filter(secret_hash=hashed(text), user__is_active=True).select_related("user").first()
    if found:
        _note_use(found)
    return found


def revoke_token(user: User, token_id: int) -> bool:
    """The token is dead with the next call. False where there is none to revoke."""
    return bool(user.tokens.filter(pk=token_id, revoked_at=None).update(revoked_at=timezone.now()))


def _note_use(token: Token) -> None:
    now = timezone.now()
    if token.used_at is None or token.used_at < now - _USE_COUNTS_AFTER:
        unused = Q(used_at=None) | Q(used_at__lt=now - _USE_COUNTS_AFTER)
        Token.objects.filter(unused, pk=token.pk).update(used_at=now)
