"""Saved plans by calls: made, listed, read, changed, and of two who change one the second is told; and their shared links."""

import pytest
from django.conf import Settings
from django.test import Client

from planner.accounts.scopes import Scope
from planner.plans.models import SavedPlan, ShareLink
from tests.api.conftest import QUESTION, Caller, caller, problem
from tests.plans.conftest import People

NEW = {"title": "Chat for everybody", "notes": "For **all**.", "tags": ["chat", "lab"], "owned": ["rack 4"], "request": QUESTION}


@pytest.fixture
def owner(people: People) -> Caller:
    return caller(people.owner)


def test_a_plan_is_saved_with_its_answer_and_found_on_the_site(owner: Caller, people: People, settings: Settings) -> None:
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://plans.example.org", ["*"]
    response = owner("post", "plans", NEW, host="elsewhere.example.com")
    assert response.status_code == 201
    told = response.json()
    assert response["Location"] == f"/api/v1/plans/{told['id']}"
    assert response["ETag"] == '"1"'
    assert told["url"] == f"https://plans.example.org/plans/{told['id']}/", "never where a Host header says"
    assert (told["title"], told["tags"], told["owned"], told["role"], told["team"]) == (
        NEW["title"],
        NEW["tags"],
        NEW["owned"],
        "owner",
        None,
    )
    assert told["newest"]["inputs"] == {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "users": "20", "engine": "vllm"}
    assert told["newest"]["result"]["fit"]["verdict"] == told["verdict"]
    assert told["newest"]["author"] == "owner"
    page = people.client("owner").get(f"/plans/{told['id']}/").content.decode()
    assert "Chat for everybody" in page
    assert owner("get", f"plans/{told['id']}").json() == told


def test_a_plan_of_a_team_is_the_teams(owner: Caller, people: People) -> None:
    told = owner("post", "plans", {**NEW, "team": people.team.public_id}).json()
    assert told["team"] == {"id": people.team.public_id, "name": "Lamps"}
    assert caller(people.reader)("get", f"plans/{told['id']}").json()["role"] == "reader"
    for who, team in (("reader", people.team.public_id), ("stranger", people.team.public_id), ("owner", "A" * 22), ("owner", "\0")):
        refused = problem(caller(people.who[who])("post", "plans", {**NEW, "team": team}), 422)
        assert refused["errors"][0]["field"] == "team"
    assert SavedPlan.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": " \u202e\n "}, "title"),
        ({"title": "x" * 121}, "title"),
        ({"notes": "a\0b"}, "notes"),
        ({"tags": ["a,b"]}, "tags.0"),
        ({"tags": ["x"] * 21}, "tags"),
        ({"request": {"users": 0}}, "request.users"),
        ({"request": {"device": "no such card"}}, "request.device"),
        ({"request": {"model": "nobody/nothing"}}, "request.model"),
        ({"request": {"wheels": 4}}, "request.wheels"),
        ({"request": None}, "request"),
        ({"base": 1}, "base"),
        ({"title": "\ud800"}, "title"),
    ],
)
def test_what_cannot_be_saved_says_which_input_it_is(changes: dict[str, object], field: str, owner: Caller) -> None:
    request = {**QUESTION, **changes["request"]} if isinstance(changes.get("request"), dict) else changes.get("request", QUESTION)
    told = problem(owner("post", "plans", {**NEW, **changes, "request": request}), 422)
    assert [each["field"] for each in told["errors"]] == [field]
    assert SavedPlan.objects.count() == 0


def test_a_change_is_a_version_and_the_second_of_two_is_told(people: People, plan: SavedPlan) -> None:
    path = f"plans/{plan.public_id}"
    change = {"title": "Chat for the lab", "request": {**QUESTION, "users": 35}, "base": 1}
    told = caller(people.editor)("put", path, change).json()
    assert told["version"] == 2
    assert "users 20 → 35" in told["newest"]["changes"]
    late = problem(caller(people.owner)("put", path, change), 409)
    assert late["newest"] == 2
    assert plan.versions.count() == 2
    assert caller(people.owner)("put", path, {**change, "base": late["newest"]}).json()["version"] == 3
    problem(caller(people.owner)("put", path, {**change, "base": 99}), 409)


