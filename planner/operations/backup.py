"""Back-ups: every row as a line of JSON, which SQLite and PostgreSQL both read; written and read one row at a time.

The file is gzip. Its first line says what it is and at which migrations, its last how many rows there are and their SHA-256, so that
a file that was cut off or changed is refused before anything is believed. Sessions, counts, the cache and answers that are kept for
repeated calls are left out: restoring must not log in again who was logged out since, nor say of a plan that it is saved.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from typing import IO, Any, Final

from django.apps import apps
from django.core import serializers
from django.core.cache import cache
from django.core.management.color import no_style
from django.core.serializers.base import DeserializationError
from django.db import DatabaseError, connection, models, transaction
from django.db.migrations.recorder import MigrationRecorder
from redis.exceptions import RedisError

import planner

FORMAT: Final = "slotwise back-up 1"
LEFT_OUT: Final = frozenset({"sessions.session", "operations.count", "operations.cacheentry", "api.keptanswer"})
# A saved plan with its result takes a few hundred kilobytes at most.
LONGEST_LINE: Final = 64 * 2**20
_ROWS_AT_ONCE: Final = 200


class BackupError(Exception):
    """Why nothing was restored, in a sentence for the operator."""


def write_backup(file: IO[bytes]) -> int:
    """Writes every kept row as of one moment into `file`; how many there are. Others may go on writing meanwhile."""
    digest, rows = hashlib.sha256(), 0
    with _one_moment(), gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(_line({"format": FORMAT, "version": planner.VERSION, "migrations": _migrations()}))
        for model in _kept():
            for row in model._base_manager.order_by("pk").iterator(chunk_size=_ROWS_AT_ONCE):
                line = _line(serializers.serialize("python", [row])[0])
                digest.update(line)
                packed.write(line)
                rows += 1
        packed.write(_line({"rows": rows, "sha256": digest.hexdigest()}))
    return rows


def restore_backup(file: IO[bytes]) -> int:
    """Puts the rows of a back-up in the place of all rows that are there; how many. All or nothing. Raises BackupError."""
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as packed:
            lines = _lines(packed)
            _check_first(next(lines, b""))
            with transaction.atomic():
                _empty()
                rows = _put_back(lines)
                _continue_numbers()
    except (OSError, EOFError, zlib.error) as error:
        raise BackupError(f"The file cannot be read to its end, so nothing was restored: {error.__cause__ or error}") from error
    except DatabaseError as error:
        raise BackupError(f"The database refused a row, so nothing was restored: {error.__cause__ or error}") from error
    try:
        cache.clear()  # a cache server may hold log-ins of the rows that are gone
    except RedisError as error:
        raise BackupError(
            "Everything is restored, but the cache server does not answer: empty it before the site starts, or log-ins of before live on."
        ) from error
    return rows


def is_empty() -> bool:
    """Whether nobody has kept anything yet: no row but those that `migrate` itself writes."""
    made_by_migrate = {"contenttypes", "auth"}
    return not any(model._base_manager.exists() for model in _kept() if model._meta.app_label not in made_by_migrate)


def _kept() -> list[type[models.Model]]:
    return [
        model for model in apps.get_models() if model._meta.managed and not model._meta.proxy and model._meta.label_lower not in LEFT_OUT
    ]


def _migrations() -> list[list[str]]:
    return sorted([app, name] for app, name in MigrationRecorder(connection).applied_migrations())


@contextmanager
def _one_moment() -> Iterator[None]:
    """Reads inside see one state of the database. On SQLite without Django's BEGIN IMMEDIATE, which would keep writers out."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("ROLLBACK")
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def _line(told: dict[str, Any]) -> bytes:
    """ASCII, so that a line of the file is a line to every reader."""
    return json.dumps(told, default=_text).encode() + b"\n"


def _text(value: object) -> str:
    # Django's own JSON cuts a time to milliseconds.
    return value.isoformat() if isinstance(value, datetime | date | time) else str(value)


def _lines(packed: gzip.GzipFile) -> Iterator[bytes]:
    while line := packed.readline(LONGEST_LINE):
        if not line.endswith(b"\n"):
            raise BackupError("The file ends within a line or has one of more than 64 MiB, so nothing was restored.")
        yield line


def _object(line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        told = None
    return told if isinstance(told, dict) else {}


def _check_first(line: bytes) -> None:
    told = _object(line)
    if told.get("format") != FORMAT:
        raise BackupError("This is not a back-up of Slotwise that this release can read.")
    if told.get("migrations") != _migrations():
        raise BackupError(
            f"The back-up was made by Slotwise {told.get('version')} and the database is at other migrations than its: "
            f"install that version, run manage.py migrate, restore, and upgrade then."
        )


def _empty() -> None:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    kept = [name for name in tables if name != MigrationRecorder.Migration._meta.db_table]
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), kept, allow_cascade=True))


def _put_back(lines: Iterator[bytes]) -> int:
    """Inserts row after row and holds the last line against them."""
    digest, allowed = hashlib.sha256(), {model._meta.label_lower for model in _kept()}
    for rows, line in enumerate(lines):
        told = _object(line)
        if "sha256" in told:
            if (told.get("rows"), told["sha256"]) != (rows, digest.hexdigest()) or next(lines, None) is not None:
                raise BackupError("The file is not as it was written, so nothing was restored.")
            return rows
        if told.get("model") not in allowed:
            raise BackupError(f"Row {rows + 1:,} belongs to no table of this release, so nothing was restored.")
        try:
            for row in serializers.deserialize("python", [told]):
                row.save(force_insert=True)  # references to rows that come later are checked when all are there
        except (DeserializationError, ValueError, TypeError, KeyError) as error:
            raise BackupError(f"Row {rows + 1:,} cannot be read, so nothing was restored: {error.__cause__ or error}") from error
        digest.update(line)
    raise BackupError("The file was cut off, so nothing was restored.")


def _continue_numbers() -> None:
    """The next new row gets a number that none has."""
    statements = connection.ops.sequence_reset_sql(no_style(), _kept())
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
