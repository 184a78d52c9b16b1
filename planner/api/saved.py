"""The calls about saved plans: those one may see, one of them, its versions; made, changed, deleted."""

from collections.abc import Callable
from typing import Annotated, Any

from django.http import Http404, HttpResponse, JsonResponse
from django.urls import reverse
from ninja import Path, Query, Router

from planner.accounts.access import Personal, PersonalReached
from planner.accounts.models import Team
from planner.accounts.roles import Role
from planner.api.answers.saved import PlanPage, PlanVersion, SavedPlanAnswer, VersionPage
from planner.api.bodies import ChangedPlan, NewPlan, PlanContent, typed
from planner.api.idempotency import once
from planner.api.replies import Limit, Offset, page, reply, site
from planner.core.errors import InputError
from planner.core.request import RequestError
from planner.plans import saving
from planner.plans.labels import found_by
from planner.plans.models import SavedPlan, Version
from planner.plans.record import Made, record
from planner.web import asking

calls = Router(tags=["Saved plans"])


@calls.get("/plans", response=PlanPage, url_name="plans", operation_id="list_plans", summary="List saved plans")
def list_plans(
    request: Personal,
    *,
    limit: Limit,
    offset: Offset,
    q: Annotated[str, Query("", max_length=120, description="A part of the title.")],
    tag: Annotated[str, Query("", max_length=60, description="A tag, exactly.")],
    team: Annotated[str, Query("", max_length=40, description="The id of a team; “mine”: those of no team.")],
) -> JsonResponse:
    """Your plans and those of your teams, the one that was changed last first."""
    rows = SavedPlan.objects.seen_by(request.user).select_related("team").order_by("-updated_at", "-pk")
    if team:
        rows = rows.filter(team=None) if team == "mine" else rows.filter(team__public_id=_plain(team))
    wanted = Version.objects.newest()
    if q or tag:
        wanted = wanted.filter(title__icontains=_plain(q)) if q else wanted
        wanted = wanted.filter(tags__contains=found_by(_plain(tag))) if tag else wanted
        rows = rows.filter(pk__in=wanted.values("plan_id"))
    return page(request, rows, _heads, limit=limit, offset=offset, filters=("q", "tag", "team"))


@calls.post("/plans", response={201: SavedPlanAnswer}, url_name="plans", operation_id="save_plan", summary="Save a new plan")
def save_plan(request: Personal, plan: NewPlan) -> HttpResponse:
    """Works the request out and keeps both. Send an `Idempotency-Key`, and the call may be repeated: it saves once."""

    def prepare() -> Callable[[], HttpResponse]:
        content, made = _content(plan)
        team = _team(request, plan.team)

        def act() -> HttpResponse:
            saved = saving.save_new(request.user, content, made, team=team)
            return _whole(_seen(request, saved), status=201)

        return act

    return once(request, request.user, prepare)


