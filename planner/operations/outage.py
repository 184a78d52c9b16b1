"""The answer to what went wrong on our side: our own mistake, or a server behind us that does not answer just now."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error
from redis.exceptions import RedisError


def failed(request: HttpRequest) -> HttpResponse:
    """500; 503 with Retry-After where the database or the cache server is away or too busy, so that a client may try again by itself."""
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError | RedisError):
        # Without the request: what a page says of its user would ask the database.
        return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": "5"})
    return server_error(request)
