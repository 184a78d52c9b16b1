"""Who may call what: every call of the API, every method, every kind of person with every scope; and the two ways in that are none."""

from typing import Any

import pytest
from django.conf import Settings
from django.db import transaction
from django.test import Client
from django.urls import get_resolver, reverse

from planner.accounts.scopes import Scope
from planner.accounts.tokens import make_token
from planner.permissions import RULES
from planner.plans.models import SavedPlan
from planner.plans.sharing import make_link
from tests.api.conftest import QUESTION, problem
from tests.plans.conftest import People

WHO = ("anonymous", "stranger", "reader", "editor", "owner")
METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
COMPUTE, READ, WRITE, SHARE = Scope

# What becomes of each of WHO with a token that is for the call, in that order.
EVERYBODY = ("in", "in", "in", "in", "in")
OWN = ("401", "in", "in", "in", "in")
READERS = ("401", "404", "in", "in", "in")
EDITORS = ("401", "404", "403", "in", "in")
OWNERS = ("401", "404", "403", "403", "in")

# Written out a second time, away from the rules.
EXPECTED: dict[str, dict[str, tuple[Scope | None, tuple[str, ...]]]] = {
    "api-root": {"get": (None, ("404",) * 5)},
    "openapi": {"get": (None, EVERYBODY)},
    "plan": {"post": (COMPUTE, EVERYBODY)},
    "compare": {"post": (COMPUTE, EVERYBODY)},
    "simulate": {"post": (COMPUTE, EVERYBODY)},
    "diagnose": {"post": (COMPUTE, EVERYBODY)},
    "plans": {"get": (READ, OWN), "post": (WRITE, OWN)},
    "saved-plan": {"get": (READ, READERS), "put": (WRITE, EDITORS), "delete": (WRITE, OWNERS)},
    "versions": {"get": (READ, READERS)},
    "version": {"get": (READ, READERS)},
    "links": {"get": (SHARE, EDITORS), "post": (SHARE, EDITORS)},
    "link": {"delete": (SHARE, EDITORS)},
}
# Bodies that are refused for themselves: whoever gets that far was let in.
BODY = '{"nothing of ours": 1}'
ONE_PLAN = {"saved-plan", "versions", "version", "links", "link"}


@pytest.fixture
def named(people: People, plan: SavedPlan) -> dict[str, dict[str, Any]]:
    link, _ = make_link(plan, people.owner)
    on_plan = {"plan_id": plan.public_id}
    return {name: on_plan if name in ONE_PLAN else {} for name in EXPECTED} | {
        "version": {**on_plan, "number": 1},
        "link": {**on_plan, "link_id": link.pk},
    }


def became(method: str, address: str, token: str | None) -> str:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    sent = {} if method in {"get", "head"} else {"data": BODY, "content_type": "application/json"}
    response = getattr(Client(), method)(address, headers=headers, **sent)
    assert response.status_code < 500
    if response.status_code >= 400 and method != "head":
        problem(response, response.status_code)
    return str(response.status_code) if response.status_code in {401, 403, 404, 405} else "in"


def wanted(name: str, method: str, who: str, scopes: frozenset[Scope]) -> str:
    known, index = EXPECTED[name], WHO.index(who)
    if method not in known:
        # Who may not see the plan learns nothing of its address, and who shows nothing learns nothing at all.
        anyone = next(iter(known.values()))[1]
        return {"401": "401", "404": "404" if name in ONE_PLAN else "405"}.get(anyone[index], "405")
    scope, people = known[method]
    if who != "anonymous" and scope and scope not in scopes:
        return "403"
    return people[index]


def test_every_call_has_a_rule_and_stands_here() -> None:
    ours = next(each for each in get_resolver().url_patterns if getattr(each, "namespace", None) == "api")
    assert {each.name for each in ours.url_patterns} == set(EXPECTED)
    assert {name.removeprefix("api:") for name, rule in RULES.items() if rule.scopes is not None} == set(EXPECTED)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("name", EXPECTED)
def test_everybody_gets_exactly_what_is_theirs(name: str, who: str, people: People, named: dict[str, dict[str, Any]]) -> None:
    address = reverse(f"api:{name}", kwargs=named[name])
    own = {scope for scope, _ in EXPECTED[name].values() if scope}
    for scopes in [*(frozenset({each}) for each in own), frozenset(Scope) - own] if people.who[who] else [frozenset()]:
        token = make_token(people.who[who], name="a test", scopes=scopes)[1] if scopes else None
        seen = {}
        for method in METHODS:
            with transaction.atomic():  # what one method did is undone before the next
                seen[method] = became(method, address, token)
                transaction.set_rollback(True)
        assert seen == {method: wanted(name, method, who, scopes) for method in METHODS}, scopes


@pytest.mark.parametrize("name", sorted(ONE_PLAN))
def test_what_is_hidden_looks_like_what_is_not_there(name: str, people: People, named: dict[str, dict[str, Any]]) -> None:
    token = make_token(people.stranger, name="a test", scopes=Scope)[1]
    method = next(iter(EXPECTED[name]))
    told = []
    for kwargs in (named[name], {**named[name], "plan_id": "A" * 22}):
        response = getattr(Client(), method)(reverse(f"api:{name}", kwargs=kwargs), headers={"authorization": f"Bearer {token}"})
        told.append((response.content, response.headers.get("Cache-Control")))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name, methods in EXPECTED.items() for method in methods if name not in {"api-root", "openapi"}]
)
def test_a_log_in_opens_no_call_that_a_token_opens(name: str, method: str, people: People, named: dict[str, dict[str, Any]]) -> None:
    client = Client()
    client.force_login(people.owner, backend="django.contrib.auth.backends.ModelBackend")
    response = getattr(client, method)(
        reverse(f"api:{name}", kwargs=named[name]), **({} if method == "get" else {"data": BODY, "content_type": "application/json"})
    )
    assert (response.status_code == 401) == RULES[f"api:{name}"].personal
    assert SavedPlan.objects.count() == 1


@pytest.mark.parametrize("name", ["plan", "compare", "simulate", "diagnose", "openapi"])
def test_a_private_site_answers_no_call_without_a_token(name: str, people: People, settings: Settings) -> None:
    settings.SITE_MODE = "private"
    method, address = next(iter(EXPECTED[name])), reverse(f"api:{name}")
    assert became(method, address, None) == "401"
    assert became(method, address, make_token(people.stranger, name="a test", scopes=Scope)[1]) == "in"


def test_one_persons_site_takes_a_token_for_what_is_kept_too(people: People, settings: Settings) -> None:
    settings.SITE_MODE = "single"
    problem(Client().get("/api/v1/plans"), 401)
    assert Client().post("/api/v1/plan", QUESTION, content_type="application/json").status_code == 200
