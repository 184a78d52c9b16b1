"""Shared links: made, opened with their password, used, and revoked."""

import hashlib
from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.hashers import check_password, make_password
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from planner.accounts.keys import hashed, new_secret
from planner.accounts.models import User
from planner.core.errors import InputError
from planner.operations.limits import take
from planner.operations.rates import Limit, Standing
from planner.plans.models import SavedPlan, ShareLink

MAX_LINKS: Final = 100
PASSWORD_TRIES: Final = Limit("shared-link-passwords", 20, 900)
_OPENED: Final = "opened-links"
# "Last use" to the minute is enough, and a page that is read a thousand times in it is written once.
_USE_COUNTS_AFTER: Final = timedelta(minutes=1)


def make_link(
    plan: SavedPlan, user: User, *, label: str = "", password: str = "", expires_at: datetime | None = None
) -> tuple[ShareLink, str]:
    """A link and its secret, which is not stored. Raises InputError where there are very many."""
    if plan.links.live().count() >= MAX_LINKS:
        raise InputError(f"{MAX_LINKS} links to this plan are live: revoke some first.", field="label")
    secret = new_secret()
    stored = make_password(password) if password else ""
    made = ShareLink.objects.create(
        plan=plan, made_by=user, label=label, password=stored, expires_at=expires_at, secret_hash=hashed(secret)
    )
    return made, secret


def revoke(plan: SavedPlan, link_id: int) -> bool:
    """The link is dead with the next request. False where there is none to revoke."""
    return bool(plan.links.filter(pk=link_id, revoked_at=None).update(revoked_at=timezone.now()))


def is_open(request: HttpRequest, link: ShareLink) -> bool:
    """Whether the link has no password, or this reader has given it."""
    return not link.password or request.session.get(_OPENED, {}).get(str(link.pk)) == _mark(link)


def try_password(request: HttpRequest, link: ShareLink, password: str) -> tuple[bool, Standing]:
    """Opens the link for this reader where the password is right. Tries are counted for the link, from wherever they come."""
    standing = take(PASSWORD_TRIES, f"link-{link.pk}")
    if not standing.allowed or not check_password(password, link.password):
        return False, standing
    request.session[_OPENED] = {**request.session.get(_OPENED, {}), str(link.pk): _mark(link)}
    return True, standing


def note_use(link: ShareLink) -> None:
    now = timezone.now()
    unused = Q(used_at=None) | Q(used_at__lt=now - _USE_COUNTS_AFTER)
    ShareLink.objects.filter(unused, pk=link.pk).update(used_at=now)


def _mark(link: ShareLink) -> str:
    """Says which password was given, without being of use to whoever reads the session."""
    return hashlib.sha256(link.password.encode()).hexdigest()
