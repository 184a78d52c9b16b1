"""Two web processes plan with the same commit of a branch, and each keeps to itself only what cannot change."""

from types import SimpleNamespace

import pytest
from django.db import DatabaseError

from planner.hub import Hub, HubRepo
from planner.operations import hub_answers
from planner.operations.hub_answers import SharedAnswers
from planner.web import site

KEY = ("https://huggingface.co", "hf_secret", "Qwen/Qwen3-8B", None)
REPO = HubRepo("Qwen/Qwen3-8B", "0" * 40, "Qwen/Qwen3-8B", {"config.json": 726})


@pytest.mark.django_db
def test_another_process_knows_the_commit_that_the_first_one_found() -> None:
    one, other = SharedAnswers(), SharedAnswers()
    one.put(KEY, REPO, seconds=300, size=700)
    assert other.get(KEY) == REPO
    assert other.get((*KEY, "other")) is None


@pytest.mark.django_db
def test_what_a_commit_holds_stays_in_the_process() -> None:
    one, other = SharedAnswers(), SharedAnswers()
    one.put(KEY, {"layers": 36}, seconds=None, size=100)
    assert one.get(KEY) == {"layers": 36}
    assert other.get(KEY) is None


def test_a_command_without_a_database_remembers_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise DatabaseError("no such table: operations_cache")

    monkeypatch.setattr(hub_answers, "cache", SimpleNamespace(get=missing, set=missing))
    answers = SharedAnswers()
    assert answers.get(KEY) is None
    answers.put(KEY, REPO, seconds=300, size=700)
    assert answers.get(KEY) == REPO


def test_a_token_is_not_in_the_name() -> None:
    assert "hf_secret" not in hub_answers._name(KEY)
    assert hub_answers._name(KEY) != hub_answers._name((KEY[0], None, *KEY[2:])), "answers to a token are not those to none"


def test_the_site_shares_them() -> None:
    assert isinstance(site.hub().cache, SharedAnswers)
    assert isinstance(Hub().cache, hub_answers.Cache)
