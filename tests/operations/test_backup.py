"""Back-ups: what was written comes back whole, on either database, or nothing changes."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection
from django.http import HttpRequest
from django.test import Client
from redis.exceptions import RedisError

from planner.accounts.joining import make_team
from planner.accounts.models import Team, User
from planner.operations import backup
from planner.operations.models import Count
from planner.plans.models import SavedPlan, Version
from planner.plans.record import record
from planner.plans.saving import Content, save_new, save_version
from planner.plans.sharing import make_link
from planner.web.asking import ask
from scripts.web_processes import WebProcesses

INPUTS = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "users": "20"}

pytestmark = pytest.mark.django_db(transaction=True)

Spoil = Callable[[list[bytes]], list[bytes]]


@pytest.fixture(autouse=True)
def _something_kept() -> None:
    ContentType.objects.all().delete()
    for number in range(1, 61):
        ContentType.objects.create(app_label="plans", model=f"“{number}”\n\x7f")
    Count.objects.create(key="of a moment", count=1, ends=1)


def kept() -> list[tuple[int, str, str]]:
    return list(ContentType.objects.order_by("pk").values_list("pk", "app_label", "model"))


def written() -> bytes:
    file = io.BytesIO()
    assert backup.write_backup(file) == sum(model._base_manager.count() for model in backup._kept())
    return file.getvalue()


# As `manage.py shell` runs it on a database of another kind.
SAVES = """
from planner.accounts.models import User
from planner.plans.record import Made
from planner.plans.saving import Content, save_new
user = User.objects.create_user("ann@example.org", "three small green lamps", username="ann")
save_new(user, Content("From afar", {"model": "Qwen/Qwen3-8B"}), Made({"slots": 6}, "0.1.0", "2026-11-29", "vllm 0.33.0"))
"""


def lines(packed: bytes) -> list[bytes]:
    return gzip.decompress(packed).splitlines(keepends=True)


def test_what_was_kept_comes_back_as_it_was_and_the_rest_does_not() -> None:
    before, file = kept(), written()
    ContentType.objects.filter(model__contains="7").delete()
    ContentType.objects.create(app_label="later", model="gone again")
    backup.restore_backup(io.BytesIO(file))
    assert kept() == before
    assert not Count.objects.exists()


def test_the_next_row_gets_a_number_that_none_has() -> None:
    backup.restore_backup(io.BytesIO(written()))
    assert ContentType.objects.create(app_label="new", model="new").pk > max(pk for pk, _, _ in kept()[:-1])


def test_people_teams_plans_versions_and_links_come_back(client: Client) -> None:
    ann = User.objects.create_user("ann@example.org", "three small green lamps", username="ann")
    team = make_team(ann, "Lamps")
    answer = ask(INPUTS).answer
    assert answer
    made = record(answer)
    plan = save_new(ann, Content("“Chat” \u2028", INPUTS, "**notes**\n\x7f", ("a", "b"), ("rack 4",)), made, team=team)
    save_version(plan, ann, Content("Chat, larger", INPUTS | {"users": "30"}), made, base=1)
    _, secret = make_link(plan, ann)
    versions, file = list(Version.objects.values()), written()
    Team.objects.all().delete()
    User.objects.all().delete()
    backup.restore_backup(io.BytesIO(file))
    assert list(Version.objects.values()) == versions
    assert client.login(username="ann@example.org", password="three small green lamps", request=HttpRequest())
    assert client.get(f"/plans/{plan.public_id}/versions/1/").status_code == 200
    assert client.get(f"/s/{secret}/").status_code == 200
    again = SavedPlan.objects.get(pk=plan.pk)
    assert save_version(again, User.objects.get(), Content("Chat, later", INPUTS), made, base=2).number == 3


def test_a_back_up_of_a_site_on_sqlite_is_taken_back_by_this_database(tmp_path: Path) -> None:
    """The way from one machine to PostgreSQL, when the tests run on that."""
    away = WebProcesses({"DATABASE_URL": "", "CACHE_URL": "database", "SQLITE_PATH": str(tmp_path / "away.sqlite3")}, tmp_path / "log")
    away.manage("migrate", "--verbosity", "0")
    away.manage("shell", "--no-imports", "--command", SAVES)
    away.manage("backup", str(tmp_path / "away.jsonl.gz"))
    call_command("restore", str(tmp_path / "away.jsonl.gz"), "--replace")
    (version,) = Version.objects.all()
    assert (version.title, version.result, version.plan.owner) == ("From afar", {"slots": 6}, User.objects.get())


def test_what_is_there_is_not_lost_unasked(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl.gz"
    call_command("backup", str(file))
    User.objects.create_user("new@example.org", "three small green lamps", username="new")
    with pytest.raises(CommandError, match="say --replace"):
        call_command("restore", str(file))
    assert User.objects.count() == 1


def test_two_back_ups_of_the_same_rows_are_the_same_bytes() -> None:
    assert written() == written()


def test_the_first_line_says_what_it_is_and_the_last_how_much() -> None:
    first, *rows, last = (json.loads(line) for line in lines(written()))
    assert first["format"] == "slotwise back-up 1"
    assert ["operations", "0001_shared_tables"] in first["migrations"]
    assert last["rows"] == len(rows)
    assert {row["model"] for row in rows} & backup.LEFT_OUT == set()


def test_every_table_is_kept_or_left_out_by_name() -> None:
    named = {model._meta.label_lower for model in apps.get_models()}
    assert named == {model._meta.label_lower for model in backup._kept()} | (backup.LEFT_OUT & named)


SPOILS: dict[str, tuple[Spoil, str]] = {
    "empty": (lambda _: [], "not a back-up"),
    "another file": (lambda _: [b'{"format": "other"}\n'], "not a back-up"),
    "no JSON": (lambda _: [b"PK\x03\x04\n"], "not a back-up"),
    "another release": (lambda found: [found[0].replace(b"0001_shared_tables", b"0002_later"), *found[1:]], "other migrations"),
    "cut off": (lambda found: found[:-1], "cut off"),
    "cut off within a line": (lambda found: [*found[:-2], found[-2][:20]], "ends within a line"),
    "a row is missing": (lambda found: [*found[:-2], found[-1]], "not as it was written"),
    "a row was changed": (lambda found: [found[0], found[1].replace(b"plans", b"plane"), *found[2:]], "not as it was written"),
    "a row comes twice": (lambda found: [found[0], found[1], *found[1:]], "refused a row"),
    "a row of no table": (
        lambda found: [found[0], b'{"model": "auth.nothing", "pk": 1, "fields": {}}\n', *found[1:]],
        "belongs to no table",
    ),
    "a row of a table that is left out": (
        lambda found: [found[0], b'{"model": "operations.count", "pk": "x", "fields": {"count": 1, "ends": 1}}\n', *found[1:]],
        "belongs to no table",
    ),
    "a field that is none": (
        lambda found: [found[0], b'{"model": "contenttypes.contenttype", "pk": "x", "fields": {}}\n', *found[1:]],
        "cannot be read",
    ),
    "more after the end": (lambda found: [*found, found[1]], "not as it was written"),
}


@pytest.mark.parametrize("name", SPOILS)
def test_a_file_that_is_not_as_it_was_written_changes_nothing(name: str) -> None:
    spoil, told = SPOILS[name]
    file = gzip.compress(b"".join(spoil(lines(written()))))
    ContentType.objects.filter(model__contains="7").delete()
    before = kept()
    with pytest.raises(backup.BackupError, match=told):
        backup.restore_backup(io.BytesIO(file))
    assert kept() == before


@pytest.mark.parametrize(
    "spoil", [lambda file: file[:-40], lambda _: b"", lambda _: b"not gzip", lambda file: file[:60] + b"\xff" * 9 + file[69:]]
)
def test_a_file_that_is_damaged_changes_nothing(spoil: Callable[[bytes], bytes]) -> None:
    file, before = spoil(written()), kept()
    with pytest.raises(backup.BackupError):
        backup.restore_backup(io.BytesIO(file))
    assert kept() == before


def test_the_commands_write_a_private_file_and_ask_before_they_replace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, before = tmp_path / "all.jsonl.gz", kept()
    call_command("backup", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["all.jsonl.gz"]
    ContentType.objects.all().delete()
    call_command("restore", str(file), "--replace")
    assert kept() == before
    assert "rows" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["backup", "/nowhere/at/all.gz"], ["restore", "/nowhere/at/all.gz"]])
def test_a_file_that_cannot_be_is_one_sentence(command: list[str]) -> None:
    with pytest.raises(CommandError, match=r"/nowhere/at/all.gz cannot be (read|written)"):
        call_command(*command)


def test_others_may_write_while_a_back_up_reads() -> None:
    """On SQLite a second connection would wait five seconds for its lock and fail."""
    other = connection.copy()
    try:
        with backup._one_moment():
            count = ContentType.objects.count()
            with other.cursor() as cursor:
                cursor.execute("INSERT INTO django_content_type (app_label, model) VALUES ('other', 'writer')")
            assert ContentType.objects.count() == count, "and the back-up does not see it"
        assert ContentType.objects.count() == count + 1
    finally:
        other.close()


def test_a_cache_server_that_is_away_is_said_after_the_rows_are_back(monkeypatch: pytest.MonkeyPatch) -> None:
    file, before = written(), kept()
    ContentType.objects.all().delete()

    def away() -> None:
        raise RedisError("away")

    monkeypatch.setattr(backup.cache, "clear", away)
    with pytest.raises(backup.BackupError, match="restored, but the cache server does not answer"):
        backup.restore_backup(io.BytesIO(file))
    assert kept() == before
