"""Tokens: shown once, kept as a hash, recognised by their beginning, dead when revoked; and nowhere in a log."""

import logging
import re
from datetime import timedelta

import pytest
from django.conf import Settings
from django.test import Client
from django.utils import timezone

from planner.accounts.models import Token
from planner.accounts.scopes import Scope
from planner.accounts.tokens import MARK, MAX_TOKENS, find_token, make_token, revoke_token
from planner.core.errors import InputError
from planner.operations.rates import Limit
from tests.api.conftest import QUESTION, Caller, problem
from tests.plans.conftest import People

PAGE = "/accounts/tokens/"


def made_on_the_page(client: Client, **changes: object) -> str:
    form = {"name": "nightly report", "scopes": ["compute", "read"], "days": "30", **changes}
    page = client.post(PAGE, form).content.decode()
    found = re.search(r'<code id="made-token">([^<]+)</code>', page)
    assert found, page
    return found[1]


def test_the_page_shows_a_token_once_and_keeps_its_hash(people: People) -> None:
    client = people.client("owner")
    text = made_on_the_page(client)
    token = Token.objects.get()
    assert re.fullmatch(MARK + r"[A-Za-z0-9_-]{32}", text)
    assert text not in str(token.__dict__)
    assert (token.user, token.name, token.scopes) == (people.owner, "nightly report", ["compute", "read"])
    assert token.expires_at
    assert timedelta(days=29) < token.expires_at - timezone.now() <= timedelta(days=30)
    later = client.get(PAGE).content.decode()
    assert text not in later
    assert f"{token.prefix}…" in later
    assert text.startswith(token.prefix)
    assert len(token.prefix) == len(MARK) + 4


def test_a_token_calls_as_its_person_and_says_when_last(people: People) -> None:
    text = made_on_the_page(people.client("owner"))
    assert Token.objects.get().used_at is None
    assert Caller(text)("get", "plans").status_code == 200
    used = Token.objects.get().used_at
    assert used
    assert Caller(text)("get", "plans").status_code == 200
    assert Token.objects.get().used_at == used, "within a minute it is not written again"
    assert "Last used" in people.client("owner").get(PAGE).content.decode()


def test_a_revoked_token_is_dead_with_the_next_call(people: People) -> None:
    client = people.client("owner")
    text = made_on_the_page(client)
    token = Token.objects.get()
    client.post(f"{PAGE}{token.pk}/revoke/")
    told = problem(refused := Caller(text)("get", "plans"), 401)
    assert "revoked" in told["detail"]
    assert refused["WWW-Authenticate"] == 'Bearer realm="Slotwise", error="invalid_token"'
    problem(Caller(text)("post", "plan", QUESTION), 401)
    assert f"{token.prefix}…" in client.get(PAGE).content.decode(), "it stays in the list of those that are over"


def test_nobody_revokes_anothers_token(people: People) -> None:
    made_on_the_page(people.client("owner"))
    token = Token.objects.get()
    assert people.client("editor").post(f"{PAGE}{token.pk}/revoke/").status_code == 302
    assert not revoke_token(people.editor, token.pk)
    assert Token.objects.live().count() == 1


def test_an_expired_token_and_one_of_who_may_not_log_in_are_refused(people: People) -> None:
    now = timezone.now()
    assert find_token(make_token(people.owner, name="x", scopes=Scope, expires_at=now - timedelta(seconds=1))[1]) is None
    text = make_token(people.owner, name="x", scopes=Scope, expires_at=now + timedelta(days=1))[1]
    assert find_token(text)
    people.owner.is_active = False
    people.owner.save()
    problem(Caller(text)("get", "plans"), 401)


@pytest.mark.parametrize(
    "given",
    [
        "Bearer",
        "Bearer x",
        "Basic b3duZXI6cGFzcw==",
        "Bearer " + MARK + "A" * 32,
        "Token " + MARK + "A" * 32,
        "Bearer " + MARK + "é" * 32,
        "B" * 9_000,
    ],
)
def test_what_is_no_token_is_refused_everywhere(given: str, people: People) -> None:
    for path in ("plans", "openapi.json"):
        told = problem(Client().get(f"/api/v1/{path}", headers={"authorization": given.encode().decode("latin-1")}), 401)
        assert MARK not in told["detail"]


def test_a_token_takes_a_scope_and_a_person_has_only_so_many(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    client = people.client("owner")
    assert client.post(PAGE, {"name": "x", "days": "30"}).status_code == 400
    assert client.post(PAGE, {"name": "x", "scopes": ["everything"], "days": "30"}).status_code == 400
    assert MAX_TOKENS == 50
    monkeypatch.setattr("planner.accounts.tokens.MAX_TOKENS", 1)
    made_on_the_page(client)
    assert client.post(PAGE, {"name": "x", "scopes": ["read"], "days": "30"}).status_code == 400
    with pytest.raises(InputError, match="revoke some first"):
        make_token(people.owner, name="x", scopes=[Scope.READ])


def test_whoever_guesses_tokens_is_counted_by_address(people: People, settings: Settings) -> None:
    settings.RATE_LIMIT = Limit("requests", 2, 86_400)
    wrong = {"authorization": f"Bearer {MARK}{'A' * 32}"}
    statuses = [Client().get("/api/v1/plans", headers=wrong, REMOTE_ADDR="203.0.113.9").status_code for _ in range(3)]
    assert statuses == [401, 401, 429]


def test_a_user_is_counted_as_that_user_whatever_the_token(people: People, settings: Settings) -> None:
    settings.RATE_LIMIT = Limit("requests", 2, 86_400)
    callers = [Caller(make_token(people.owner, name="x", scopes=Scope)[1]) for _ in range(3)]
    answers = [call("get", "plans") for call in callers]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0]["RateLimit-Policy"] == '"requests";q=2;w=86400'
    assert answers[1]["RateLimit"].startswith('"requests";r=0;t=')
    assert int(answers[2]["Retry-After"]) > 0
    problem(answers[2], 429)


def test_no_secret_is_in_a_log(people: People, plan: object, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    text = made_on_the_page(people.client("owner"), scopes=[scope.value for scope in Scope])
    call = Caller(text)
    secret = "a password of twelve words"
    made = call("post", f"plans/{plan.public_id}/links", {"password": secret})  # type: ignore[attr-defined]
    assert made.status_code == 201
    call("get", "plans", x_nothing=text)
    Client().get("/api/v1/plans", headers={"authorization": f"Basic {text}"})
    link = made.json()["url"].rstrip("/").rpartition("/")[2]
    for record in caplog.records:
        said = f"{record.getMessage()} {record.__dict__}"
        assert not any(each in said for each in (text, link, secret)), record.name
