"""DATABASE_URL and CACHE_URL: what each form means to Django, and a sentence without a password for what means nothing."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from planner.operations.addresses import cache, database, session_engine


def test_without_an_address_the_database_is_the_sqlite_file_with_wal_and_immediate_transactions(tmp_path: Path) -> None:
    found = database("", sqlite_path=str(tmp_path / "plans.sqlite3"))
    assert found["ENGINE"] == "django.db.backends.sqlite3"
    assert found["NAME"] == str(tmp_path / "plans.sqlite3")
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=5000"):
        assert pragma in found["OPTIONS"]["init_command"]


def test_a_sqlite_address_names_a_file(tmp_path: Path) -> None:
    assert database(f"sqlite:///{tmp_path}/a%20b.sqlite3", sqlite_path="unused")["NAME"] == f"{tmp_path}/a b.sqlite3"
    assert database("sqlite:///plans.sqlite3", sqlite_path="unused")["NAME"] == "plans.sqlite3"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://ann:s3cr%40t@db.internal:5433/plans", ("ann", "s3cr@t", "db.internal", "5433", "plans")),
        ("postgresql://ann@db/plans", ("ann", "", "db", "", "plans")),
        ("postgres:///plans", ("", "", "", "", "plans")),
        ("postgres://ann@[::1]:5432/plans", ("ann", "", "::1", "5432", "plans")),
        # A percent-encoded folder is the place of a socket; its capitals matter.
        ("postgres://ann@%2Fvar%2Frun%2FPg/plans", ("ann", "", "/var/run/Pg", "", "plans")),
    ],
)
def test_a_postgresql_address_is_taken_apart(url: str, expected: tuple[str, ...]) -> None:
    found = database(url, sqlite_path="unused")
    assert found["ENGINE"] == "django.db.backends.postgresql"
    assert tuple(found[key] for key in ("USER", "PASSWORD", "HOST", "PORT", "NAME")) == expected
    assert found["CONN_HEALTH_CHECKS"]
    assert found["CONN_MAX_AGE"] == 300
    assert found["OPTIONS"] == {"connect_timeout": "5", "application_name": "slotwise"}


def test_options_of_the_connection_follow_the_question_mark() -> None:
    options = database("postgres://ann@db/plans?sslmode=verify-full&sslrootcert=/etc/ca.pem", sqlite_path="unused")["OPTIONS"]
    assert options["sslmode"] == "verify-full"
    assert options["sslrootcert"] == "/etc/ca.pem"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://ann:hunter2@db/plans", "starts with “mysql”"),
        ("/srv/plans.sqlite3", "starts with “”"),
        ("sqlite:///", "sqlite:///file.sqlite3"),
        ("sqlite://plans.sqlite3", "sqlite:///file.sqlite3"),
        ("sqlite:////nowhere/at/all/plans.sqlite3", "folder of the database file does not exist"),
        ("postgres://ann:hunter2@db", "names no database"),
        ("postgres://ann:hunter2@db/a/b", "names no database"),
        ("postgres://ann:hunter2@db:port/plans", "no address"),
        ("postgres://ann:hunter2@[db/plans", "no address"),
        ("postgres://ann:hunter2@db/plans?sslmod=require", "sslmod: known are"),
        ("postgres://ann:hunter2@db/plans?sslmode", "name=value"),
    ],
)
def test_what_is_no_database_is_refused_without_its_password(url: str, told: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        database(url, sqlite_path="unused")
    assert told in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("redis://cache:6379/0", "redis://cache:6379/0"),
        ("rediss://:word@cache:6380/1", "rediss://:word@cache:6380/1"),
        ("valkey://cache:6379/0", "redis://cache:6379/0"),
        ("valkeys://cache:6379/0", "rediss://cache:6379/0"),
        ("unix:///run/valkey/valkey.sock", "unix:///run/valkey/valkey.sock"),
    ],
)
def test_a_cache_server_speaks_redis_protocol_and_spares_reading_sessions(url: str, location: str) -> None:
    found = cache(url)
    assert found["BACKEND"] == "django.core.cache.backends.redis.RedisCache"
    assert found["LOCATION"] == location
    assert found["OPTIONS"]["socket_timeout"] == 2
    assert session_engine(url) == "planner.operations.sessions"


def test_the_database_is_the_cache_that_any_two_processes_share() -> None:
    found = cache("database")
    assert found["BACKEND"] == "django.core.cache.backends.db.DatabaseCache"
    assert found["LOCATION"] == "operations_cache"
    assert session_engine("database") == "django.contrib.sessions.backends.db"


@pytest.mark.parametrize("url", ["", "memory", "memcached://cache", "redis://", "valkey:cache", "redis://:hunter2@cache:x/0"])
def test_what_is_no_cache_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="CACHE_URL") as refused:
        cache(url)
    assert "hunter2" not in str(refused.value)
