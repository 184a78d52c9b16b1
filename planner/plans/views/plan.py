"""The page of a saved plan, its files, and what can be done with it as a whole."""

from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from planner.accounts.access import PersonalReached
from planner.accounts.models import Team
from planner.core.errors import InputError
from planner.plans import saving, talking
from planner.plans.aging import Aged, look_again
from planner.plans.models import SavedPlan, Version
from planner.plans.notes import comment_html, notes_html
from planner.plans.record import FACTS, Json
from planner.web.address import address
from planner.web.bundle import bundle
from planner.web.changing import SAVED

_COMMENTS_SHOWN: Final = 100
_VERSIONS_SHOWN: Final = 5


def plan(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    talking.read(request.access.subject, request.user)
    return plan_page(request)


def plan_page(request: PersonalReached[SavedPlan], *, status: int = 200, **context: Any) -> HttpResponse:
    """The plan's page; `context` has a comment that was refused."""
    found = request.access.subject
    version = found.newest
    people = {person.username.lower() for person in talking.people_of(found)}
    said = list(found.comments.select_related("author").order_by("-created_at", "-pk")[:_COMMENTS_SHOWN])[::-1]
    aged = look_again(version)
    page = {
        "nav": "plans",
        "plan": found,
        "access": request.access,
        "version": version,
        "shown": shown(version, aged),
        "planner": address(
            reverse("planner"), version.inputs, **({SAVED: f"{found.public_id}.{version.number}"} if request.access.edits else {})
        ),
        "versions": list(found.versions.select_related("author")[:_VERSIONS_SHOWN]),
        "comments": [(each, comment_html(each.text, people)) for each in said],
        "older_comments": found.comments.count() - len(said),
        "live_links": found.links.live().count() if request.access.edits else 0,
        "teams": Team.objects.edited_by(request.user) if request.access.owns else [],
    }
    return render(request, "plans/plan.html", page | context, status=status)


def shown(version: Version, aged: Aged | None) -> dict[str, Any]:
    """What stands of a version wherever it is shown: on its page, in its history, behind a link."""
    return {
        "version": version,
        "notes": notes_html(version.notes),
        "facts": facts(version.result),
        "inputs": version.inputs,
        "aged": aged,
        "verdict": version.result["fit"]["verdict"],
        "headline": version.result["headline"],
    }


def facts(result: Json) -> list[tuple[str, str]]:
    """Every fact but the command line, which stands by itself."""
    return [(fact.name, fact.of(result)) for fact in FACTS if fact.path != "engine.command"]


def files(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:
    version = request.access.subject.newest
    return archive(request, version) or _no_files(request, plan_id)


def archive(request: Any, version: Version) -> HttpResponse | None:
    """The zip of a version's files as the planner would give it, None where the plan has no answer any more."""
    answer = look_again(version).answer
    if answer is None:
        return None
    place = request.build_absolute_uri(address(reverse("planner"), version.inputs))
    name = f"slotwise-{answer.plan.engine.name}.zip"
    content = bundle(answer.plan, answer.hand_over, place)
    return HttpResponse(content, content_type="application/zip", headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _no_files(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:
    messages.error(request, "There are no files: the plan cannot be worked out any more.")
    return redirect("plan", plan_id)


def copy(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:
    """The newest version as a plan of one's own."""
    try:
        made = copy_for(request.user, request.access.subject.newest)
    except InputError as refused:
        messages.error(request, str(refused))
        return redirect("plan", plan_id)
    messages.success(request, "This is your own copy. Changes in it stay here.")
    return redirect("plan", made.public_id)


def copy_for(user: Any, version: Version) -> SavedPlan:
    return saving.save_new(user, saving.copied(version), saving.made_of(version), change="copied")


def move(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:
    """Into a team where one is at least an editor, or (`team=` empty) out of it, to oneself."""
    wanted = request.POST.get("team", "")
    team = Team.objects.edited_by(request.user).filter(public_id=wanted).first() if wanted else None
    if wanted and team is None:
        raise Http404
    try:
        saving.check_room(team, request.user)
    except InputError as refused:
        messages.error(request, str(refused))
        return redirect("plan", plan_id)
    SavedPlan.objects.filter(pk=request.access.subject.pk).update(team=team, owner=None if team else request.user)
    messages.success(request, f"The plan is in “{team.name}” now." if team else "The plan is yours alone now.")
    return redirect("plan", plan_id)


def delete(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    found = request.access.subject
    version = found.newest
    if request.method == "POST":
        found.delete()
        messages.success(request, f"“{version.title}” is deleted, with its versions and links.")
        return redirect("plans")
    return render(
        request, "plans/delete.html", {"nav": "plans", "plan": found, "version": version, "live_links": found.links.live().count()}
    )
