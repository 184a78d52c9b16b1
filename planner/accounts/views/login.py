"""Into an account and out of it: sign-up, log-in, log-out."""

from typing import Any

from django.conf import settings
from django.contrib import auth, messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from planner.accounts import limits
from planner.accounts.forms import LogInForm, SignUpForm
from planner.accounts.joining import accept, open_invitation
from planner.accounts.models import User
from planner.accounts.onward import forget_next, wanted_next, with_next
from planner.operations.limits import refusal

_PASSWORDS = "django.contrib.auth.backends.ModelBackend"


@sensitive_post_parameters()
def signup(request: HttpRequest) -> HttpResponse:
    """A new account: for everybody where the site is open, else for who was invited."""
    secret = request.POST.get("invitation") or request.GET.get("invitation", "")
    invitation = open_invitation(secret)
    if settings.SITE_MODE != "open" and not invitation:
        return render(request, "accounts/invited_only.html", {"nav": "account"}, status=403)
    if request.user.is_authenticated:
        return redirect("invitation", secret) if invitation else _onward(request)
    form = SignUpForm(request.POST if request.method == "POST" else None, initial={"email": invitation.email if invitation else ""})
    if request.method == "POST":
        standing = limits.by_network(limits.SIGN_UPS, request)
        if not standing.allowed:
            return refusal(request, standing)
        person = _made(form)
        if person:
            auth.login(request, person, backend=_PASSWORDS)
            if invitation and accept(invitation, person) and invitation.team:
                return redirect("team", invitation.team.public_id)
            return _onward(request)
    wanted = wanted_next(request)
    context = {"nav": "account", "form": form, "next": wanted, "invitation": invitation, "secret": secret}
    context["login"] = with_next(request, reverse("login"), wanted)
    return render(request, "accounts/signup.html", context, status=400 if form.errors else 200)


def _made(form: SignUpForm) -> User | None:
    if not form.is_valid():
        return None
    try:
        with transaction.atomic():
            return form.save()
    except IntegrityError:  # somebody was faster by a moment
        form.add_error("email", "This address or this name cannot be used for a new account.")
        return None


@sensitive_post_parameters()
def login(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return _onward(request)
    form = LogInForm(request, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        name = limits.named(request, None)
        for standing in (limits.by_network(limits.LOG_INS, request), limits.by_name(limits.LOG_INS_OF_ONE, name)):
            if not standing.allowed:
                return refusal(request, standing)
        if form.is_valid():
            auth.login(request, form.get_user())
            return _onward(request)
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


def _onward(request: HttpRequest) -> HttpResponseRedirect:
    wanted = wanted_next(request) or reverse("plans")
    forget_next(request)
    return HttpResponseRedirect(wanted)