@calls.get("/plans/{key:plan_id}", response=SavedPlanAnswer, url_name="saved-plan", operation_id="read_plan", summary="Read a saved plan")
def read_plan(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    return _whole(request.access.subject)


@calls.put(
    "/plans/{key:plan_id}", response=SavedPlanAnswer, url_name="saved-plan", operation_id="change_plan", summary="Save a new version"
)
def change_plan(request: PersonalReached[SavedPlan], plan_id: str, plan: ChangedPlan) -> HttpResponse:  # noqa: ARG001 (likewise)
    """A new version of the plan. Of two who began with the same one, the second gets a 409 and nothing is lost."""
    content, made = _content(plan)
    saving.save_version(request.access.subject, request.user, content, made, base=plan.base)
    return _whole(_seen(request, request.access.subject))


@calls.delete(
    "/plans/{key:plan_id}", response={204: None}, url_name="saved-plan", operation_id="delete_plan", summary="Delete a saved plan"
)
def delete_plan(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:  # noqa: ARG001 (likewise)
    """With all its versions, comments and links."""
    request.access.subject.delete()
    return HttpResponse(status=204)


@calls.get(
    "/plans/{key:plan_id}/versions", response=VersionPage, url_name="versions", operation_id="list_versions", summary="List versions"
)
def list_versions(request: PersonalReached[SavedPlan], plan_id: str, limit: Limit, offset: Offset) -> JsonResponse:  # noqa: ARG001 (likewise)
    """The newest first, each with what it changed."""
    rows = request.access.subject.versions.select_related("author", "approved_by")
    return page(request, rows, lambda found: [_version_head(each) for each in found], limit=limit, offset=offset)


@calls.get(
    "/plans/{key:plan_id}/versions/{int:number}",
    response=PlanVersion,
    url_name="version",
    operation_id="read_version",
    summary="Read a version",
)
def read_version(
    request: PersonalReached[SavedPlan],
    plan_id: str,  # noqa: ARG001 (likewise)
    number: Annotated[int, Path(..., ge=1, le=1_000_000)],
) -> JsonResponse:
    found = request.access.subject.versions.select_related("author", "approved_by").filter(number=number).first()
    if found is None:
        raise Http404
    return reply(_version(found))


def _content(plan: PlanContent) -> tuple[saving.Content, Made]:
    """What is to be kept, and the answer to it. Raises RequestError where there is none."""
    inputs = typed(plan.request) or typed(type(plan.request)(model=plan.request.model))
    outcome = asking.ask(inputs)
    if outcome.answer is None:
        raise RequestError({f"request.{name}".rstrip("."): message for name, message in outcome.errors.items()})
    labels = [tuple(dict.fromkeys(each)) for each in (plan.tags, plan.owned)]
    return saving.Content(plan.title, inputs, plan.notes, *labels), record(outcome.answer)


def _team(request: Personal, team_id: str | None) -> Team | None:
    if team_id is None:
        return None
    found = Team.objects.edited_by(request.user).filter(public_id=_plain(team_id)).first()
    if found is None:
        raise InputError("You may save in no team with this id.", field="team")
    return found


def _plain(text: str) -> str:
    """No database of ours looks for a NUL."""
    return text.replace("\0", "\ufffd")


def _seen(request: Personal | PersonalReached[SavedPlan], plan: SavedPlan) -> SavedPlan:
    """The plan as it is now, with the reader's role on it."""
    return SavedPlan.objects.seen_by(request.user).select_related("team").get(pk=plan.pk)


def _whole(plan: SavedPlan, *, status: int = 200) -> JsonResponse:
    headers = {"ETag": f'"{plan.head}"'}
    if status == 201:
        headers["Location"] = reverse("api:saved-plan", args=[plan.public_id])
    newest = plan.newest
    return reply({**_head(plan, newest), "newest": _version(newest)}, status=status, headers=headers)


def _heads(plans: list[SavedPlan]) -> list[dict[str, Any]]:
    newest = {each.plan_id: each for each in Version.objects.newest().filter(plan__in=plans)}
    return [_head(plan, newest[plan.pk]) for plan in plans if plan.pk in newest]


def _head(plan: SavedPlan, version: Version) -> dict[str, Any]:
    return {
        "id": plan.public_id,
        "url": site(reverse("plan", args=[plan.public_id])),
        "title": version.title,
        "tags": list(version.tags),
        "owned": list(version.owned),
        "team": {"id": plan.team.public_id, "name": plan.team.name} if plan.team else None,
        "role": Role(plan.role).label.lower(),
        "version": version.number,
        "created_at": plan.created_at,
        "updated_at": plan.updated_at,
        "verdict": version.result["fit"]["verdict"],
        "headline": version.result["headline"],
    }


def _version_head(version: Version) -> dict[str, Any]:
    return {
        "version": version.number,
        "author": version.author.username if version.author else None,
        "created_at": version.created_at,
        "title": version.title,
        "changes": version.changes,
        "approved_by": version.approved_by.username if version.approved_by else None,
    }


def _version(version: Version) -> dict[str, Any]:
    return {
        **_version_head(version),
        "notes": version.notes,
        "tags": list(version.tags),
        "owned": list(version.owned),
        "inputs": version.inputs,
        "result": version.result,
        "application": version.application,
        "catalog": version.catalog,
        "engine": version.engine,
        "restored_from": version.restored_from,
        "approved_at": version.approved_at,
    }
