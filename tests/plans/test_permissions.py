"""Who may do what, over every address of the site, every method and every kind of person; what is hidden cannot be told from what is not there."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import Settings
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from planner.accounts.joining import invite
from planner.accounts.models import TeamDevice
from planner.accounts.proofs import for_account, for_address
from planner.accounts.roles import Role
from planner.permissions import RULES
from planner.plans.models import SavedPlan
from planner.plans.sharing import make_link
from planner.plans.talking import comment
from tests.plans.conftest import INPUTS, People

WHO = ("anonymous", "stranger", "reader", "editor", "owner")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

# What becomes of each of WHO, in that order.
EVERYBODY = ("in", "in", "in", "in", "in")
LOGGED_IN = ("log in", "in", "in", "in", "in")
READERS = ("hidden", "hidden", "in", "in", "in")
EDITORS = ("hidden", "hidden", "forbidden", "in", "in")
OWNERS = ("hidden", "hidden", "forbidden", "forbidden", "in")

# Written out a second time, away from the rules: a rule that was loosened by mistake does not loosen its test.
EXPECTED: dict[str, dict[str, tuple[str, ...]]] = {
    "planner": {"GET": EVERYBODY},
    "accuracy": {"GET": EVERYBODY},
    "config": {"POST": EVERYBODY},
    "curve": {"GET": EVERYBODY},
    "archive": {"GET": EVERYBODY},
    "file": {"GET": EVERYBODY},
    "glossary": {"GET": EVERYBODY},
    "guide": {"GET": EVERYBODY},
    "symptom": {"GET": EVERYBODY},
    "review": {"GET": EVERYBODY, "POST": EVERYBODY},
    "simulate": {"GET": EVERYBODY},
    "sweep": {"GET": EVERYBODY},
    "bad-hours": {"GET": EVERYBODY},
    "replay": {"POST": EVERYBODY},
    "startup": {"POST": EVERYBODY},
    "diagnose": {"GET": EVERYBODY, "POST": EVERYBODY},
    "hardware": {"GET": EVERYBODY},
    "hardware-change": {"GET": EVERYBODY},
    "hardware-chart": {"GET": EVERYBODY},
    "hardware-note": {"GET": EVERYBODY},
    "hardware-note-file": {"GET": EVERYBODY},
    "hardware-prices": {"POST": EVERYBODY},
    "hardware-table": {"GET": EVERYBODY},
    "health": {"GET": EVERYBODY},
    "ready": {"GET": EVERYBODY},
    "metrics": {"GET": EVERYBODY},
    "signup": {"GET": EVERYBODY, "POST": EVERYBODY},
    "signup-confirm": {"GET": EVERYBODY, "POST": EVERYBODY},
    "login": {"GET": EVERYBODY, "POST": EVERYBODY},
    "logout": {"POST": EVERYBODY},
    "password-reset": {"GET": EVERYBODY, "POST": EVERYBODY},
    "password-reset-confirm": {"GET": EVERYBODY, "POST": EVERYBODY},
    "password-change": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "account": {"GET": LOGGED_IN},
    "account-name": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "account-address": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "account-address-confirm": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "account-delete": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "account-export": {"GET": LOGGED_IN},
    "tokens": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "token-revoke": {"POST": LOGGED_IN},
    "teams": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "team": {"GET": READERS},
    "team-rename": {"POST": OWNERS},
    "team-delete": {"GET": OWNERS, "POST": OWNERS},
    "team-leave": {"POST": READERS},
    "team-invite": {"POST": OWNERS},
    "team-uninvite": {"POST": OWNERS},
    "team-member": {"POST": OWNERS},
    "team-prices": {"GET": READERS},
    "team-device": {"POST": EDITORS},
    "team-device-remove": {"POST": EDITORS},
    "invitation": {"GET": EVERYBODY, "POST": EVERYBODY},
    "plans": {"GET": LOGGED_IN},
    "plan-new": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "plan-compare": {"GET": EVERYBODY},
    "plan": {"GET": READERS},
    "plan-edit": {"GET": EDITORS, "POST": EDITORS},
    "plan-files": {"GET": READERS},
    "plan-versions": {"GET": READERS},
    "plan-version": {"GET": READERS},
    "plan-restore": {"POST": EDITORS},
    "plan-approve": {"POST": EDITORS},
    "plan-copy": {"POST": READERS},
    "plan-move": {"POST": OWNERS},
    "plan-delete": {"GET": OWNERS, "POST": OWNERS},
    "plan-comment": {"POST": READERS},
    "plan-uncomment": {"POST": ("hidden", "hidden", "hidden", "hidden", "in")},
    "plan-share": {"GET": EDITORS, "POST": EDITORS},
    "plan-unshare": {"POST": EDITORS},
    "share": {"GET": EVERYBODY, "POST": EVERYBODY},
    "share-files": {"GET": EVERYBODY},
    "share-copy": {"GET": LOGGED_IN, "POST": LOGGED_IN},
    "api-docs": {"GET": EVERYBODY},
}
# Addresses that name an object: who may not see it learns nothing, by whatever method.
HIDDEN = {name for name, methods in EXPECTED.items() if {READERS, EDITORS, OWNERS} & set(methods.values())} | {"plan-uncomment"}
# A sweep that nobody reads is not worth its runs.
WITHOUT_HEAD = {"sweep", "bad-hours"}
# What a form would send, where an empty one is refused for itself.
SENT: dict[str, dict[str, str]] = {"plan-restore": {"base": "1"}, "team-member": {"role": "1"}}

# Who may ask does not depend on how long it takes: a minute of traffic is enough to see that somebody is let in.
ASKED: dict[str, dict[str, str]] = {name: {**INPUTS, "duration": "60"} for name in ("simulate", "bad-hours", "sweep")}


def addresses() -> Iterator[URLPattern]:
    """The pages; calls of the API have a matrix of their own."""

    def walk(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
        for each in patterns:
            if isinstance(each, URLResolver):
                yield from () if each.namespace else walk(each.url_patterns)
            else:
                yield each

    return walk(get_resolver().url_patterns)


@pytest.fixture
def named(people: People, plan: SavedPlan, settings: Settings) -> dict[str, dict[str, Any]]:
    """What each address that names something is called with: things that are there."""
    settings.METRICS_TOKEN = "a-token"
    _, secret = make_link(plan, people.owner)
    invitation, invited = invite(people.owner, people.team, role=Role.READER)
    device = TeamDevice.objects.create(team=people.team, device="rtx-4090", owned=2)
    said = comment(plan, people.owner, "A word.")
    team, on_plan, link = {"team_id": people.team.public_id}, {"plan_id": plan.public_id}, {"secret": secret}
    found = {name: {} for name in EXPECTED}
    found |= {name: team for name in EXPECTED if name.startswith("team-") or name == "team"}
    found |= {
        name: on_plan for name in EXPECTED if name == "plan" or (name.startswith("plan-") and name not in {"plan-new", "plan-compare"})
    }
    found |= dict.fromkeys(("share", "share-files", "share-copy"), link)
    return found | {
        "hardware-chart": {"name": "verdict"},
        "hardware-table": {"kind": "csv"},
        "symptom": {"slug": "waits-are-long"},
        "token-revoke": {"token_id": 1},
        "signup-confirm": {"proof": for_account("new@example.org", invitation="")},
        "account-address-confirm": {"proof": for_address(people.owner, "later@example.org")},
        "file": {"path": "etc/systemd/system/vllm.service"},
        "password-reset-confirm": {"uidb64": "MQ", "token": "x-y"},
        "invitation": {"secret": invited},
        "team-uninvite": {**team, "invitation_id": invitation.pk},
        "team-member": {**team, "member_id": people.team.memberships.get(user=people.reader).pk},
        "team-device-remove": {**team, "device_id": device.pk},
        "plan-version": {**on_plan, "number": 1},
        "plan-restore": {**on_plan, "number": 1},
        "plan-approve": {**on_plan, "number": 1},
        "plan-uncomment": {**on_plan, "comment_id": said.pk},
        "plan-unshare": {**on_plan, "link_id": plan.links.get().pk},
    }


def became(response: HttpResponse) -> str:
    if response.status_code in {301, 302, 303} and response["Location"].startswith(reverse("login")):
        return "log in"
    return {403: "forbidden", 404: "hidden", 405: "no such method"}.get(response.status_code, "in")


def wanted(name: str, method: str, who: str) -> str:
    known = EXPECTED[name]
    if method == "HEAD" and name in WITHOUT_HEAD:
        return "no such method"
    asked = "GET" if method == "HEAD" else method
    if asked in known:
        return known[asked][WHO.index(who)]
    if name in HIDDEN and who in {"anonymous", "stranger"}:
        return "hidden"
    return "log in" if LOGGED_IN in known.values() and who == "anonymous" else "no such method"


def ask_for(client: Client, name: str, method: str, kwargs: dict[str, Any]) -> HttpResponse:
    address = reverse(name, kwargs=kwargs)
    sent = SENT.get(name, {}) if method == "POST" else ASKED.get(name, INPUTS)
    if method in {"GET", "HEAD", "POST"}:
        return getattr(client, method.lower())(address, sent)
    return client.generic(method, address)


def test_every_address_has_one_name_and_one_rule() -> None:
    names = [each.name for each in addresses()]
    pages = {name for name, rule in RULES.items() if rule.scopes is None}
    assert sorted(names) == sorted(pages)
    assert set(EXPECTED) == pages


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("name", EXPECTED)
def test_everybody_gets_exactly_what_is_theirs(name: str, who: str, people: People, named: dict[str, dict[str, Any]]) -> None:
    seen, cookies = {}, people.client(who).cookies.output()
    for method in METHODS:
        with transaction.atomic():  # what one method did is undone before the next
            client = Client()
            client.cookies.load(cookies.replace("Set-Cookie: ", ""))
            response = ask_for(client, name, method, named[name])
            seen[method] = became(response)
            if seen[method] == "in":
                assert response.status_code < 500
            transaction.set_rollback(True)
    assert seen == {method: wanted(name, method, who) for method in METHODS}


@pytest.mark.parametrize(
    "name", sorted(name for name, methods in EXPECTED.items() if "GET" in methods and (name in HIDDEN or RULES[name].personal))
)
def test_pages_have_nothing_inline_and_each_id_once(name: str, people: People, named: dict[str, dict[str, Any]]) -> None:
    response = ask_for(people.client("owner"), name, "GET", named[name])
    assert "unsafe" not in response["Content-Security-Policy"]
    if response["Content-Type"].startswith("text/html"):
        page = response.content.decode()
        assert not re.search(r"<[^>]+\s(style|on[a-z]+)=|<style|<script(?![^>]*\ssrc=)", page)
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert sorted(ids) == sorted(set(ids))
        for attribute in ("for", "aria-labelledby", "aria-describedby", "data-copy", "list", "form"):
            assert {word for text in re.findall(rf'\s{attribute}="([^"]+)"', page) for word in text.split()} <= set(ids), attribute


@pytest.mark.parametrize("name", sorted(HIDDEN))
@pytest.mark.parametrize("who", ["anonymous", "stranger"])
def test_what_is_hidden_looks_like_what_is_not_there(name: str, who: str, people: People, named: dict[str, dict[str, Any]]) -> None:
    client = people.client(who)
    there, nowhere = named[name], {**named[name]}
    key = "plan_id" if "plan_id" in there else "team_id"
    nowhere[key] = "A" * len(there[key])
    pages, counts = [], []
    for kwargs in (there, nowhere):
        for method in ("get", "post"):
            with CaptureQueriesContext(
                connection,
            ) as queries:
                response = getattr(client, method)(reverse(name, kwargs=kwargs))
            assert response.status_code == 404
            body = response.content.decode().replace(kwargs[key], "…")
            pages.append(re.sub(r'csrfmiddlewaretoken" value="[^"]+', "", body))
            counts.append(len(queries))
    assert len(set(pages)) == 1
    assert len(set(counts)) == 1, "the same questions to the database take the same time"


@pytest.mark.parametrize("name", sorted(name for name, methods in EXPECTED.items() if "POST" in methods))
def test_no_form_is_taken_without_its_mark(name: str, people: People, named: dict[str, dict[str, Any]]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.owner, backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(reverse(name, kwargs=named[name]), SENT.get(name, {})).status_code == 403


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if RULES[name].find or RULES[name].personal or RULES[name].accounts))
def test_what_is_not_for_everybody_is_in_no_cache(name: str, people: People, named: dict[str, dict[str, Any]]) -> None:
    for who in ("anonymous", "owner"):
        response = people.client(who).get(reverse(name, kwargs=named[name]))
        assert {"no-store", "private"} <= set(response["Cache-Control"].split(", ")), who


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_private_site_asks_for_a_log_in_on_every_page(
    name: str, people: People, named: dict[str, dict[str, Any]], settings: Settings
) -> None:
    settings.SITE_MODE = "private"
    always = {
        "health", "ready", "metrics", "signup", "signup-confirm", "login", "logout", "password-reset", "password-reset-confirm", "invitation",
    }  # fmt: skip
    method = next(iter(EXPECTED[name]))
    response = getattr(people.client("anonymous"), method.lower())(reverse(name, kwargs=named[name]))
    assert (became(response) == "log in") == (name not in always or name == "logout")


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if RULES[name].accounts))
def test_a_single_persons_site_has_no_pages_about_logging_in(
    name: str, people: People, named: dict[str, dict[str, Any]], settings: Settings
) -> None:
    settings.SITE_MODE = "single"
    method = next(iter(EXPECTED[name]))
    assert getattr(Client(), method.lower())(reverse(name, kwargs=named[name])).status_code == 404
