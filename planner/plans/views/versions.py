"""The history of a plan: every version, one of them, and back to it; and the mark of who approved one."""

from typing import Final

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from planner.accounts.access import PersonalReached
from planner.core.errors import InputError
from planner.plans import saving
from planner.plans.models import SavedPlan, Version
from planner.plans.views.plan import shown

_PER_PAGE: Final = 30


def versions(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    found = request.access.subject
    pages = Paginator(found.versions.select_related("author", "approved_by"), _PER_PAGE)
    context = {
        "nav": "plans",
        "plan": found,
        "access": request.access,
        "page": pages.get_page(request.GET.get("page")),
        "title": found.newest.title,
    }
    return render(request, "plans/versions.html", context)


def version(request: PersonalReached[SavedPlan], plan_id: str, number: int) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    found = _version(request, number)
    context = {"nav": "plans", "plan": request.access.subject, "access": request.access, "version": found, "shown": shown(found, None)}
    return render(request, "plans/version.html", context)


def restore(request: PersonalReached[SavedPlan], plan_id: str, number: int) -> HttpResponse:
    """The old version once more, as the newest; what came between stays in the history."""
    plan, found = request.access.subject, _version(request, number)
    base = request.POST.get("base", "")
    try:
        if not base.isascii() or not base.isdigit() or len(base) > 9:
            raise Http404
        saving.save_version(plan, request.user, saving.content_of(found), saving.made_of(found), base=int(base), restored_from=found.number)
    except saving.Conflict as conflict:
        messages.error(request, f"Somebody saved version {conflict.newest.number} meanwhile, so nothing was restored. Look at it first.")
    except InputError as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"Version {number} is the newest again.")
    return redirect("plan", plan_id)


def approve(request: PersonalReached[SavedPlan], plan_id: str, number: int) -> HttpResponse:
    """Marks the version as approved by the reader; `withdraw` takes the mark away."""
    found, withdraw = _version(request, number), "withdraw" in request.POST
    saving.approve(found, None if withdraw else request.user)
    messages.success(request, f"Version {number} is {'no longer approved' if withdraw else 'approved'}.")
    return redirect("plan", plan_id)


def _version(request: PersonalReached[SavedPlan], number: int) -> Version:
    found = request.access.subject.versions.select_related("author", "approved_by").filter(number=number).first()
    if found is None:
        raise Http404
    return found
