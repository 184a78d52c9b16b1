"""A server behind us that is away is no mistake of ours: the answer says to come again, and what needs it not goes on."""

from datetime import timedelta

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from django.utils import timezone
from pytest_django import Settings

from planner.accounts.models import User
from planner.operations import addresses
from planner.operations.rates import Limit
from planner.urls import handler500 as of_the_site_on_errors
from planner.urls import urlpatterns as of_the_site


def away(request: HttpRequest) -> HttpResponse:
    raise OperationalError("connection to server at 10.0.0.7 failed: password=hunter2")


def broken(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


urlpatterns = [*of_the_site, path("away/", away), path("broken/", broken)]
BACKEND = "django.contrib.auth.backends.ModelBackend"
handler500 = "planner.operations.outage.failed"


@pytest.fixture
def _pages_of_this_test(settings: Settings, client: Client) -> None:
    settings.ROOT_URLCONF = "tests.operations.test_outage"
    settings.MIDDLEWARE = ["planner.operations.journal.request_line"]
    client.raise_request_exception = False


@pytest.mark.usefixtures("_pages_of_this_test")
def test_a_database_that_is_away_is_503_and_when_to_come_again(client: Client) -> None:
    response = client.get("/away/")
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "does not answer just now" in response.content.decode()
    assert "hunter2" not in response.content.decode()


@pytest.mark.usefixtures("_pages_of_this_test")
def test_a_mistake_of_ours_is_500(client: Client) -> None:
    response = client.get("/broken/")
    assert response.status_code == 500
    assert "Retry-After" not in response.headers


def test_the_site_answers_so() -> None:
    assert of_the_site_on_errors == handler500


@pytest.mark.django_db
def test_who_is_logged_in_stays_so_without_the_cache_server_and_nothing_is_limited(settings: Settings) -> None:
    settings.CACHES = {"default": addresses.cache("unix:///nowhere/cache.sock")}
    settings.SESSION_ENGINE = addresses.session_engine("unix:///nowhere/cache.sock")
    settings.RATE_LIMIT = Limit("requests", 1, 60)
    user = User.objects.create_user("ann@example.org", "three small green lamps", username="ann")
    session = Session.objects.create(session_key="a" * 32, session_data=stored(user), expire_date=timezone.now() + timedelta(days=1))
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = session.session_key
    assert [client.get("/plans/").status_code for _ in range(3)] == [200] * 3
    # Logging out must end the session in the cache too, or it might come back with the server.
    assert client.post("/accounts/logout/").status_code == 503


def stored(user: User) -> str:
    kept = {SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: BACKEND, HASH_SESSION_KEY: user.get_session_auth_hash()}
    return SessionStore().encode(kept)
