"""Comments on a plan: said, with mentions of people who can see it, and taken back."""

from typing import Final

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils import timezone

from planner.accounts import mail
from planner.accounts.models import User
from planner.core.errors import InputError
from planner.plans.models import Comment, Mention, SavedPlan
from planner.plans.notes import mentioned

MAX_COMMENT: Final = 4_000
MAX_COMMENTS: Final = 2_000
MAX_MENTIONS: Final = 20


def people_of(plan: SavedPlan) -> QuerySet[User]:
    """Who sees the plan, and can be mentioned."""
    return get_user_model().objects.filter(Q(teams=plan.team_id) if plan.team_id else Q(pk=plan.owner_id), is_active=True)


def comment(plan: SavedPlan, author: User, text: str) -> Comment:
    """Says something, and tells who is mentioned. Raises InputError for nothing, and for too much."""
    said = text.replace("\r\n", "\n").replace("\0", "").strip()
    if not said:
        raise InputError("Write something first.", field="text")
    if len(said) > MAX_COMMENT:
        raise InputError(f"A comment has at most {MAX_COMMENT:,} characters; this one has {len(said):,}.", field="text")
    if plan.comments.count() >= MAX_COMMENTS:
        raise InputError(f"This plan has {MAX_COMMENTS:,} comments: go on with a copy.", field="text")
    names = [name.lower() for name in mentioned(said)[:MAX_MENTIONS]]
    with transaction.atomic():
        made = Comment.objects.create(plan=plan, version=plan.head, author=author, text=said)
        people = list(people_of(plan).alias(called=Lower("username")).filter(called__in=names).exclude(pk=author.pk)) if names else []
        Mention.objects.bulk_create([Mention(comment=made, user=person) for person in people])
    title = plan.newest.title if people else ""
    for person in people:
        mail.send(
            "plans/mail/mention.txt", to=person.email, author=author, title=title, text=said, path=reverse("plan", args=[plan.public_id])
        )
    return made


def read(plan: SavedPlan, user: User) -> None:
    """`user` has seen the plan's page, and with it what mentions them there."""
    Mention.objects.filter(user=user, comment__plan=plan, read_at=None).update(read_at=timezone.now())
