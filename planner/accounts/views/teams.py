"""Teams: those one is in, and the page of one with its people, invitations and devices."""

from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render

from planner.accounts import joining
from planner.accounts.access import Personal, PersonalReached
from planner.accounts.forms import DeviceForm, InviteForm, TeamForm
from planner.accounts.models import Team
from planner.accounts.roles import Role
from planner.core import catalog
from planner.core.errors import InputError


def teams(request: Personal) -> HttpResponse:
    """The teams one is in, and a form for another."""
    form = TeamForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("team", joining.make_team(request.user, form.cleaned_data["name"]).public_id)
        except InputError as refused:
            form.add_error("name", str(refused))
    counted = Team.objects.annotate(members=Count("memberships", distinct=True), kept=Count("plans", distinct=True))
    mine = {member.team_id: Role(member.role) for member in request.user.memberships.all()}
    shown = [(team, mine[team.pk]) for team in counted.filter(pk__in=mine)]
    return render(request, "teams/teams.html", {"nav": "teams", "teams": shown, "form": form}, status=400 if form.errors else 200)


def team(request: PersonalReached[Team], team_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    return team_page(request)


def team_page(request: PersonalReached[Team], *, status: int = 200, **context: Any) -> HttpResponse:
    """The team's page; `context` has the forms that were refused and the invitation that was just made."""
    found = request.access.subject
    shown: dict[str, Any] = {
        "nav": "teams",
        "team": found,
        "access": request.access,
        "members": joining.members_of(found),
        "devices": [(each, catalog.devices().get(each.device)) for each in found.devices.all()],
        "catalog": catalog.devices(),
        "roles": Role.choices,
        "invite_form": InviteForm(auto_id="invite-%s"),
        "device_form": DeviceForm(auto_id="device-%s"),
        "rename_form": TeamForm(instance=found, auto_id="team-%s"),
    }
    if request.access.owns:
        shown["invitations"] = list(found.invitations.open().select_related("invited_by"))
    return render(request, "teams/team.html", shown | context, status=status)


def rename(request: PersonalReached[Team], team_id: str) -> HttpResponse:
    form = TeamForm(request.POST, instance=request.access.subject, auto_id="team-%s")
    if not form.is_valid():
        return team_page(request, status=400, rename_form=form)
    form.save()
    return redirect("team", team_id)


def delete(request: PersonalReached[Team], team_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    """Deletes the team with all its plans, after asking."""
    found = request.access.subject
    if request.method == "POST":
        name = found.name
        found.delete()
        messages.success(request, f"“{name}” and its plans are deleted.")
        return redirect("teams")
    return render(request, "teams/delete.html", {"nav": "teams", "team": found, "kept": found.plans.count()})


def leave(request: PersonalReached[Team], team_id: str) -> HttpResponse:
    try:
        joining.set_role(request.access.subject.memberships.get(user=request.user), None)
    except InputError as refused:
        messages.error(request, str(refused))
        return redirect("team", team_id)
    messages.success(request, f"You left “{request.access.subject.name}”.")
    return redirect("teams")
