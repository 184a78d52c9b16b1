"""The list of one's plans, and all of them as one file."""

import json
from collections.abc import Iterator
from typing import Any, Final

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render

import planner
from planner.accounts.access import Personal
from planner.accounts.models import Team, User
from planner.plans.labels import found_by
from planner.plans.models import Mention, SavedPlan, Version

_PER_PAGE: Final = 30
_LONGEST_SEARCH: Final = 100


def plans(request: Personal) -> HttpResponse:
    """The newest version of every plan one may see: `?team=` (an id, or “mine”), `?tag=` and `?q=` narrow it."""
    wanted = {name: request.GET.get(name, "").replace("\0", "")[:_LONGEST_SEARCH].strip() for name in ("team", "tag", "q")}
    found = _narrowed(_newest(request.user), wanted)
    pages = Paginator(found.select_related("plan__team", "author", "approved_by").order_by("-plan__updated_at", "-pk"), _PER_PAGE)
    context = {
        "nav": "plans",
        "page": pages.get_page(request.GET.get("page")),
        "wanted": wanted,
        "narrowed": any(wanted.values()),
        "teams": list(Team.objects.seen_by(request.user)),
        "mentions": list(Mention.objects.unread_by(request.user).select_related("comment__plan", "comment__author")[:10]),
    }
    return render(request, "plans/plans.html", context)


def export(request: Personal) -> StreamingHttpResponse:
    """Every plan one may see with all its versions, a version at a time, so that it never stands in memory as a whole."""
    response = StreamingHttpResponse(_exported(request.user), content_type="application/json")
    response.headers["Content-Disposition"] = 'attachment; filename="slotwise-plans.json"'
    return response


def _newest(user: User) -> QuerySet[Version]:
    return Version.objects.newest().filter(plan__in=SavedPlan.objects.seen_by(user).values("pk"))


def _narrowed(found: QuerySet[Version], wanted: dict[str, str]) -> QuerySet[Version]:
    if wanted["team"] == "mine":
        found = found.filter(plan__team=None)
    elif wanted["team"]:
        found = found.filter(plan__team__public_id=wanted["team"])
    if wanted["tag"]:
        found = found.filter(tags__contains=found_by(wanted["tag"]))
    return found.filter(title__icontains=wanted["q"]) if wanted["q"] else found


def _exported(user: User) -> Iterator[str]:
    visible = SavedPlan.objects.seen_by(user).values("pk")
    versions = Version.objects.filter(plan__in=visible).select_related("plan__team", "author", "approved_by").order_by("plan_id", "number")
    yield f'{{"schema": 1, "application": {json.dumps(planner.VERSION)}, "plans": ['
    current = None
    for version in versions.iterator(chunk_size=100):
        if version.plan_id != current:
            yield ("]}, " if current else "") + json.dumps(_plan(version.plan))[:-1] + ', "versions": ['
        else:
            yield ", "
        current = version.plan_id
        yield json.dumps(_version(version))
    yield "]}]}\n" if current else "]}\n"


def _plan(plan: SavedPlan) -> dict[str, Any]:
    return {"id": plan.public_id, "team": plan.team.name if plan.team else None, "created_at": plan.created_at.isoformat()}


def _version(version: Version) -> dict[str, Any]:
    return {
        "number": version.number,
        "author": version.author.username if version.author else None,
        "created_at": version.created_at.isoformat(),
        "title": version.title,
        "notes": version.notes,
        "tags": list(version.tags),
        "owned": list(version.owned),
        "inputs": version.inputs,
        "result": version.result,
        "application": version.application,
        "catalog": version.catalog,
        "engine": version.engine,
        "changes": version.changes,
        "approved_by": version.approved_by.username if version.approved_by else None,
        "approved_at": version.approved_at.isoformat() if version.approved_at else None,
    }
