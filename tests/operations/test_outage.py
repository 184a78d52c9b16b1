"""A database that is away is no mistake of ours: the answer says to come again."""

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

from planner.urls import handler500 as of_the_site_on_errors
from planner.urls import urlpatterns as of_the_site


def away(request: HttpRequest) -> HttpResponse:
    raise OperationalError("connection to server at 10.0.0.7 failed: password=hunter2")


def broken(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


urlpatterns = [*of_the_site, path("away/", away), path("broken/", broken)]
handler500 = "planner.operations.outage.failed"


@pytest.fixture(autouse=True)
def _pages_of_this_test(settings: Settings, client: Client) -> None:
    settings.ROOT_URLCONF = "tests.operations.test_outage"
    settings.MIDDLEWARE = ["planner.operations.journal.request_line"]
    client.raise_request_exception = False


def test_a_database_that_is_away_is_503_and_when_to_come_again(client: Client) -> None:
    response = client.get("/away/")
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "does not answer just now" in response.content.decode()
    assert "hunter2" not in response.content.decode()


def test_a_mistake_of_ours_is_500(client: Client) -> None:
    response = client.get("/broken/")
    assert response.status_code == 500
    assert "Retry-After" not in response.headers


def test_the_site_answers_so() -> None:
    assert of_the_site_on_errors == handler500
