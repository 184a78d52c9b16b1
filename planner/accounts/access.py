"""What a request was let in with: the object that its address names, and the reader's role on it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from planner.accounts.models import User
from planner.accounts.roles import Role

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Access(Generic[S]):
    """Set by `planner.permissions`. Views take the object from here and look none up by themselves."""

    subject: S
    role: Role | None = None

    @property
    def edits(self) -> bool:
        return self.role is not None and self.role >= Role.EDITOR

    @property
    def owns(self) -> bool:
        return self.role == Role.OWNER


class Reached(HttpRequest, Generic[S]):
    """A request that was let through to an object."""

    access: Access[S]
    htmx: HtmxDetails


class Personal(HttpRequest):
    """A request by somebody who is logged in."""

    user: User
    htmx: HtmxDetails


class PersonalReached(Reached[S]):
    """Both."""

    user: User
