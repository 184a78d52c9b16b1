"""The calls about the shared links of a saved plan."""

from datetime import timedelta
from typing import Annotated, Any

from django.http import Http404, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from ninja import Path, Router

from planner.accounts.access import PersonalReached
from planner.api.answers.saved import LinkList, MadeLink
from planner.api.bodies import NewLink
from planner.api.replies import reply, site
from planner.plans import sharing
from planner.plans.models import SavedPlan, ShareLink

calls = Router(tags=["Shared links"])


@calls.get("/plans/{key:plan_id}/links", response=LinkList, url_name="links", operation_id="list_links", summary="List shared links")
def list_links(request: PersonalReached[SavedPlan], plan_id: str) -> JsonResponse:  # noqa: ARG001 (the permission used it)
    """Those that work, with their last use. Their addresses are not kept."""
    live = request.access.subject.links.live().select_related("made_by")
    return reply({"items": [_link(each) for each in live]})


@calls.post(
    "/plans/{key:plan_id}/links", response={201: MadeLink}, url_name="links", operation_id="make_link", summary="Make a shared link"
)
def make_link(request: PersonalReached[SavedPlan], plan_id: str, link: NewLink) -> JsonResponse:  # noqa: ARG001 (likewise)
    """Whoever has the link reads the plan's newest version, without an account."""
    ends = timezone.now() + timedelta(days=link.days) if link.days else None
    made, secret = sharing.make_link(request.access.subject, request.user, label=link.label, password=link.password or "", expires_at=ends)
    return reply({**_link(made), "url": site(reverse("share", args=[secret]))}, status=201)


@calls.delete(
    "/plans/{key:plan_id}/links/{int:link_id}",
    response={204: None},
    url_name="link",
    operation_id="revoke_link",
    summary="Revoke a shared link",
)
def revoke_link(
    request: PersonalReached[SavedPlan],
    plan_id: str,  # noqa: ARG001 (likewise)
    link_id: Annotated[int, Path(..., ge=1, le=2**63 - 1)],
) -> HttpResponse:
    """It is dead with the next request."""
    if not sharing.revoke(request.access.subject, link_id):
        raise Http404
    return HttpResponse(status=204)


def _link(link: ShareLink) -> dict[str, Any]:
    return {
        "id": link.pk,
        "label": link.label,
        "made_by": link.made_by.username if link.made_by else None,
        "created_at": link.created_at,
        "expires_at": link.expires_at,
        "used_at": link.used_at,
        "has_password": bool(link.password),
    }
