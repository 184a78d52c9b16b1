"""What somebody was let in to and what is gone before the request is through: the answer of a moment later, never a mistake of ours."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from planner.accounts.models import Team, User
from planner.permissions import Permissions
from planner.plans.models import SavedPlan
from tests.plans.conftest import People

# Without a transaction around the test: the databases hold rows against each other at the end of one.
pytestmark = pytest.mark.django_db(transaction=True)

Act = Callable[[], object]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Act], None]:
    """Does something between the permission and the view."""

    def set_up(act: Act) -> None:
        admitted = Permissions.process_view

        def admit_then_act(self: Permissions, *args: Any) -> Any:
            refused = admitted(self, *args)
            if refused is None:
                act()
            return refused

        monkeypatch.setattr(Permissions, "process_view", admit_then_act)

    return set_up


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("GET ", {}),
        ("GET edit/", {}),
        ("GET files.zip", {}),
        ("POST edit/", {"title": "x", "inputs": "users=7", "base": "1"}),
        ("POST copy/", {}),
        ("POST comments/", {"text": "A word."}),
        ("POST share/", {}),
        ("GET versions/", {}),
        ("POST versions/1/restore/", {"base": "1"}),
        ("POST versions/1/approve/", {}),
        ("POST move/", {"team": ""}),
        ("POST delete/", {}),
    ],
)
def test_a_plan_that_is_deleted_meanwhile_is_not_there(
    asked: str, sent: dict[str, str], plan: SavedPlan, people: People, meanwhile: Callable[[Act], None]
) -> None:
    client = people.client("owner")
    meanwhile(SavedPlan.objects.all().delete)
    method, _, path = asked.partition(" ")
    response = getattr(client, method.lower())(f"/plans/{plan.public_id}/{path}", sent)
    assert response.status_code in {302, 404}
    assert not SavedPlan.objects.exists()


@pytest.mark.parametrize(
    ("path", "sent"),
    [("leave/", {}), ("invitations/", {"role": "1"}), ("devices/", {"device": "rtx-4090", "owned": "1", "currency": "EUR"})],
)
def test_a_team_that_is_deleted_meanwhile_is_not_there(
    path: str, sent: dict[str, str], people: People, meanwhile: Callable[[Act], None]
) -> None:
    client = people.client("owner")
    meanwhile(Team.objects.all().delete)
    assert client.post(f"/teams/{people.team.public_id}/{path}", sent).status_code == 404


def test_an_account_that_is_deleted_meanwhile_saves_nothing(people: People, meanwhile: Callable[[Act], None]) -> None:
    client = people.client("stranger")
    meanwhile(lambda: User.objects.filter(username="stranger").delete())
    response = client.post("/plans/new/", {"title": "x", "inputs": "model=Qwen/Qwen3-8B&device=rtx-4090"})
    assert response["Location"].startswith("/accounts/login/")
    assert not SavedPlan.objects.exists()


def test_a_mistake_of_ours_stays_one(plan: SavedPlan, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: object, **__: object) -> None:
        raise SavedPlan.DoesNotExist

    monkeypatch.setattr("planner.plans.talking.read", mistaken)
    client: Client = people.client("owner")
    client.raise_request_exception = False
    assert client.get(f"/plans/{plan.public_id}/").status_code == 500
