"""How often somebody may ask: counted over fixed windows, shared by all web processes, told in the standard header fields."""

import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from planner.operations import metrics
from planner.operations.clients import client_network
from planner.operations.counts import add_one
from planner.operations.problems import is_call, problem
from planner.operations.rates import Limit, Standing

GetResponse = Callable[[HttpRequest], HttpResponse]


def take(limit: Limit, subject: str) -> Standing:
    """Counts one request of `subject` (an address, a user, a token) and says where it stands."""
    now = int(time.time())
    ends = now - now % limit.seconds + limit.seconds
    return Standing(limit, add_one(f"{limit.name}:{subject}:{ends}", ends=ends), ends - now)


def subject_of(request: HttpRequest) -> str:
    """Whom a request is counted for: the user who is logged in, else the client's network."""
    user = getattr(request, "user", None)
    return f"user-{user.pk}" if user is not None and user.is_authenticated else client_network(request)


def general_limit(get_response: GetResponse) -> GetResponse:
    """Holds every page and call to settings.RATE_LIMIT; what it refuses costs one count."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if settings.RATE_LIMIT is None:
            return get_response(request)
        standing = take(settings.RATE_LIMIT, subject_of(request))
        response = get_response(request) if standing.allowed else refusal(request, standing)
        for name, value in standing.headers().items():
            response.headers.setdefault(name, value)  # a stricter limit of the view's own stands
        return response

    return middleware


def refusal(request: HttpRequest, standing: Standing) -> HttpResponse:
    """429, as a page or to a program as problem+json (RFC 9457), with the fields that say when to come again."""
    metrics.LIMITED.labels(limit=standing.limit.name).inc()
    seconds = standing.reset_seconds
    if is_call(request):
        told = f"{standing.limit.requests:,} requests in {standing.limit.seconds:,} s are the most: try again in {seconds:,} s."
        return problem(429, told, headers=standing.headers())
    response = render(request, "429.html", {"standing": standing}, status=429)
    for name, value in standing.headers().items():
        response.headers[name] = value
    return response
