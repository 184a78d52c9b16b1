"""People and teams: who there is, who belongs together, and who was asked to join."""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.contrib.auth.models import AbstractUser, UserManager
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from planner.accounts.keys import HASH_LENGTH, PUBLIC_LENGTH, new_public_id
from planner.accounts.roles import Role

INVITATION_LASTS = timedelta(days=14)


class Users(UserManager["User"]):
    """Addresses are stored in lower case, so that one person cannot have two accounts by accident."""

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=(username or "").lower())

    def create_user(  # type: ignore[override]  # the address is what identifies people here
        self, email: str, password: str | None = None, **fields: Any
    ) -> "User":
        person = self.model(email=email.lower(), **fields)
        person.set_password(password)
        person.save(using=self._db)
        return person

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":  # type: ignore[override]
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractUser):
    """Logs in with the mail address; `username` is the name that others see and mention with @."""

    username = models.CharField(
        "name",
        max_length=40,
        unique=True,
        help_text="What your team sees, and how it mentions you: letters, digits, dots and dashes.",
        validators=[RegexValidator(r"\A[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z", "Use letters, digits, dots and dashes.")],
        error_messages={"unique": "This name is taken."},
    )
    email = models.EmailField("mail address", unique=True, error_messages={"unique": "This address cannot be used for a new account."})

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["username"]

    objects: ClassVar[Users] = Users()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(email=Lower("email")), name="email_in_lower_case"),
            models.UniqueConstraint(Lower("username"), name="username_once_in_any_case", violation_error_message="This name is taken."),
        ]

    def __str__(self) -> str:
        return self.username


class Teams(models.QuerySet["Team"]):
    def seen_by(self, user: Any) -> Self:
        """The teams that `user` belongs to, each with the `role` in it."""
        if not user.is_authenticated:
            return self.none()
        return self.filter(memberships__user=user).annotate(role=models.F("memberships__role"))

    def edited_by(self, user: User) -> Self:
        return self.filter(memberships__user=user, memberships__role__gte=Role.EDITOR)


class Team(models.Model):
    """People who keep plans together. `people` are its members."""

    public_id = models.CharField(max_length=PUBLIC_LENGTH, unique=True, default=new_public_id, editable=False)
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(default=timezone.now)
    people = models.ManyToManyField(User, through="Membership", related_name="teams")
    role: int  # the reader's, where `seen_by` found the team

    objects = Teams.as_manager()

    class Meta:
        ordering: ClassVar = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.PositiveSmallIntegerField(choices=Role.choices, default=Role.READER)
    joined_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-role", "joined_at", "pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "user"], name="one_membership_each")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


def invitation_ends() -> datetime:
    return timezone.now() + INVITATION_LASTS


class Invitations(models.QuerySet["Invitation"]):
    def open(self) -> Self:
        return self.filter(accepted_at=None, expires_at__gt=timezone.now())


class Invitation(models.Model):
    """Asks one person to join: a team, or (`team` is None) only the site. Who has the link may accept it once."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="invitations")
    role = models.PositiveSmallIntegerField(choices=Role.choices, default=Role.READER)
    email = models.EmailField(blank=True)
    secret_hash = models.CharField(max_length=HASH_LENGTH, unique=True)
    invited_by = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(default=invitation_ends)
    accepted_at = models.DateTimeField(null=True)

    objects = Invitations.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"invitation to {self.team or 'the site'}"


class TeamDevice(models.Model):
    """A device that the team owns or can buy: what it has of it, and what one costs it."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="devices")
    device = models.CharField(max_length=80, help_text="A name of the catalogue, such as rtx-4090.")
    owned = models.PositiveIntegerField(default=0)
    price = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)])
    currency = models.CharField(
        max_length=3, default="EUR", validators=[RegexValidator(r"\A[A-Z]{3}\Z", "Three capital letters, such as EUR.")]
    )

    class Meta:
        ordering: ClassVar = ["device"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "device"], name="each_device_once_in_a_team")]

    def __str__(self) -> str:
        return self.device


class Tokens(models.QuerySet["Token"]):
    def live(self) -> Self:
        return self.filter(models.Q(expires_at=None) | models.Q(expires_at__gt=timezone.now()), revoked_at=None)


class Token(models.Model):
    """Lets a program call the API as `user`, for what `scopes` name. Only its hash is kept; `prefix` is for people to tell it by."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    scopes = models.JSONField()
    prefix = models.CharField(max_length=20)
    secret_hash = models.CharField(max_length=HASH_LENGTH, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)

    objects = Tokens.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
