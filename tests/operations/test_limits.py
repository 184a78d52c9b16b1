"""Rate limits: counted once for all processes, told in the standard fields, by user or by the address that our own proxy saw."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client, RequestFactory
from pytest_django import Settings
from redis.exceptions import ConnectionError as CacheIsGone

from planner.operations import counts, limits
from planner.operations.clients import client_address, client_network
from planner.operations.models import Count
from planner.operations.rates import Limit, Standing, read_limit

FAR = 4_000_000_000
TWO = Limit("requests", 2, 86_400)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("600/m", Limit("x", 600, 60)),
        ("1/s", Limit("x", 1, 1)),
        ("20/h", Limit("x", 20, 3_600)),
        ("9/d", Limit("x", 9, 86_400)),
        ("off", None),
    ],
)
def test_a_limit_is_a_count_and_a_unit_of_time(text: str, expected: Limit | None) -> None:
    assert read_limit("x", text) == expected


@pytest.mark.parametrize("text", ["", "600", "0/m", "-1/m", "600/minute", "6 0/m", "١/m", "9999999999/s", "600/m\n"])
def test_what_is_no_limit_stops_the_start(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="600/m"):
        read_limit("x", text)


def test_the_fields_say_what_is_left_and_when_it_starts_again() -> None:
    # draft-ietf-httpapi-ratelimit-headers-10: a quoted name; q and w of the policy, r and t of where the client stands.
    assert Standing(TWO, used=1, reset_seconds=30).headers() == {
        "RateLimit-Policy": '"requests";q=2;w=86400',
        "RateLimit": '"requests";r=1;t=30',
    }
    over = Standing(TWO, used=3, reset_seconds=30)
    assert not over.allowed
    assert over.headers()["Retry-After"] == "30"
    assert over.headers()["RateLimit"] == '"requests";r=0;t=30'


@pytest.mark.django_db(transaction=True)
def test_no_request_is_missed_when_many_count_at_once() -> None:
    def count(_: int) -> int:
        try:
            return counts.add_one("many", ends=FAR)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(count, range(200)))
    assert sorted(found) == list(range(1, 201))


@pytest.mark.django_db
def test_what_is_over_is_swept_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts.secrets, "randbelow", lambda _: 0)
    counts._in_database("old", 1)
    counts._in_database("new", FAR)
    assert list(Count.objects.values_list("key", flat=True)) == ["new"]


@pytest.mark.django_db
def test_a_cache_server_that_is_gone_closes_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def gone(*_: object, **__: object) -> None:
        raise CacheIsGone("redis://:hunter2@cache")

    monkeypatch.setattr(counts, "cache", SimpleNamespace(add=gone))
    assert counts._in_cache("key", FAR) == 0
    assert "nothing is limited" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.django_db
def test_every_page_counts_and_the_one_too_many_is_told_when_to_come_back(client: Client, settings: Settings) -> None:
    settings.RATE_LIMIT = TWO
    assert client.get("/glossary/")["RateLimit"].startswith('"requests";r=1;t=')
    assert client.get("/").status_code == 200
    refused = client.get("/")
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert refused["RateLimit-Policy"] == '"requests";q=2;w=86400'
    assert "More than 2 of this kind" in refused.content.decode()
    assert refused["Content-Security-Policy"], "a refusal is a page like every other"


@pytest.mark.django_db
def test_a_call_of_the_api_is_refused_as_a_problem(settings: Settings, rf: RequestFactory) -> None:
    problem = limits.refusal(rf.get("/api/v1/plan"), Standing(TWO, used=3, reset_seconds=30))
    assert problem["Content-Type"] == "application/problem+json"
    assert problem["Retry-After"] == "30"
    assert b'"status": 429' in problem.content


@pytest.mark.django_db
def test_probes_and_static_files_are_not_counted(client: Client, settings: Settings) -> None:
    settings.RATE_LIMIT = Limit("requests", 1, 86_400)
    for _ in range(3):
        assert client.get("/healthz").status_code == 200
        assert b"".join(client.get("/static/app.css").streaming_content)
    assert client.get("/glossary/").status_code == 200


@pytest.mark.django_db
def test_another_address_has_a_count_of_its_own(client: Client, settings: Settings) -> None:
    settings.RATE_LIMIT = Limit("requests", 1, 86_400)
    assert client.get("/glossary/", REMOTE_ADDR="203.0.113.1").status_code == 200
    assert client.get("/glossary/", REMOTE_ADDR="203.0.113.1").status_code == 429
    assert client.get("/glossary/", REMOTE_ADDR="203.0.113.2").status_code == 200


def test_a_site_for_this_machine_counts_nothing(client: Client, settings: Settings) -> None:
    assert settings.RATE_LIMIT is None, "and so this test needs no database"
    assert "RateLimit" not in client.get("/glossary/").headers


@pytest.mark.parametrize(
    ("proxies", "forwarded", "remote", "expected"),
    [
        (0, "198.51.100.7", "203.0.113.1", "203.0.113.1"),  # nobody's word counts but the connection's
        (1, "198.51.100.7", "10.0.0.1", "198.51.100.7"),
        (1, "1.1.1.1, 198.51.100.7", "10.0.0.1", "198.51.100.7"),  # what a client made up stands before what our proxy wrote
        (2, "1.1.1.1, 198.51.100.7, 10.0.0.2", "10.0.0.1", "198.51.100.7"),
        (2, "198.51.100.7", "10.0.0.1", "198.51.100.7"),
        (1, "", "10.0.0.1", "10.0.0.1"),
        (1, "not an address", "10.0.0.1", None),
        (1, "[2001:db8::1]", "10.0.0.1", "2001:db8::1"),
        (0, "", "", None),  # a socket has no address
    ],
)
def test_a_client_is_who_our_outermost_proxy_saw(
    rf: RequestFactory, settings: Settings, *, proxies: int, forwarded: str, remote: str, expected: str | None
) -> None:
    settings.BEHIND_PROXY = proxies
    assert client_address(rf.get("/", REMOTE_ADDR=remote, HTTP_X_FORWARDED_FOR=forwarded)) == expected


def test_one_ipv6_customer_is_one_client(rf: RequestFactory) -> None:
    assert client_network(rf.get("/", REMOTE_ADDR="2001:db8:1:2:3::4")) == "2001:db8:1:2::/64"
    assert client_network(rf.get("/", REMOTE_ADDR="203.0.113.1")) == "203.0.113.1"
    assert client_network(rf.get("/", REMOTE_ADDR="")) == "unknown"


def test_a_user_who_is_logged_in_is_counted_as_that_user(rf: RequestFactory) -> None:
    request = rf.get("/", REMOTE_ADDR="203.0.113.1")
    request.user = SimpleNamespace(pk=7, is_authenticated=True)
    assert limits.subject_of(request) == "user-7"
    request.user = SimpleNamespace(pk=None, is_authenticated=False)
    assert limits.subject_of(request) == "203.0.113.1"


@pytest.mark.django_db
def test_a_count_lies_where_the_settings_say() -> None:
    counts.add_one("here", ends=FAR)
    assert Count.objects.filter(key="here").exists() is not isinstance(caches["default"], RedisCache)
