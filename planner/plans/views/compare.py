"""Two to four plans side by side: saved ones, and addresses of the planner, which need no account."""

from typing import Any, Final
from urllib.parse import urlsplit

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse

from planner.accounts.keys import is_public_id
from planner.core.errors import InputError
from planner.plans import comparing
from planner.plans.inputs import MAX_QUERY, read_inputs
from planner.plans.models import SavedPlan, Version
from planner.web.address import address

_MOST: Final = 4
_NAMES: Final = ("a", "b", "c", "d")
_OFFERED: Final = 30


def compare(request: HttpRequest) -> HttpResponse:
    """`?a=…&b=…` (or `plan=` several times): each the id of a saved plan, or the address of one in the planner."""
    given = [text for text in (*(request.GET.get(name, "") for name in _NAMES), *request.GET.getlist("plan")) if text.strip()]
    context: dict[str, Any] = {"nav": "plans", "given": given[:_MOST], "letters": _NAMES, "error": ""}
    try:
        columns = _columns(request, given)
        context |= {"columns": columns, "table": comparing.compare(columns) if len(columns) > 1 else None}
    except InputError as refused:
        context["error"] = str(refused)
    if not context.get("table"):
        context["offered"] = _offered(request)
    return render(request, "plans/compare.html", context, status=400 if context["error"] else 200)


def _columns(request: HttpRequest, given: list[str]) -> list[comparing.Column]:
    if len(given) > _MOST:
        raise InputError(f"These are {len(given)} plans: {_MOST} at most stand side by side.")
    return [_column(request, text) for text in given]


def _column(request: HttpRequest, text: str) -> comparing.Column:
    name = _named(text)
    if is_public_id(name):
        plan = SavedPlan.objects.seen_by(request.user).filter(public_id=name).first()
        if plan is None:
            raise Http404
        version = plan.newest
        return comparing.column(version.title, reverse("plan", args=[name]), version.inputs)
    inputs = read_inputs(name)
    return comparing.column("", address(reverse("planner"), inputs), inputs)


def _named(text: str) -> str:
    """What an address that somebody pasted stands for: the id of a saved plan, or the query string of one in the planner."""
    text = text.strip()
    if len(text) > MAX_QUERY:
        raise InputError("One of these addresses is longer than any plan's.")
    try:
        parts = urlsplit(text)
        match = resolve(parts.path) if parts.path.startswith("/") else None
    except (ValueError, Resolver404):
        match = None
    if match and match.url_name == "plan":
        return str(match.kwargs["plan_id"])
    if match and match.url_name == "planner":
        return parts.query
    if not is_public_id(text) and "=" not in text:
        raise InputError(f"“{text[:60]}” is no plan: give the address of one, from the planner or from your list.")
    return text


def _offered(request: HttpRequest) -> list[Version]:
    """One's own plans to choose from."""
    visible = SavedPlan.objects.seen_by(request.user).values("pk")
    return list(Version.objects.newest().filter(plan__in=visible).select_related("plan").order_by("-plan__updated_at")[:_OFFERED])
