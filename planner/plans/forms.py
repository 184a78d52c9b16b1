"""What people type about a plan, beside the planner's own inputs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from planner.accounts.forms import OneLine
from planner.accounts.models import Team
from planner.core.errors import InputError
from planner.plans.labels import read_labels
from planner.plans.models import Version
from planner.plans.notes import MAX_NOTES


class Labels(forms.CharField):
    """Labels with commas between them."""

    def __init__(self, *, name: str, **options: Any) -> None:
        super().__init__(required=False, max_length=2_000, **options)
        self.name = name

    def clean(self, value: Any) -> tuple[str, ...]:
        try:
            return read_labels(str(super().clean(value)), field=self.name)
        except InputError as refused:
            raise ValidationError(str(refused)) from None


class SaveForm(forms.Form):
    """`teams` are those that a new plan may be saved in; a plan that is there stays where it is."""

    title = OneLine(label="Title", max_length=120)
    notes = forms.CharField(
        label="Notes",
        required=False,
        max_length=MAX_NOTES,
        help_text="For whoever reads it later. Markdown: **bold**, lists, tables, links.",
        widget=forms.Textarea(attrs={"rows": 6}),
    )
    tags = Labels(name="tags", label="Tags", help_text="With commas between them: production, chat.")
    owned = Labels(name="owned", label="Hardware you own", help_text="Labels for it: rack 4, 2 × RTX 3090.")
    team = forms.ChoiceField(label="Keep it", required=False)

    def __init__(self, *args: Any, teams: Sequence[Team] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if teams:
            chosen = self.fields["team"]
            assert isinstance(chosen, forms.ChoiceField)  # noqa: S101 (for the type checker)
            chosen.choices = [("", "for myself"), *((team.public_id, f"in {team.name}") for team in teams)]
        else:
            del self.fields["team"]


def initial_of(version: Version) -> dict[str, str]:
    """A version's own words, to begin with."""
    return {"title": version.title, "notes": version.notes, "tags": ", ".join(version.tags), "owned": ", ".join(version.owned)}


_LASTS: Final = {"": "until revoked", "1": "for a day", "7": "for a week", "30": "for 30 days", "90": "for 90 days"}


class ShareForm(forms.Form):
    label = OneLine(label="For whom", required=False, max_length=80, help_text="Only for your own list.")
    days = forms.ChoiceField(label="It works", required=False, choices=list(_LASTS.items()))
    password = forms.CharField(
        label="Password",
        required=False,
        min_length=8,
        max_length=200,
        help_text="Tell it by another way than the link.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None


class PasswordForm(forms.Form):
    password = forms.CharField(label="Password", max_length=200, strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "off"}))
