"""How often what could be guessed or abused may be tried: log-ins are counted by django-axes, the rest here."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest

from planner.operations.clients import client_network
from planner.operations.limits import take
from planner.operations.rates import Limit, Standing

# django-axes stops who tries one name from one place; these stop many names from one place, and one name from many.
LOG_INS: Final = Limit("log-ins", 300, 3_600)
LOG_INS_OF_ONE: Final = Limit("log-ins-of-one", 100, 3_600)
SIGN_UPS: Final = Limit("sign-ups", 30, 3_600)
RESETS: Final = Limit("password-resets", 20, 3_600)
# Each of them sends a mail to somebody: bounded by whom it is sent for, wherever it comes from.
RESETS_OF_ONE: Final = Limit("password-resets-of-one", 3, 3_600)
PROOFS_OF_ONE: Final = Limit("address-proofs-of-one", 3, 3_600)
INVITATIONS: Final = Limit("invitations", 60, 3_600)
# Whoever finds a page left open may try the password there; django-axes does not see it.
PASSWORDS_AGAIN: Final = Limit("passwords-again", 20, 3_600)


def by_network(limit: Limit, request: HttpRequest) -> Standing:
    """One more attempt from where `request` comes from."""
    return take(limit, client_network(request))


def by_name(limit: Limit, name: str) -> Standing:
    """One more attempt on `name`, which somebody typed: counted under its hash, because what was typed may be anything."""
    return take(limit, hashlib.sha256(name.encode()).hexdigest())


def by_user(limit: Limit, request: HttpRequest) -> Standing:
    """One more attempt of who is logged in."""
    return take(limit, f"user-{request.user.pk}")


def named(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """Whom a log-in is for, as django-axes counts it: one person in any spelling of the address."""
    return str((credentials or request.POST).get("username") or "").strip().lower()[:254]
