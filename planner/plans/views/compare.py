"""Two to four plans side by side: saved ones, and addresses of the planner, which need no account."""

from typing import Any, Final
from urllib.parse import urlsplit

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, ResolverMatch, resolve, reverse
from django.views.decorators.cache import never_cache

from planner.accounts.keys import is_public_id
from planner.core.errors import InputError
from planner.plans import comparing, sharing
from planner.plans.inputs import MAX_QUERY, read_inputs
from planner.plans.models import SavedPlan, ShareLink, Version
from planner.web.address import address

_MOST: Final = 4
_NAMES: Final = ("a", "b", "c", "d")
_OFFERED: Final = 30


@never_cache
def compare(request: HttpRequest) -> HttpResponse:
    """`?a=…&b=…` (or `plan=` several times): each the id of a saved plan, a shared link, or the address of one in the planner."""
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
    text = text.strip()
    if len(text) > MAX_QUERY:
        raise InputError("One of these addresses is longer than any plan's.")
    query, match = _resolved(text)
    page = match.url_name if match else None
    if match and page == "share":
        return _shared(request, match.kwargs["secret"])
    if match and page == "plan":
        return _saved(request, match.kwargs["plan_id"])
    if is_public_id(text):
        return _saved(request, text)
    if page != "planner" and "=" not in text:
        raise InputError(f"“{text[:60]}” is no plan: give the address of one, from the planner, from your list, or shared with you.")
    inputs = read_inputs(query if page == "planner" else text)
    return comparing.column("", address(reverse("planner"), inputs), inputs)


def _resolved(text: str) -> tuple[str, ResolverMatch | None]:
    """The query of an address that somebody pasted, and which page of ours it leads to."""
    try:
        parts = urlsplit(text)
        return parts.query, resolve(parts.path) if parts.path.startswith("/") else None
    except (ValueError, Resolver404):
        return "", None


def _saved(request: HttpRequest, plan_id: str) -> comparing.Column:
    plan = SavedPlan.objects.seen_by(request.user).filter(public_id=plan_id).first()
    if plan is None:
        raise Http404
    version = plan.newest
    return comparing.column(version.title, reverse("plan", args=[plan_id]), version.inputs)


def _shared(request: HttpRequest, secret: str) -> comparing.Column:
    """The plan behind a live link, once its password was given where it has one."""
    link = ShareLink.objects.of(secret)
    if link is None:
        raise Http404
    if not sharing.is_open(request, link):
        raise InputError("One of these links has a password: open it first, then compare.")
    sharing.note_use(link)
    version = link.plan.newest
    return comparing.column(version.title, reverse("share", args=[secret]), version.inputs)


def _offered(request: HttpRequest) -> list[Version]:
    """One's own plans to choose from."""
    visible = SavedPlan.objects.seen_by(request.user).values("pk")
    return list(Version.objects.newest().filter(plan__in=visible).select_related("plan").order_by("-plan__updated_at")[:_OFFERED])
