"""Labels: a few short words that people put on a plan, in one column that a database can search."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from django.db import models

from planner.core.errors import InputError, one_line

MAX_LABELS: Final = 20
MAX_LENGTH: Final = 60


def read_labels(text: str, *, field: str) -> tuple[str, ...]:
    """The labels in `production, rack 4`, each once and in the order given. Raises InputError for too many or too long ones."""
    labels = tuple(dict.fromkeys(label for part in text.split(",") if (label := one_line(part))))
    if len(labels) > MAX_LABELS:
        raise InputError(f"These are {len(labels)} labels: keep to {MAX_LABELS}.", field=field)
    longest = max(labels, key=len, default="")
    if len(longest) > MAX_LENGTH:
        raise InputError(f"“{longest[:MAX_LENGTH]}…” is longer than {MAX_LENGTH} characters.", field=field)
    return labels


def found_by(label: str) -> str:
    """The text to look for in the column for plans with exactly this label."""
    return f"\n{label}\n"


if TYPE_CHECKING:
    _TextField = models.TextField[Iterable[str], tuple[str, ...]]
else:
    _TextField = models.TextField


class LabelsField(_TextField):
    """A tuple of labels, stored with a line break on both sides of each."""

    def from_db_value(self, value: str | None, *_: object) -> tuple[str, ...]:
        return tuple((value or "").split("\n")[1:-1])

    def to_python(self, value: Any) -> tuple[str, ...]:
        """Labels from the text that is stored, as a back-up has it, or from labels."""
        return self.from_db_value(value) if isinstance(value, str) else tuple(value or ())

    def value_to_string(self, obj: models.Model) -> str:
        return self.get_prep_value(self.value_from_object(obj))

    def get_prep_value(self, value: Iterable[str] | str | None) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        return "".join(f"\n{label}" for label in value) + "\n" if value else ""
