"""Proof that somebody reads an address: a signed link that is mailed there and says what it is for."""

from typing import Final

from django.conf import settings
from django.core import signing

from planner.accounts.models import User

LASTS_SECONDS: Final = 86_400
_NEW_ACCOUNT: Final = "planner.accounts.new-account"
_NEW_ADDRESS: Final = "planner.accounts.new-address"


def is_asked_for() -> bool:
    """Whether new accounts prove their address. Only a mail can tell its owner, and nobody else, that there is an account already."""
    return bool(settings.EMAIL_HOST)


def for_account(email: str, *, invitation: str) -> str:
    return signing.dumps([email, invitation], salt=_NEW_ACCOUNT)


def account_of(proof: str) -> tuple[str, str] | None:
    """The address and the invitation's secret of a new account; None where the link is not ours or too old, or the account is there."""
    try:
        email, invitation = signing.loads(proof, salt=_NEW_ACCOUNT, max_age=LASTS_SECONDS)
    except signing.BadSignature:
        return None
    return None if User.objects.filter(email=email).exists() else (email, invitation)


def for_address(user: User, email: str) -> str:
    return signing.dumps([user.pk, user.email, email], salt=_of_one(user))


def address_of(user: User, proof: str) -> str | None:
    """The new address of `user`; None where the link is another's, too old, used, or from before a change of the password."""
    try:
        person, was, email = signing.loads(proof, salt=_of_one(user), max_age=LASTS_SECONDS)
    except signing.BadSignature:
        return None
    return str(email) if (person, was) == (user.pk, user.email) else None


def _of_one(user: User) -> str:
    return f"{_NEW_ADDRESS}.{user.get_session_auth_hash()}"
