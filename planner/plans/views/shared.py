"""A plan behind a shared link: read-only, for whoever has the link, and its password where it has one."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from planner.accounts.access import PersonalReached, Reached
from planner.core.errors import InputError
from planner.operations.limits import refusal
from planner.plans import sharing
from planner.plans.aging import look_again
from planner.plans.forms import PasswordForm
from planner.plans.models import ShareLink
from planner.plans.views.plan import archive, copy_for, shown
from planner.web.address import address


@sensitive_post_parameters()
def shared(request: Reached[ShareLink], secret: str) -> HttpResponse:
    link = request.access.subject
    if not sharing.is_open(request, link):
        return _ask_password(request, secret)
    sharing.note_use(link)
    version = link.plan.newest
    context = {
        "nav": "plans",
        "secret": secret,
        "version": version,
        "shown": shown(version, look_again(version)),
        "planner": address(reverse("planner"), version.inputs),
    }
    return _unlisted(render(request, "plans/shared.html", context))


def _ask_password(request: Reached[ShareLink], secret: str) -> HttpResponse:
    """Says nothing of the plan before the password is right."""
    form = PasswordForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        right, standing = sharing.try_password(request, request.access.subject, form.cleaned_data["password"])
        if right:
            return redirect("share", secret)
        if not standing.allowed:
            return refusal(request, standing)
        form.add_error("password", "This is not the password.")
    return _unlisted(render(request, "plans/locked.html", {"nav": "plans", "form": form}, status=400 if form.errors else 200))


def files(request: Reached[ShareLink], secret: str) -> HttpResponse:
    link = request.access.subject
    if not sharing.is_open(request, link):
        return redirect("share", secret)
    found = archive(request, link.plan.newest)
    if found is None:
        messages.error(request, "There are no files: the plan cannot be worked out any more.")
        return redirect("share", secret)
    sharing.note_use(link)
    return found


def copy(request: PersonalReached[ShareLink], secret: str) -> HttpResponse:
    """A plan of one's own from it, after asking: the way here may have led through a log-in."""
    link = request.access.subject
    if not sharing.is_open(request, link):
        return redirect("share", secret)
    version = link.plan.newest
    if request.method == "POST":
        try:
            made = copy_for(request.user, version)
        except InputError as refused:
            messages.error(request, str(refused))
            return redirect("share", secret)
        messages.success(request, "This is your own copy. Changes in it stay here.")
        return redirect("plan", made.public_id)
    return _unlisted(render(request, "plans/copy.html", {"nav": "plans", "secret": secret, "version": version}))


def _unlisted(response: HttpResponse) -> HttpResponse:
    response.headers["X-Robots-Tag"] = "noindex"
    return response
