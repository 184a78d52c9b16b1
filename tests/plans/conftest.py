"""What the tests of accounts and saved plans stand on: four people, their team, and a plan in it."""

from dataclasses import dataclass, field
from functools import cache as worked_out_once

import pytest
from django.conf import Settings
from django.core.cache import cache
from django.test import Client

from planner.accounts.models import Membership, Team, User
from planner.accounts.roles import Role
from planner.plans.models import SavedPlan
from planner.plans.record import Made, record
from planner.plans.saving import Content, save_new
from planner.web import asking
from planner.web.asking import ask
from tests.web.conftest import _no_hub, text_of

__all__ = ["_no_hub", "text_of"]

PASSWORD = "three small green lamps"
INPUTS = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "users": "20", "engine": "vllm"}


@pytest.fixture(autouse=True)
def _quick(settings: Settings) -> None:
    """Hashing passwords takes time by design, and mails go to the test's own outbox."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.MAIL_IN_BACKGROUND = False


_answered = worked_out_once(asking.answer)


@pytest.fixture(autouse=True)
def _answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may see an answer does not change it: each is worked out once."""
    monkeypatch.setattr(asking, "answer", lambda request, _: _answered(request, None))


@pytest.fixture(scope="session")
def made_once() -> dict[tuple[tuple[str, str], ...], Made]:
    return {}


@pytest.fixture
def made(made_once: dict[tuple[tuple[str, str], ...], Made]) -> "MakeRecord":
    return MakeRecord(made_once)


@dataclass
class MakeRecord:
    """The record of the answer to inputs, worked out once for all tests."""

    known: dict[tuple[tuple[str, str], ...], Made]

    def __call__(self, **changes: str) -> Made:
        inputs = {**INPUTS, **changes}
        key = tuple(sorted(inputs.items()))
        if key not in self.known:
            answer = ask(inputs).answer
            assert answer
            self.known[key] = record(answer)
        return self.known[key]


@dataclass
class People:
    """`who[role]` for anonymous (None), stranger, reader, editor and owner of `team`."""

    team: Team
    who: dict[str, User | None] = field(default_factory=dict)

    def __getattr__(self, name: str) -> User:
        person = self.who[name]
        assert person
        return person

    def client(self, name: str) -> Client:
        client = Client()
        person = self.who[name]
        if person:
            client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        return client


def person(name: str) -> User:
    return User.objects.create_user(f"{name}@example.org", PASSWORD, username=name)


@pytest.fixture
def people(db: None) -> People:
    cache.clear()  # a cache server keeps what one test counted for the next
    team = Team.objects.create(name="Lamps")
    found = People(team, {"anonymous": None, "stranger": person("stranger")})
    for role in (Role.READER, Role.EDITOR, Role.OWNER):
        found.who[role.label.lower()] = member = person(role.label.lower())
        Membership.objects.create(team=team, user=member, role=role)
    return found


@pytest.fixture
def plan(people: People, made: MakeRecord) -> SavedPlan:
    """The team's plan, saved by its owner."""
    content = Content("Chat for the lab", INPUTS, notes="For **everybody** in the lab.", tags=("chat", "lab"), owned=("rack 4",))
    return save_new(people.owner, content, made(), team=people.team)
