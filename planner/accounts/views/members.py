"""Who is in a team: roles, invitations, and the page where an invitation is taken up."""

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from planner.accounts import joining, limits, mail
from planner.accounts.access import PersonalReached, Reached
from planner.accounts.forms import InviteForm
from planner.accounts.models import Invitation, Membership, Team, User
from planner.accounts.onward import with_next
from planner.accounts.roles import Role
from planner.accounts.views.teams import team_page
from planner.core.errors import InputError
from planner.operations.limits import refusal, take


def invite(request: PersonalReached[Team], team_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    """Makes an invitation and shows its link, this once; with an address it also goes there."""
    form = InviteForm(request.POST, auto_id="invite-%s")
    if not form.is_valid():
        return team_page(request, status=400, invite_form=form)
    standing = take(limits.INVITATIONS, f"user-{request.user.pk}")
    if not standing.allowed:
        return refusal(request, standing)
    team, email = request.access.subject, form.cleaned_data["email"].lower()
    try:
        _, secret = joining.invite(request.user, team, role=Role(form.cleaned_data["role"]), email=email)
    except InputError as refused:
        form.add_error("email", str(refused))
        return team_page(request, status=400, invite_form=form)
    path = reverse("invitation", args=[secret])
    if email:
        mail.send("accounts/mail/invitation.txt", to=email, team=team, invited_by=request.user, path=path)
    return team_page(request, made_link=request.build_absolute_uri(path), made_for=email)


def uninvite(request: PersonalReached[Team], team_id: str, invitation_id: int) -> HttpResponse:
    request.access.subject.invitations.filter(pk=invitation_id).delete()
    messages.success(request, "The invitation is withdrawn.")
    return redirect("team", team_id)


def member(request: PersonalReached[Team], team_id: str, member_id: int) -> HttpResponse:
    """Another role for a member, or the end of the membership (`role=` empty)."""
    found = Membership.objects.filter(team=request.access.subject, pk=member_id).first()
    wanted = request.POST.get("role", "")
    if found is None or wanted not in {"", *(str(role.value) for role in Role)}:
        raise Http404
    try:
        joining.set_role(found, Role(int(wanted)) if wanted else None)
    except InputError as refused:
        messages.error(request, str(refused))
    return redirect("teams") if found.user_id == request.user.pk and not wanted else redirect("team", team_id)


def invitation(request: Reached[Invitation], secret: str) -> HttpResponse:
    """What one is invited to; who is logged in accepts here, everybody else signs up or logs in first."""
    found = request.access.subject
    if request.method == "POST" and isinstance(request.user, User):
        if not joining.accept(found, request.user):
            raise Http404
        messages.success(request, f"You are in “{found.team.name}” now." if found.team else "Welcome.")
        return redirect("team", found.team.public_id) if found.team else redirect("plans")
    context = {
        "nav": "account",
        "invitation": found,
        "signup": f"{reverse('signup')}?invitation={secret}",
        "login": with_next(request, reverse("login"), request.path),
        "mode": settings.SITE_MODE,
    }
    return render(request, "accounts/invitation.html", context)