def test_the_history_is_read_a_page_at_a_time(people: People, plan: SavedPlan) -> None:
    call, path = caller(people.owner), f"plans/{plan.public_id}"
    for base in (1, 2):
        call("put", path, {"title": f"Version {base + 1}", "request": QUESTION, "base": base})
    first = call("get", f"{path}/versions?limit=2").json()
    assert first["count"] == 3
    assert [each["version"] for each in first["items"]] == [3, 2]
    rest = call("get", first["next"].partition("/api/v1/")[2]).json()
    assert [each["version"] for each in rest["items"]] == [1]
    assert rest["next"] is None
    one = call("get", f"{path}/versions/1").json()
    assert (one["title"], one["notes"]) == ("Chat for the lab", "For **everybody** in the lab.")
    for number in ("4", "0", "99999999999999999999"):
        assert call("get", f"{path}/versions/{number}").status_code in {404, 422}


def test_lists_have_what_one_may_see_and_no_more(people: People, plan: SavedPlan) -> None:
    owner = caller(people.owner)
    owner("post", "plans", NEW)
    titles = lambda query, call=owner: [each["title"] for each in call("get", f"plans{query}").json()["items"]]  # noqa: E731 (a word for this test)
    assert titles("") == ["Chat for everybody", "Chat for the lab"], "the one that was changed last first"
    assert titles("?q=LAB") == ["Chat for the lab"]
    assert titles("?tag=chat") == ["Chat for everybody", "Chat for the lab"]
    assert titles("?tag=cha") == []
    assert titles("?team=mine") == ["Chat for everybody"]
    assert titles(f"?team={people.team.public_id}") == ["Chat for the lab"]
    assert titles("?q=%00") == titles("?q=nothing") == []
    assert titles("", caller(people.reader)) == ["Chat for the lab"]
    assert titles("", caller(people.stranger)) == []
    page = owner("get", "plans?limit=1&q=chat").json()
    assert (page["count"], len(page["items"])) == (2, 1)
    assert "limit=1&q=chat&offset=1" in page["next"]


@pytest.mark.parametrize("query", ["?limit=0", "?limit=101", "?limit=x", "?offset=-1", "?tags=chat", f"?q={'x' * 121}"])
def test_a_list_refuses_what_it_does_not_have(query: str, owner: Caller) -> None:
    problem(owner("get", f"plans{query}"), 422)


def test_a_deleted_plan_is_gone(people: People, plan: SavedPlan) -> None:
    call = caller(people.owner)
    answer = call("delete", f"plans/{plan.public_id}")
    assert (answer.status_code, answer.content) == (204, b"")
    problem(call("get", f"plans/{plan.public_id}"), 404)
    assert not SavedPlan.objects.exists()


def test_a_link_opens_the_plan_until_it_is_revoked(people: People, plan: SavedPlan) -> None:
    call, path = caller(people.editor), f"plans/{plan.public_id}/links"
    made = call("post", path, {"label": "for the buyer", "days": 7}).json()
    shared = "/s/" + made["url"].partition("/s/")[2]
    assert "Chat for the lab" in Client().get(shared).content.decode()
    listed = call("get", path).json()["items"]
    assert [(each["id"], each["label"], each["made_by"], each["has_password"]) for each in listed] == [
        (made["id"], "for the buyer", "editor", False)
    ]
    assert listed[0]["used_at"]
    assert made["url"].rstrip("/").rpartition("/")[2] not in str(listed)
    assert call("delete", f"{path}/{made['id']}").status_code == 204
    assert Client().get(shared).status_code == 404
    assert call("get", path).json()["items"] == []
    problem(call("delete", f"{path}/{made['id']}"), 404)


@pytest.mark.parametrize("body", [{"days": 0}, {"days": 400}, {"password": "short"}, {"label": "x" * 81}, {"label": "a", "more": 1}, []])
def test_a_link_that_cannot_be_made_is_not_made(body: object, people: People, plan: SavedPlan) -> None:
    problem(caller(people.editor, [Scope.SHARE])("post", f"plans/{plan.public_id}/links", body), 422)
    assert not ShareLink.objects.exists()


def test_a_link_of_another_plan_is_not_revoked_by_this_one(people: People, plan: SavedPlan) -> None:
    mine = caller(people.stranger)
    other = mine("post", "plans", NEW).json()["id"]
    link = caller(people.owner)("post", f"plans/{plan.public_id}/links", {}).json()["id"]
    problem(mine("delete", f"plans/{other}/links/{link}"), 404)
    assert ShareLink.objects.live().count() == 1
