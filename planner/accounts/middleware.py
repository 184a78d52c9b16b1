"""SITE_MODE=single: one person's own machine, where nobody logs in."""

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from planner.accounts.models import User

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
