"""The manual's example runs as it stands, and the page describes every call with nothing inline."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import Settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from planner.accounts.scopes import Scope
from planner.accounts.tokens import make_token
from planner.api.described import operations, schema
from planner.plans.models import SavedPlan, Version
from tests.plans.conftest import People

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "api.md"
EXAMPLE = re.search(r"```python\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.django_db(transaction=True)
def test_the_example_of_the_manual_works(people: People, live_server: LiveServer, tmp_path: Path) -> None:
    assert EXAMPLE
    assert EXAMPLE[1].count("\n") <= 30
    script = tmp_path / "example.py"
    script.write_text(EXAMPLE[1], encoding="utf-8")
    _, token = make_token(people.owner, name="the example", scopes=[Scope.COMPUTE, Scope.READ, Scope.WRITE])
    around = {**os.environ, "SLOTWISE_SITE": live_server.url, "SLOTWISE_TOKEN": token}
    ran = subprocess.run([sys.executable, script], env=around, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "users 20 → 35" in ran.stdout
    plan = SavedPlan.objects.get()
    assert f"/plans/{plan.public_id}/ version 1" in ran.stdout
    assert Version.objects.count() == 2
    around["SLOTWISE_TOKEN"] = token[:-1]
    refused = subprocess.run([sys.executable, script], env=around, capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith("Unauthorized: ")


@pytest.mark.django_db
def test_the_page_describes_every_call_and_model_with_nothing_inline() -> None:
    answer = Client().get("/api/v1/docs")
    page = answer.content.decode()
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=|<style|<script(?![^>]*\ssrc=)|https?://(?!www\.w3\.org)", page)
    for path, method, call in operations(schema()):
        assert f"<b>{method.upper()}</b> <code>{path}</code>" in page
        assert f'id="call-{call["operationId"]}"' in page
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert sorted(ids) == sorted(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert {f"model-{name}" for name in schema()["components"]["schemas"]} <= set(ids)
    assert "/api/v1/docs" in Client().get("/glossary/").content.decode(), "every page leads there"


@pytest.mark.django_db
def test_a_private_site_shows_the_page_to_who_is_logged_in(people: People, settings: Settings) -> None:
    settings.SITE_MODE = "private"
    assert Client().get("/api/v1/docs").status_code == 302
    assert people.client("reader").get("/api/v1/docs").status_code == 200


def test_the_manual_names_every_call() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    for path, method, call in operations(schema()):
        assert method.upper() in text
        assert f"`{call['x-scope']}`" in text
        assert path.removeprefix("/api/v1").partition("{")[0].rstrip("/") in text
