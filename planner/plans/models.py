"""Saved plans: each a row that says whose it is, and a row for every version of what was saved."""

from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Case, Exists, F, FilteredRelation, OuterRef, Q, Value, When
from django.utils import timezone

from planner.accounts.keys import HASH_LENGTH, PUBLIC_LENGTH, hashed, new_public_id
from planner.accounts.models import Team, User
from planner.accounts.roles import Role
from planner.plans.labels import LabelsField


class SavedPlans(models.QuerySet["SavedPlan"]):
    def seen_by(self, user: Any) -> Self:
        """The plans that `user` may see, each with the `role` on it. One query, whether there is such a plan or not."""
        if not user.is_authenticated:
            return self.none()
        return (
            self.alias(own=FilteredRelation("team__memberships", condition=Q(team__memberships__user=user)))
            .filter(Q(owner=user) | Q(own__isnull=False))
            .annotate(
                role=Case(
                    When(owner=user, then=Value(int(Role.OWNER))), default=F("own__role"), output_field=models.PositiveSmallIntegerField()
                )
            )
        )

    def edited_by(self, user: User) -> Self:
        return self.filter(Q(owner=user) | Q(team__memberships__user=user, team__memberships__role__gte=Role.EDITOR))


class SavedPlan(models.Model):
    """A plan that is kept: a person's own, or a team's. `head` is the number of its newest version."""

    public_id = models.CharField(max_length=PUBLIC_LENGTH, unique=True, default=new_public_id, editable=False)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="plans")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="plans")
    head = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now, db_index=True)
    role: int  # the reader's, where `seen_by` found the plan

    objects = SavedPlans.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(owner__isnull=False, team__isnull=True) | Q(owner__isnull=True, team__isnull=False),
                name="a_plan_has_one_owner",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def newest(self) -> "Version":
        return self.versions.select_related("author", "approved_by").get(number=self.head)


class Versions(models.QuerySet["Version"]):
    def newest(self) -> Self:
        """The newest version of each plan."""
        return self.filter(number=F("plan__head"))


class Version(models.Model):
    """What was saved at one time. Never changed afterwards, but for its approval.

    `inputs` are the planner's, as they were typed. `result` is the record of the answer then (see `record`), made by `application`
    with `catalog`, for `engine`. `changes` say in words what is different from the version before.
    """

    plan = models.ForeignKey(SavedPlan, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    title = models.CharField(max_length=120)
    notes = models.TextField(blank=True)
    tags = LabelsField(blank=True)
    owned = LabelsField(blank=True)
    inputs = models.JSONField()
    result = models.JSONField()
    application = models.CharField(max_length=40)
    catalog = models.CharField(max_length=40)
    engine = models.CharField(max_length=80)
    changes = models.JSONField(default=list)
    restored_from = models.PositiveIntegerField(null=True)

    approved_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    approved_at = models.DateTimeField(null=True)

    objects = Versions.as_manager()

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["plan", "number"], name="each_version_once")]

    def __str__(self) -> str:
        return f"version {self.number} of {self.plan_id}"


class ShareLinks(models.QuerySet["ShareLink"]):
    def live(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)

    def of(self, secret: str) -> "ShareLink | None":
        """The live link with this secret."""
        return self.live().select_related("plan").filter(secret_hash=hashed(secret)).first()


class ShareLink(models.Model):
    """Whoever has it may read the plan's newest version. Only the hashes of its secret and password are kept."""

    plan = models.ForeignKey(SavedPlan, on_delete=models.CASCADE, related_name="links")
    secret_hash = models.CharField(max_length=HASH_LENGTH, unique=True)
    label = models.CharField(max_length=80, blank=True)
    password = models.CharField(max_length=128, blank=True)
    made_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)

    objects = ShareLinks.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.label or f"link {self.pk}"


class Comment(models.Model):
    """What somebody said about a plan, while `version` was its newest."""

    plan = models.ForeignKey(SavedPlan, on_delete=models.CASCADE, related_name="comments")
    version = models.PositiveIntegerField()
    author = models.ForeignKey(User, on_delete=models.CASCADE, related_name="comments")
    created_at = models.DateTimeField(default=timezone.now)
    text = models.TextField(max_length=4_000)

    class Meta:
        ordering: ClassVar = ["created_at", "pk"]

    def __str__(self) -> str:
        return f"comment {self.pk}"


class Mentions(models.QuerySet["Mention"]):
    def unread_by(self, user: User) -> Self:
        """What `user` was mentioned in, has not seen, and may still see."""
        seen = SavedPlan.objects.seen_by(user).filter(pk=OuterRef("comment__plan_id"))
        return self.filter(Exists(seen), user=user, read_at=None)


class Mention(models.Model):
    """Somebody's @name in a comment. Read once the plan's page was opened."""

    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="mentions")
    read_at = models.DateTimeField(null=True)

    objects = Mentions.as_manager()

    class Meta:
        ordering: ClassVar = ["-comment__created_at", "-pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["comment", "user"], name="one_mention_in_a_comment")]

    def __str__(self) -> str:
        return f"mention of {self.user}"
