"""Coming into a team, and leaving it: the rules that keep every team with an owner."""

from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from planner.accounts.keys import hashed, new_secret
from planner.accounts.models import Invitation, Membership, Team, User
from planner.accounts.roles import Role
from planner.core.errors import InputError

MAX_TEAMS: Final = 50
MAX_OPEN_INVITATIONS: Final = 100


def make_team(founder: User, name: str) -> Team:
    """A team with its first owner. Raises InputError for somebody who is in very many."""
    if founder.memberships.count() >= MAX_TEAMS:
        raise InputError(f"You are in {MAX_TEAMS} teams: leave one before you make another.", field="name")
    with transaction.atomic():
        team = Team.objects.create(name=name)
        Membership.objects.create(team=team, user=founder, role=Role.OWNER)
    return team


def invite(invited_by: User | None, team: Team | None, *, role: Role, email: str = "") -> tuple[Invitation, str]:
    """An invitation and its secret, which is not stored. Raises InputError where very many are open."""
    if team and team.invitations.open().count() >= MAX_OPEN_INVITATIONS:
        raise InputError(f"{MAX_OPEN_INVITATIONS} invitations are open: withdraw some first.", field="email")
    secret = new_secret()
    made = Invitation.objects.create(team=team, role=role, email=email, invited_by=invited_by, secret_hash=hashed(secret))
    return made, secret


def open_invitation(secret: str) -> Invitation | None:
    return Invitation.objects.open().select_related("team").filter(secret_hash=hashed(secret)).first() if secret else None


def accept(invitation: Invitation, user: User) -> bool:
    """Takes the invitation up: once, however many try at the same time. False where it is used up. Nobody's role sinks by it."""
    with transaction.atomic():
        if not Invitation.objects.open().filter(pk=invitation.pk).update(accepted_at=timezone.now()):
            return False
        if invitation.team:
            found, new = Membership.objects.get_or_create(team=invitation.team, user=user, defaults={"role": invitation.role})
            if not new and found.role < invitation.role:
                Membership.objects.filter(pk=found.pk).update(role=invitation.role)
    return True


def set_role(member: Membership, role: Role | None) -> None:
    """Gives a member another role, or (None) takes them out. Raises InputError for the last owner."""
    with transaction.atomic():
        team = Team.objects.select_for_update().get(pk=member.team_id)
        if role != Role.OWNER and not team.memberships.filter(role=Role.OWNER).exclude(pk=member.pk).exists():
            raise InputError("A team needs an owner: make somebody else one first.", field="role")
        if role is None:
            member.delete()
        else:
            Membership.objects.filter(pk=member.pk).update(role=role)


def only_owned_by(user: User) -> Sequence[Team]:
    """Teams with other members that would be without an owner if `user` left."""
    owners = Count("memberships", filter=Q(memberships__role=Role.OWNER))
    counted = Team.objects.alias(owners=owners, members=Count("memberships")).filter(owners=1, members__gt=1)
    return list(counted.filter(pk__in=user.memberships.filter(role=Role.OWNER).values("team_id")))


def delete_account(user: User) -> None:
    """The account, its plans and links, its comments, and teams of nobody else. Raises InputError where a team would lose its owner."""
    with transaction.atomic():
        # Locked, so that nobody joins or leaves between the question and the deed.
        list(Team.objects.select_for_update().filter(memberships__user=user))
        if left_alone := only_owned_by(user):
            names = ", ".join(f"“{team.name}”" for team in left_alone)
            raise InputError(f"Without you nobody owns {names}: make another member an owner, or delete the team.")
        Team.objects.alias(members=Count("memberships")).filter(members=1, pk__in=user.memberships.values("team_id")).delete()
        user.delete()


def members_of(team: Team) -> list[Membership]:
    return list(team.memberships.select_related("user").order_by(F("role").desc(), "joined_at", "pk"))
