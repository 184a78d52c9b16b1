"""What every test stands on: no network beyond this machine, no clock, and a database as a site has it."""

import os
import socket
from collections.abc import Iterator

import pytest
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.db import connection
from django.test import override_settings
from hypothesis import settings

from scripts.services import OWN

# How long one example takes says something of the machine, nothing of the code.
settings.register_profile("exploring", deadline=None)
# The same examples for the same code, so that what is green stays green; `--hypothesis-profile=exploring` looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

_LOOPBACK = {"127.0.0.1", "::1", "localhost", ""}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs a database: `make test` runs it on SQLite and once more on PostgreSQL."""
    for item in items:
        if item.get_closest_marker("django_db") or {"db", "transactional_db"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.database)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file, as a site has it: in memory SQLite knows no second writer, and nothing of WAL."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_looked_up_when_asked_for() -> Iterator[None]:
    """Each test client would otherwise look through all of them first, which takes longer than most of the pages."""
    with override_settings(WHITENOISE_AUTOREFRESH=True):
        yield


@pytest.fixture(autouse=True)
def _nothing_of_another_test_in_the_cache_server() -> None:
    """The database forgets with each test what it counted and cached; a server does not."""
    if isinstance(caches["default"], RedisCache):
        assert OWN in os.environ, "CACHE_URL names a server that these tests did not start: they would empty it"
        caches["default"].clear()


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere but loopback fails the test that makes it."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and str(address[0]) not in _LOOPBACK:
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
