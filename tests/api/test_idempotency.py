"""Idempotency-Key: a plan that is sent again is saved once, however many send it at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from planner.api import idempotency
from planner.api.models import KeptAnswer
from planner.plans.models import SavedPlan, Version
from tests.api.conftest import QUESTION, Caller, caller, problem
from tests.plans.conftest import People

NEW = {"title": "Chat", "request": QUESTION}
KEY = {"idempotency-key": "4f0c-1"}


def test_the_same_again_is_the_same_answer_and_one_plan(people: People) -> None:
    call = caller(people.owner)
    first = call("post", "plans", NEW, **KEY)
    again = call("post", "plans", dict(reversed(NEW.items())), **KEY)
    assert first.status_code == again.status_code == 201
    assert again.json() == first.json()
    assert (again["Location"], again["ETag"]) == (first["Location"], first["ETag"])
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert SavedPlan.objects.count() == 1


def test_a_key_for_something_else_is_refused(people: People) -> None:
    call = caller(people.owner)
    call("post", "plans", NEW, **KEY)
    told = problem(call("post", "plans", {**NEW, "title": "Another"}, **KEY), 409)
    assert "new one" in told["detail"]
    assert SavedPlan.objects.count() == 1


def test_a_key_is_its_users_own(people: People) -> None:
    for who in (people.owner, people.stranger):
        assert caller(who)("post", "plans", NEW, **KEY).status_code == 201
    assert SavedPlan.objects.count() == 2


def test_a_call_that_was_refused_may_be_put_right_under_its_key(people: People) -> None:
    call = caller(people.owner)
    problem(call("post", "plans", {**NEW, "title": ""}, **KEY), 422)
    assert call("post", "plans", NEW, **KEY).status_code == 201


@pytest.mark.parametrize("key", ["with a space", "é", "x" * 256, "tab\there"])
def test_a_key_is_visible_characters(key: str, people: People) -> None:
    told = problem(caller(people.owner)("post", "plans", NEW, **{"idempotency-key": key}), 422)
    assert told["errors"][0]["field"] == "Idempotency-Key"


def test_an_answer_is_kept_for_a_day_and_not_without_end(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    call = caller(people.owner)
    call("post", "plans", NEW, **KEY)
    KeptAnswer.objects.update(created_at=timezone.now() - idempotency.LASTS - timedelta(seconds=1))
    assert "Idempotency-Replayed" not in call("post", "plans", NEW, **KEY)
    assert SavedPlan.objects.count() == 2
    monkeypatch.setattr(idempotency, "MAX_KEPT", 3)
    for number in range(5):
        call("post", "plans", NEW, **{"idempotency-key": f"another-{number}"})
    assert KeptAnswer.objects.count() == 3
    assert call("post", "plans", NEW, **{"idempotency-key": "another-4"})["Idempotency-Replayed"] == "true"


def test_nothing_stays_of_who_does_not_come_again(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    caller(people.stranger)("post", "plans", NEW, **KEY)
    KeptAnswer.objects.update(created_at=timezone.now() - idempotency.LASTS)
    monkeypatch.setattr(idempotency, "_SWEEP_ONE_IN", 1)
    caller(people.owner)("post", "plans", NEW, **KEY)
    assert [each.user for each in KeptAnswer.objects.all()] == [people.owner]


def test_what_is_kept_has_no_token_and_not_the_key(people: People) -> None:
    call = caller(people.owner)
    call("post", "plans", NEW, **KEY)
    kept = str(KeptAnswer.objects.get().__dict__)
    assert KEY["idempotency-key"] not in kept
    assert call.headers["authorization"].partition(" ")[2] not in kept


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("titles", [["Chat"], ["Chat", "Another"]], ids=["the same", "two that differ"])
def test_of_many_at_once_one_saves(titles: list[str], people: People) -> None:
    ready, token = threading.Barrier(8), caller(people.owner).headers["authorization"].partition(" ")[2]

    def send(each: int) -> tuple[int, str]:
        try:
            ready.wait()
            answer = Caller(token)("post", "plans", {**NEW, "title": titles[each % len(titles)]}, **KEY)
            return answer.status_code, answer.json().get("id", "")
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(send, range(8)))
    saved = {plan for status, plan in told if status == 201}
    assert len(saved) == 1
    assert {status for status, _ in told} == ({201} if len(titles) == 1 else {201, 409})
    assert [status for status, _ in told].count(201) == 8 / len(titles)
    assert SavedPlan.objects.count() == Version.objects.count() == KeptAnswer.objects.count() == 1
