"""A new release's migrations run while the old release serves: they add, and what they add the old release need not know."""

import pytest
from django.apps import apps
from django.db import models
from django.db.migrations import Migration, operations
from django.db.migrations.loader import MigrationLoader
from django.db.models import NOT_PROVIDED

OURS = sorted(config.label for config in apps.get_app_configs() if config.name.startswith("planner."))
TAKES_AWAY = (operations.DeleteModel, operations.RenameModel, operations.RenameField, operations.RemoveField, operations.AlterModelTable)
# A migration that needs a pause, as CHANGELOG.md says under "Upgrading": (app, name).
WITH_A_PAUSE: set[tuple[str, str]] = set()


def later() -> list[Migration]:
    """Those after an app's first, which no older release has a table for."""
    found = MigrationLoader(None).disk_migrations
    return [found[key] for key in sorted(found) if key[0] in OURS and not found[key].initial and key not in WITH_A_PAUSE]


def refused(operation: operations.base.Operation) -> str | None:
    """Why the release before could not go on beside `operation`, None where it can."""
    if isinstance(operation, TAKES_AWAY):
        return "takes away what the release before still reads"
    if isinstance(operation, operations.AddField):
        field = operation.field
        if not (field.null or field.many_to_many or field.db_default is not NOT_PROVIDED):
            return "adds a column that the release before leaves empty: give it null=True or db_default"
    return None


def test_the_release_before_can_go_on_while_a_migration_runs() -> None:
    found = {
        f"{each.app_label}.{each.name}: {operation.describe()}": refused(operation) for each in later() for operation in each.operations
    }
    assert {name: why for name, why in found.items() if why} == {}


def test_what_would_stop_it_is_recognised() -> None:
    field = models.IntegerField
    assert refused(operations.RemoveField("plan", "title"))
    assert refused(operations.AddField("plan", "size", field(default=0))), "Django drops a default of Python's after the column is added"
    assert refused(operations.AddField("plan", "size", field(null=True))) is None
    assert refused(operations.AddField("plan", "size", field(db_default=0))) is None
    assert refused(operations.RenameField("plan", "title", "name"))


@pytest.mark.parametrize("app", OURS)
def test_an_apps_first_migration_says_that_it_is(app: str) -> None:
    found = MigrationLoader(None).disk_migrations
    assert all(found[key].initial is True for key in found if key[0] == app and key[1].startswith("0001"))
