"""Refusals: problem+json on whatever layer they come from, nothing of the page or of our insides in them; and no door for other sites."""

from typing import Any

import pytest
from django.conf import Settings
from django.db import OperationalError
from django.test import Client

from planner.api import compute
from planner.operations.rates import Limit
from tests.api.conftest import QUESTION, Caller, problem
from tests.plans.conftest import People

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("get", "", 404),
        ("get", "nothing", 404),
        ("post", "plan/", 404),
        ("get", "plans/short", 401),
        ("get", "plan", 405),
        ("put", "plan", 405),
        ("patch", "plan", 405),
        ("options", "plan", 405),
        ("delete", "openapi.json", 405),
        ("get", "../v2/plan", 404),
    ],
)
def test_an_address_or_a_method_that_is_not_there_is_a_problem(method: str, path: str, status: int, anybody: Caller) -> None:
    if path == "plans/short":
        status = 404  # it names nothing: nobody is asked who they are
    answer = getattr(Client(), method)(f"/api/v1/{path}")
    told = problem(answer, status)
    assert set(told) == {"type", "title", "status", "detail"}
    if status == 405:
        assert answer["Allow"]


def test_a_name_that_is_not_the_sites_is_a_problem_too(anybody: Caller) -> None:
    problem(anybody("post", "plan", QUESTION, host="evil.example.com"), 400)


def test_our_own_mistake_says_nothing_about_us(anybody: Caller, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(compute, "answer", fails)
    anybody.client.raise_request_exception = False
    for debug in (False, True):
        settings.DEBUG = debug
        answer = anybody("post", "plan", QUESTION)
        told = problem(answer, 500)
        assert "secret" not in answer.content.decode()
        assert "X-Request-ID" in told["detail"]
        assert answer["X-Request-ID"]


def test_a_database_that_is_away_is_a_problem_with_a_time(anybody: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise OperationalError("the password of the database")

    monkeypatch.setattr(compute, "answer", away)
    anybody.client.raise_request_exception = False
    answer = anybody("post", "plan", QUESTION)
    problem(answer, 503)
    assert answer["Retry-After"] == "5"
    assert b"password" not in answer.content


def test_too_many_calls_are_told_when_to_come_again(anybody: Caller, settings: Settings) -> None:
    settings.RATE_LIMIT = Limit("requests", 1, 86_400)
    first = anybody("get", "openapi.json")
    assert first["RateLimit"].startswith('"requests";r=0;t=')
    answer = anybody("get", "openapi.json")
    problem(answer, 429)
    assert int(answer["Retry-After"]) > 0


@pytest.mark.parametrize("method", ["get", "options", "post"])
def test_no_other_site_may_read_an_answer(method: str) -> None:
    headers = {
        "origin": "https://evil.example.com",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
    }
    answer = getattr(Client(), method)("/api/v1/openapi.json", headers=headers)
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


def test_what_is_ones_own_is_in_no_cache(people: People) -> None:
    for answer in (Client().get("/api/v1/plans"), people.client("owner").get("/accounts/tokens/")):
        assert {"no-store", "private"} <= set(answer["Cache-Control"].split(", "))


def test_pages_are_refused_as_pages() -> None:
    answer = Client().get("/no/such/page/")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")
