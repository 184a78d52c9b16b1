"""What the tests of the pages stand on: a Hub that nobody reaches, and pages read as text."""

import html
import re
from collections.abc import Callable

import pytest
from django.http import HttpResponse

from planner.hub import Hub
from planner.web import site


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port of this machine that nothing listens on stands for the Hub."""
    monkeypatch.setattr(site, "hub", lambda: Hub(endpoint="http://127.0.0.1:9", timeout_seconds=2))


@pytest.fixture
def text_of() -> Callable[[HttpResponse], str]:
    """What a reader sees of a page: its text, spaces collapsed."""

    def read(response: HttpResponse) -> str:
        return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())))

    return read
