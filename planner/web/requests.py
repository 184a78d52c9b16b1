"""The request as our middleware leaves it."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class HtmxRequest(HttpRequest):
    """A request that has passed django_htmx's middleware."""

    htmx: HtmxDetails
