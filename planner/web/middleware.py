"""Middleware of our own."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

GetResponse = Callable[[HttpRequest], HttpResponse]


def content_security_policy(get_response: GetResponse) -> GetResponse:
    """Sends SECURE_CSP, in the form Django 6 has built in, so that this goes when we move to it."""
    policy = "; ".join(f"{name} {' '.join(sources)}" for name, sources in settings.SECURE_CSP.items())

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", policy)
        return response

    return middleware


def bounded_body(get_response: GetResponse) -> GetResponse:
    """Refuses what says that it is larger than anything a page takes, before it is read. What does not say how long it is has no body."""

    def middleware(request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isascii() and length.isdigit() and int(length[:20]) <= settings.MAX_BODY_BYTES:
            return get_response(request)
        return render(request, "413.html", {"most": settings.MAX_BODY_BYTES}, status=413)

    return middleware
