"""Who is asking where it is not who logged in: the one person of SITE_MODE=single, and whoever's token a program shows."""

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from planner.accounts.models import Token, User
from planner.accounts.tokens import find_token
from planner.operations.problems import is_call

GetResponse = Callable[[HttpRequest], HttpResponse]
ADDRESS: Final = "you@this.machine"


def single_person(get_response: GetResponse) -> GetResponse:
    """Every request is the one person's, who is made at the first that needs to know."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if settings.SITE_MODE == "single":
            person: Any = SimpleLazyObject(the_person)
            request.user = person
        return get_response(request)

    return middleware


def the_person() -> User:
    """The one account there is, so that plans stay where a site was open before; one of its own where there are none or several."""
    people = list(User.objects.order_by("pk")[:2])
    if len(people) == 1:
        return people[0]
    return User.objects.get_or_create(email=ADDRESS, defaults={"username": "you", "password": "!"})[0]


def token_user(get_response: GetResponse) -> GetResponse:
    """A call of the API is its token's user's, without a token nobody's. A session counts for nothing there, so no other site can use it.

    `request.token` is None where there is none; `request.wrong_token` says that one was shown which is none of ours. Nobody is
    refused here: whoever guesses is counted first.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if is_call(request):
            given = request.headers.get("Authorization", "")
            token = _token(given)
            request.user = token.user if token else AnonymousUser()
            request.token, request.wrong_token = token, bool(given and token is None)  # type: ignore[attr-defined]
        return get_response(request)

    return middleware


def _token(given: str) -> Token | None:
    scheme, _, text = given.partition(" ")
    return find_token(text.strip()) if scheme.lower() == "bearer" else None
