"""Saving: a new plan, a new version of one, an old version restored. Of two who save at once, one is told."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from planner.accounts.models import Team, User
from planner.core.errors import InputError
from planner.plans.changes import changed_inputs, changed_labels, changed_results
from planner.plans.models import SavedPlan, Version
from planner.plans.record import Made

MAX_PLANS: Final = 5_000
MAX_VERSIONS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Content:
    """What somebody saves, beside the answer that it gave."""

    title: str
    inputs: Mapping[str, str]
    notes: str = ""
    tags: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()


class Conflict(Exception):  # noqa: N818 (it is no error: somebody was faster)
    """Somebody saved since `base` was read. Nothing was changed; `newest` is what is there now."""

    def __init__(self, *, base: Version | None, newest: Version) -> None:
        super().__init__(f"version {newest.number} is there already")
        self.base, self.newest = base, newest


def content_of(version: Version) -> Content:
    return Content(version.title, version.inputs, version.notes, version.tags, version.owned)


def made_of(version: Version) -> Made:
    return Made(version.result, version.application, version.catalog, version.engine)


def save_new(author: User, content: Content, made: Made, *, team: Team | None = None, change: str = "saved") -> SavedPlan:
    """A plan of `team`, or of `author` alone. Raises InputError where there are too many."""
    _check(content)
    check_room(team, author)
    with transaction.atomic():
        plan = SavedPlan.objects.create(team=team, owner=None if team else author)
        _version(plan, 1, author, content, made, changes=[change])
    return plan


def check_room(team: Team | None, person: User) -> None:
    """Raises InputError where `team`, or without one `person`, keeps as many plans as one may."""
    kept = SavedPlan.objects.filter(team=team) if team else SavedPlan.objects.filter(owner=person)
    if kept.count() >= MAX_PLANS:
        raise InputError(f"{MAX_PLANS:,} plans are kept there: delete some first.", field="title")


def save_version(plan: SavedPlan, author: User, content: Content, made: Made, *, base: int, restored_from: int | None = None) -> Version:
    """The version after `base`. Raises Conflict where `base` is not the newest any more, InputError where there are too many.

    The comparison is part of the one UPDATE that takes the next number, so that it holds whatever others do meanwhile: PostgreSQL
    looks at the row again after waiting for who changes it, and SQLite has one writer at a time.
    """
    _check(content)
    if base >= MAX_VERSIONS:
        raise InputError(f"This plan has {MAX_VERSIONS:,} versions: go on with a copy.", field="title")
    with transaction.atomic():
        taken = SavedPlan.objects.filter(pk=plan.pk, head=base).update(head=F("head") + 1, updated_at=timezone.now())
        if taken:
            before = Version.objects.get(plan=plan, number=base)
            told = list(changes(before, content, made, restored_from=restored_from))
            return _version(plan, base + 1, author, content, made, changes=told, restored_from=restored_from)
    newest = Version.objects.newest().select_related("author").get(plan=plan)
    raise Conflict(base=Version.objects.filter(plan=plan, number=base).first(), newest=newest)


def approve(version: Version, user: User | None) -> None:
    """Marks a version as approved by `user`, or (None) takes the mark away."""
    Version.objects.filter(pk=version.pk).update(approved_by=user, approved_at=timezone.now() if user else None)


def copied(version: Version) -> Content:
    return replace(content_of(version), title=f"Copy of {version.title}"[:120])


def _version(
    plan: SavedPlan, number: int, author: User, content: Content, made: Made, *, changes: list[str], restored_from: int | None = None
) -> Version:
    return Version.objects.create(
        plan=plan,
        number=number,
        author=author,
        title=content.title,
        notes=content.notes,
        tags=content.tags,
        owned=content.owned,
        inputs=dict(content.inputs),
        result=dict(made.result),
        application=made.application,
        catalog=made.catalog,
        engine=made.engine,
        changes=changes,
        restored_from=restored_from,
    )


def changes(before: Version, content: Content, made: Made, *, restored_from: int | None = None) -> Iterator[str]:
    """What is different in `content` from `before`, in words."""
    if restored_from:
        yield f"version {restored_from} restored"
    if content.title != before.title:
        yield f"title “{before.title}” → “{content.title}”"
    yield from map(str, changed_inputs(before.inputs, content.inputs))
    yield from map(str, changed_results(before.result, made.result))
    if content.notes != before.notes:
        yield "notes changed"
    yield from changed_labels("tags", before.tags, content.tags)
    yield from changed_labels("owned", before.owned, content.owned)


def _check(content: Content) -> None:
    """No database of ours holds a NUL in text."""
    for name, text in content.inputs.items():
        if "\0" in text:
            raise InputError("This has a character that cannot be kept: type it again.", field=name)
