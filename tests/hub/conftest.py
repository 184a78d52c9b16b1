"""The stand-in Hub as a fixture, and a client for it."""

from collections.abc import Iterator

import pytest

from planner.hub import Hub
from tests.hub.stand_in import StandIn, stand_in


@pytest.fixture
def server() -> Iterator[StandIn]:
    with stand_in() as running:
        yield running


@pytest.fixture
def hub(server: StandIn) -> Hub:
    return Hub(endpoint=server.url, timeout_seconds=5.0)
