"""What the tests of the API stand on: the people and the plan of `tests/plans`, and clients that show a token."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from planner.accounts.models import User
from planner.accounts.scopes import Scope
from planner.accounts.tokens import make_token
from tests.plans.conftest import _answered_once, _quick, made, made_once, people, plan
from tests.web.conftest import _no_hub

__all__ = ["_answered_once", "_no_hub", "_quick", "made", "made_once", "people", "plan"]

QUESTION = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "users": 20, "engine": "vllm"}


class Caller:
    """Calls with a token, or (None) without one, and sends JSON."""

    def __init__(self, token: str | None = None) -> None:
        self.client = Client()
        self.headers = {"authorization": f"Bearer {token}"} if token else {}

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        sent = {"data": body, "content_type": "application/json"} if body is not None else {}
        return getattr(self.client, method)(f"/api/v1/{path}", headers={**self.headers, **headers}, **sent)


def caller(user: User | None, scopes: Iterable[Scope] = tuple(Scope)) -> Caller:
    return Caller(make_token(user, name="a test", scopes=scopes)[1] if user else None)


def problem(response: HttpResponse, status: int) -> dict[str, Any]:
    """What a refusal says, which is a problem and nothing else."""
    assert response.status_code == status, response.content[:500]
    assert response["Content-Type"] == "application/problem+json"
    told = response.json()
    assert told["type"] == "about:blank"
    assert told["status"] == status
    assert told["title"]
    assert told["detail"].endswith((".", "?"))
    return dict(told)


@pytest.fixture
def anybody(db: None) -> Caller:
    return Caller()
