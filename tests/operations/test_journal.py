"""Log lines: one for each request, under an id, as JSON or text; nothing in them that is a secret or that starts a line of its own."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from django.conf import settings as site
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

from planner.operations.journal import REQUEST_ID
from planner.operations.log_lines import JsonLines, TextLines, WithoutAddresses
from planner.urls import urlpatterns as of_the_site

HIDDEN = "wJalrXUtnFEMIK7MDENGbPxRfiCY"


def broken(request: HttpRequest, token: str) -> HttpResponse:
    raise ZeroDivisionError(f"{len(token)}")


def hidden(request: HttpRequest, token: str) -> HttpResponse:
    logging.getLogger("planner.test").warning("seen from\nwithin")
    return HttpResponse("ok")


urlpatterns = [*of_the_site, path("s/<str:token>/", hidden), path("broken/<str:token>/", broken)]
handler500 = "planner.operations.outage.failed"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the console would show, as JSON."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(WithoutAddresses())
    root = logging.getLogger()
    root.addHandler(handler)
    yield stream
    root.removeHandler(handler)


def told(lines: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_a_request_is_one_line_with_its_route_status_and_time(client: Client, lines: io.StringIO) -> None:
    response = client.get("/guide/slow-first-word/?model=x", HTTP_X_REQUEST_ID="proxy-0123456789")
    assert response["X-Request-ID"] == "proxy-0123456789"
    (line,) = told(lines)
    assert line["message"] == "answered"
    assert line["request_id"] == "proxy-0123456789"
    assert line["method"] == "GET"
    assert line["route"] == "/guide/<slug:slug>/"
    assert line["status"] == response.status_code
    assert line["client"] == "127.0.0.1"
    assert float(str(line["milliseconds"])) >= 0


@pytest.mark.parametrize(
    "given", ["", "short", "a" * 65, "id with spaces", "id\tid\tid\t", "<script>alert(1)</script>", "id;drop-table", "idé-0123456"]
)
def test_an_id_that_could_do_harm_is_replaced(client: Client, given: str) -> None:
    made = client.get("/healthz", HTTP_X_REQUEST_ID=given)["X-Request-ID"]
    assert made != given
    assert len(made) == 32


def test_ids_differ_and_end_with_their_request(client: Client) -> None:
    assert client.get("/healthz")["X-Request-ID"] != client.get("/healthz")["X-Request-ID"]
    assert REQUEST_ID.get() == "-"


@pytest.fixture
def _pages_of_this_test(settings: Settings) -> None:
    """Served without the site's permissions, which know no such pages."""
    settings.ROOT_URLCONF = "tests.operations.test_journal"
    settings.MIDDLEWARE = ["planner.operations.journal.request_line"]


@pytest.mark.usefixtures("_pages_of_this_test")
def test_every_line_of_a_request_carries_its_id_and_none_its_address(client: Client, lines: io.StringIO) -> None:
    made = client.get(f"/s/{HIDDEN}/?password={HIDDEN}")["X-Request-ID"]
    inner, outer = told(lines)
    assert inner["message"] == "seen from\nwithin"
    assert inner["request_id"] == outer["request_id"] == made
    assert outer["route"] == "/s/<str:token>/"
    assert HIDDEN not in lines.getvalue()


@pytest.mark.usefixtures("_pages_of_this_test")
def test_a_mistake_of_ours_is_logged_with_its_traceback_and_without_the_address(client: Client, lines: io.StringIO) -> None:
    client.raise_request_exception = False
    assert client.get(f"/broken/{HIDDEN}/").status_code == 500
    mistake, answered = told(lines)
    assert mistake["level"] == "ERROR"
    assert mistake["message"] == "Internal Server Error: /broken/<str:token>/"
    assert "ZeroDivisionError" in str(mistake["exception"])
    assert answered["status"] == 500
    assert HIDDEN not in lines.getvalue()


@pytest.mark.parametrize("address", [f"/nowhere/{HIDDEN}/", f"/startup/?{HIDDEN}", f"/config/?x={HIDDEN}"])
def test_what_is_refused_is_one_line_without_its_address(client: Client, lines: io.StringIO, address: str) -> None:
    assert client.get(address).status_code in {404, 405}
    assert len(told(lines)) == 1
    assert HIDDEN not in lines.getvalue()


def test_a_name_that_is_not_ours_is_one_quiet_line(client: Client, lines: io.StringIO) -> None:
    response = client.get("/", HTTP_HOST="evil.example")
    assert response.status_code == 400
    (line,) = told(lines)
    assert line["level"] == "INFO"
    assert line["host"] == "evil.example"
    assert line["status"] == 400
    assert "exception" not in line


def test_probes_are_quiet_until_they_fail(client: Client, lines: io.StringIO) -> None:
    client.get("/healthz")
    assert told(lines) == []
    client.post("/healthz")
    assert [line["status"] for line in told(lines)] == [405]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\x85", "\u2028", "\x1b[2J", "\x00"])
def test_a_value_starts_no_line_of_its_own(ending: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "said %s", (f"a{ending}b",), None)
    record.fields = {"host": f"c{ending}d"}
    for formatter in (JsonLines(), TextLines()):
        line = formatter.format(record)
        assert ending not in line
        assert len(line.splitlines()) == 1


def test_text_for_a_terminal_says_the_same() -> None:
    record = logging.LogRecord("slotwise.request", logging.INFO, "", 0, "answered", (), None)
    record.fields = {"route": "/", "status": 200}
    assert TextLines().format(record).endswith(" INFO - slotwise.request answered route=/ status=200")


def test_nothing_but_our_own_handler_writes_lines() -> None:
    assert site.LOGGING["loggers"]["django"]["handlers"] == []
    assert logging.getLogger("django.server").propagate is False
