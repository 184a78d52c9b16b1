"""What every test stands on: no network beyond this machine, and no clock."""

import socket

import pytest
from hypothesis import settings

# How long one example takes says something of the machine, nothing of the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

_LOOPBACK = {"127.0.0.1", "::1", "localhost", ""}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere but loopback fails the test that makes it."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and str(address[0]) not in _LOOPBACK:
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
