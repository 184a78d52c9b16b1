"""One log line for each request, under an id that every other line of that request carries, and that the client gets back."""

import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from planner.operations import metrics
from planner.operations.clients import client_address

GetResponse = Callable[[HttpRequest], HttpResponse]
REQUEST_ID: Final[ContextVar[str]] = ContextVar("request_id", default="-")
# What a proxy or a client may call its request: nothing that could end a line or a header, nothing long.
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{8,64}", re.ASCII)
# Asked every few seconds by machines; a line for each would bury the others.
_QUIET: Final = frozenset({"health", "ready", "metrics"})
log = logging.getLogger("slotwise.request")


def route_of(request: HttpRequest) -> str:
    """The pattern of a request's address. The address itself may hold a secret (a shared link, a password reset) and is not logged."""
    match = request.resolver_match
    if match is not None:
        return "/" + match.route
    return "static" if request.path_info.startswith(settings.STATIC_URL) else "none"


def request_line(get_response: GetResponse) -> GetResponse:
    """Stands first: names the request, logs it when it is answered, and counts it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        began, outer = time.perf_counter(), REQUEST_ID.set(request_id)
        try:
            response = get_response(request)
            _tell(request, response, time.perf_counter() - began)
        finally:
            REQUEST_ID.reset(outer)
        response.headers["X-Request-ID"] = request_id
        return response

    return middleware


def _tell(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    route, method, status = route_of(request), request.method or "", response.status_code
    metrics.observe(method=method, route=route, status=status, seconds=seconds)
    fields: dict[str, str | int | float | None] = {
        "method": method[:16],
        "route": route,
        "status": status,
        "milliseconds": round(seconds * 1_000, 1),
        "client": client_address(request),
    }
    if status == 400:
        # Most often a name that ALLOWED_HOSTS does not have, which nothing else says.
        fields["host"] = request.META.get("HTTP_HOST", "")[:100]
    quiet = request.resolver_match is not None and request.resolver_match.url_name in _QUIET and status < 400
    log.log(logging.DEBUG if quiet else logging.INFO, "answered", extra={"fields": fields})
