"""Into an account and out of it: log-in and log-out."""

from typing import Any

from django.conf import settings
from django.contrib import auth, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from planner.accounts import limits
from planner.accounts.forms import LogInForm
from planner.accounts.onward import go_on, wanted_next, with_next
from planner.operations.limits import refusal


@sensitive_post_parameters()
def login(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return go_on(request)
    form = LogInForm(request, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        name = limits.named(request, None)
        for standing in (limits.by_network(limits.LOG_INS, request), limits.by_name(limits.LOG_INS_OF_ONE, name)):
            if not standing.allowed:
                return refusal(request, standing)
        if form.is_valid():
            auth.login(request, form.get_user())
            return go_on(request)
    wanted = wanted_next(request) or _came_from(request)
    context: dict[str, Any] = {"nav": "account", "form": form, "next": wanted}
    context["signup"] = with_next(request, reverse("signup"), wanted) if settings.SITE_MODE == "open" else ""
    return render(request, "accounts/login.html", context, status=400 if form.errors else 200)


def logout(request: HttpRequest) -> HttpResponse:
    auth.logout(request)
    messages.success(request, "You are logged out.")
    return redirect("login" if settings.SITE_MODE == "private" else "planner")


def locked_out(request: HttpRequest, original: HttpResponse | None = None, credentials: object = None) -> HttpResponse:  # noqa: ARG001 (django-axes passes them)
    """What django-axes answers instead of the log-in page."""
    context = {"nav": "account", "minutes": round(settings.AXES_COOLOFF_TIME.total_seconds() / 60)}
    response = render(request, "accounts/locked_out.html", context, status=429)
    response.headers["Retry-After"] = str(round(settings.AXES_COOLOFF_TIME.total_seconds()))
    return response


def _came_from(request: HttpRequest) -> str:
    """The planner's page that a reader came from, with all that was typed there."""
    own = request.build_absolute_uri(reverse("planner"))
    referer = request.headers.get("Referer", "")
    return referer.removeprefix(own.removesuffix("/")) if referer.startswith(f"{own}?") else ""
