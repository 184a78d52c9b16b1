"""DATABASE_URL and CACHE_URL: one address each, read strictly, in the form that Django's settings want."""

from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

POSTGRESQL_SCHEMES: Final = frozenset({"postgres", "postgresql"})
# Valkey speaks Redis' protocol; the client knows it by Redis' names.
REDIS_SCHEMES: Final = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss", "unix": "unix"}
# libpq's own words, those that concern the way to the server (PostgreSQL 17, "Parameter Key Words").
POSTGRESQL_OPTIONS: Final = frozenset(
    {"sslmode", "sslrootcert", "sslcert", "sslkey", "channel_binding", "connect_timeout", "target_session_attrs"}
)
# A process keeps its connections this long and asks whether they still live before each use: a restarted server is noticed, not fatal.
CONNECTION_SECONDS: Final = 300
CONNECT_SECONDS: Final = 5
# Redis answers in well under a millisecond; a page does not wait longer than this for one that does not.
CACHE_SECONDS: Final = 2
CACHE_TABLE: Final = "operations_cache"


def database(url: str, *, sqlite_path: str) -> dict[str, Any]:
    """The default database: the SQLite file where `url` is empty. Raises ImproperlyConfigured, never with a password in it."""
    if not url:
        return _sqlite(sqlite_path)
    parts = _split(url, "DATABASE_URL")
    if parts.scheme == "sqlite":
        if parts.netloc or not parts.path.strip("/") or parts.query:
            raise ImproperlyConfigured(
                "DATABASE_URL: write sqlite:///file.sqlite3, or sqlite:////srv/slotwise/file.sqlite3 for a full path."
            )
        return _sqlite(unquote(parts.path.removeprefix("/")))
    if parts.scheme not in POSTGRESQL_SCHEMES:
        raise ImproperlyConfigured(
            f"DATABASE_URL starts with “{parts.scheme}”: write postgres://user:password@host:5432/name or sqlite:///file.sqlite3."
        )
    return _postgresql(parts)


def cache(url: str) -> dict[str, Any]:
    """The default cache: a table of the database, or a Redis or Valkey server. Raises ImproperlyConfigured."""
    if url == "database":
        return {
            "BACKEND": "django.core.cache.backends.db.DatabaseCache",
            "LOCATION": CACHE_TABLE,
            "OPTIONS": {"MAX_ENTRIES": 10_000},
        }
    parts = _split(url, "CACHE_URL")
    if parts.scheme not in REDIS_SCHEMES or not (parts.hostname or parts.scheme == "unix"):
        raise ImproperlyConfigured("CACHE_URL: write database, redis://host:6379/0, valkey://host:6379/0 or unix:///run/redis/redis.sock.")
    connecting = {} if parts.scheme == "unix" else {"socket_connect_timeout": CACHE_SECONDS}
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_SCHEMES[parts.scheme] + url[len(parts.scheme) :],
        "KEY_PREFIX": "slotwise",
        "OPTIONS": {"socket_timeout": CACHE_SECONDS, "health_check_interval": 30} | connecting,
    }


def session_engine(cache_url: str) -> str:
    """Sessions live in the database; a cache server spares reading them from there, and may be emptied without logging anybody out."""
    return "django.contrib.sessions.backends.db" if cache_url == "database" else "planner.operations.sessions"


def _split(url: str, name: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is no address: a port is a number up to 65535, and an IPv6 host stands in brackets.") from error
    return parts


def _sqlite(path: str) -> dict[str, Any]:
    folder = Path(path).parent
    if path != ":memory:" and not folder.is_dir():
        raise ImproperlyConfigured(f"The folder of the database file does not exist: {folder}")
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA busy_timeout=5000",
        },
    }


def _postgresql(parts: SplitResult) -> dict[str, Any]:
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise ImproperlyConfigured("DATABASE_URL names no database: it ends in /name, as in postgres://user:password@host:5432/name.")
    try:
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise ImproperlyConfigured("DATABASE_URL: what follows the ? is name=value, joined by &.") from error
    if unknown := sorted(options.keys() - POSTGRESQL_OPTIONS):
        raise ImproperlyConfigured(f"DATABASE_URL: {', '.join(unknown)}: known are {', '.join(sorted(POSTGRESQL_OPTIONS))}.")
    # Not `hostname`, which is in lower case: a percent-encoded folder is the place of a socket, as libpq has it.
    host = parts.netloc.rpartition("@")[2]
    host = host if host.startswith("[") else host.partition(":")[0]
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or "") if host.startswith("[") else unquote(host),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": CONNECTION_SECONDS,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": str(CONNECT_SECONDS), "application_name": "slotwise", **options},
    }
