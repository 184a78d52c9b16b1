"""Health, readiness and metrics: for machines, at the machine's own address, open to nobody else than they must be."""

import json

import pytest
from django.db import DatabaseError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings
from redis.exceptions import ConnectionError as CacheIsGone

from planner.operations import metrics, probes

ASKED_WITH = "t0ken"


def test_a_process_that_answers_is_alive_whatever_its_database_does(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")
    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db
def test_a_site_is_ready_when_database_cache_and_migrations_are(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {"database": "ok", "cache": "ok", "migrations": "ok"}


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_makes_it_unready(client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="operations").delete()
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["migrations"] == f"{len(missing())} not applied"


def missing() -> list[tuple[str, str]]:
    return [each for each in probes._of_this_release() if each[0] == "operations"]


@pytest.mark.django_db
def test_what_does_not_answer_is_named_and_nothing_else_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise CacheIsGone("redis://:hunter2@cache:6379")

    monkeypatch.setattr(probes.cache, "get", gone)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"database": "ok", "cache": "does not answer", "migrations": "ok"}


def test_a_database_that_is_gone_makes_it_unready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def cursor(self) -> None:
            raise DatabaseError("password=hunter2")

    monkeypatch.setattr(probes, "connection", Gone())
    monkeypatch.setattr(probes, "_cache", lambda: "ok")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert json.loads(response.content) == {"database": "does not answer", "cache": "ok", "migrations": "unknown"}


@pytest.mark.parametrize("address", ["/healthz", "/metrics"])
def test_probes_need_no_name_and_no_tls(client: Client, settings: Settings, address: str) -> None:
    settings.SECURE_SSL_REDIRECT, settings.METRICS_TOKEN = True, ASKED_WITH
    response = client.get(address, HTTP_HOST="10.1.2.3:8000", HTTP_AUTHORIZATION="Bearer t0ken")
    assert response.status_code == 200
    assert client.get("/glossary/").status_code == 301, "everything else is sent to TLS"


def test_figures_are_not_there_without_a_token(client: Client) -> None:
    assert client.get("/metrics", HTTP_AUTHORIZATION="Bearer ").status_code == 404


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "t0ken", "bearer t0ken", "Bearer t0kenx"])
def test_figures_are_for_who_has_the_token(client: Client, settings: Settings, given: str) -> None:
    settings.METRICS_TOKEN = ASKED_WITH
    response = client.get("/metrics", HTTP_AUTHORIZATION=given)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"


def requests_counted(client: Client) -> dict[tuple[str, str, str], float]:
    text = client.get("/metrics", HTTP_AUTHORIZATION="Bearer t0ken").content.decode()
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "slotwise_requests_total"
    }


def test_requests_are_counted_by_route_never_by_address(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = ASKED_WITH
    before = requests_counted(client)
    client.get("/guide/no-such-symptom/")
    client.get("/nowhere/at/all")
    client.generic("BREW", "/glossary/")
    after = requests_counted(client)
    for key in [("GET", "/guide/<slug:slug>/", "404"), ("GET", "none", "404"), ("other", "/glossary/", "405")]:
        assert after[key] == before.get(key, 0) + 1, key


def test_figures_of_all_worker_processes_are_added_up(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv(metrics.SHARED_FOLDER, str(tmp_path))
    assert metrics.exposition() == b"", "an empty folder has no figures, and this process's own are not among them"
