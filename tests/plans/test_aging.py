"""A plan some time later, and plans side by side."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from planner.plans.changes import changed_inputs
from planner.plans.models import SavedPlan, ShareLink, Version
from planner.plans.record import FACTS, UNKNOWN, differences
from planner.plans.saving import Content, save_new
from planner.plans.sharing import make_link, revoke
from planner.web.address import query
from tests.plans.conftest import INPUTS, MakeRecord, People

TextOf = Callable[[HttpResponse], str]
QUERY = urlencode(INPUTS)


def stored(plan: SavedPlan, **changes: Any) -> None:
    """The plan as an earlier release would have saved it."""
    version = plan.newest
    result = dict(version.result)
    for path, value in changes.pop("facts", {}).items():
        part, _, key = path.partition(".")
        result[part] = {**result[part], key: value} if key else value
    Version.objects.filter(pk=version.pk).update(result=result, **changes)


def page_of(plan: SavedPlan, people: People, text_of: TextOf) -> str:
    response = people.client("reader").get(reverse("plan", args=[plan.public_id]))
    assert response.status_code == 200
    return text_of(response)


def test_a_plan_opened_at_once_says_that_it_still_holds(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    assert "The verdict still holds: worked out again just now, with the same figures." in page_of(plan, people, text_of)


def test_facts_that_changed_since_are_told_and_the_verdict_still_holds(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    stored(plan, facts={"memory.overhead": 2**30, "engine.version": "0.20.0"}, application="0.0.9", catalog="2025-01")
    page = page_of(plan, people, text_of)
    assert "The verdict still holds. 2 facts have changed since." in page
    assert re.search(r"overhead 1\S* GiB →", page)
    assert "engine version 0.20.0 →" in page
    assert "made with Slotwise 0.0.9, now" in page
    assert "made with catalogue 2025-01, now" in page


def test_a_verdict_that_no_longer_holds_is_said_first(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    now = plan.newest.result["fit"]["verdict"]
    was, word = ("does_not_fit", "Does not fit") if now != "does_not_fit" else ("fits", "Fits")
    stored(plan, facts={"fit.verdict": was})
    assert f"The verdict no longer holds: it was “{word}” and is" in page_of(plan, people, text_of)


def test_a_plan_that_cannot_be_worked_out_any_more_shows_what_was_saved(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    stored(plan, inputs={**INPUTS, "device": "a-card-of-the-past"})
    page = page_of(plan, people, text_of)
    assert "It could not be worked out again:" in page
    assert plan.newest.result["headline"] in page
    response = people.client("reader").get(reverse("plan-files", args=[plan.public_id]), follow=True)
    assert "There are no files" in text_of(response)


def test_the_words_of_a_plan_that_cannot_be_worked_out_any_more_can_be_changed(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    past = {**INPUTS, "device": "a-card-of-the-past"}
    stored(plan, inputs=past)
    editor, address = people.client("editor"), reverse("plan-edit", args=[plan.public_id])
    assert editor.get(address).status_code == 200
    response = editor.post(address, {"title": "A better title", "inputs": query(past), "base": "1"})
    assert response["Location"] == reverse("plan", args=[plan.public_id])
    first, second = plan.versions.order_by("number")
    assert (second.title, second.inputs, second.result, second.application) == ("A better title", past, first.result, first.application)
    assert second.changes == ["title “Chat for the lab” → “A better title”", "notes changed", "tags − chat, − lab", "owned − rack 4"]
    # Other inputs without an answer lead to the planner, which says why, and are not saved with the answer of these.
    assert editor.get(f"{address}?device=another-of-the-past")["Location"].startswith("/?device=another-of-the-past")
    assert editor.post(address, {"title": "x", "inputs": "device=another-of-the-past", "base": "2"}).status_code == 400


def test_a_record_of_a_release_that_kept_less_is_still_shown(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    stored(plan, facts={"speed": {}, "weights": None})
    assert UNKNOWN in page_of(plan, people, text_of)


def test_inputs_that_a_later_release_does_not_know_are_compared_as_they_were_typed() -> None:
    before: Mapping[str, str] = {**INPUTS, "turbo": "on", "engine": "an-engine-of-the-past", "port": "70000"}
    assert [str(each) for each in changed_inputs(before, {**INPUTS, "users": "21"})] == [
        "users 20 → 21",
        "engine an-engine-of-the-past → vllm",
        "port 70000 → not given",
    ]


def test_every_fact_has_a_name_of_its_own_and_is_found_in_a_record(made: MakeRecord) -> None:
    result = made().result
    assert len({fact.name for fact in FACTS}) == len(FACTS)
    known = [fact.name for fact in FACTS if fact.of(result) != UNKNOWN]
    # The others need lengths or a revision, which these inputs do not give.
    assert len(known) >= len(FACTS) - 3
    assert list(differences(result, result)) == []


def test_two_plans_side_by_side_show_what_differs_first(plan: SavedPlan, people: People, made: MakeRecord) -> None:
    other = save_new(people.owner, Content("For more", {**INPUTS, "users": "60"}), made(users="60"))
    page = people.client("owner").get(reverse("plan-compare"), {"a": plan.public_id, "b": other.public_id}).content.decode()
    asked = page[page.index('id="asked"') :]
    assert asked.index(">users<") < asked.index(">device<") < asked.index(">engine<")
    assert '<td class="differs">60</td>' in asked
    answered = page[page.index('id="answered"') :]
    assert answered.index(">slots needed<") < answered.index(">weight format<")


def test_plans_are_compared_without_an_account_by_their_addresses(client: Client, db: None, text_of: TextOf) -> None:
    wanted = [QUERY, f"http://testserver/?{QUERY}&kv=1", f"/?{QUERY.replace('20', '60')}", QUERY.replace("rtx-4090", "l4")]
    response = client.get(reverse("plan-compare"), dict(zip("abcd", wanted, strict=True)))
    assert response.status_code == 200
    assert "What differs stands first." in text_of(response)
    link = f"{reverse('plan-compare')}?a={quote(query(INPUTS), safe='')}"
    assert link in client.get(f"/?{QUERY}").content.decode(), "the planner leads here"


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"a": QUERY, "b": "users=0"}, "has no answer"),
        ({"a": QUERY, "b": "no plan"}, "is no plan: give the address of one"),
        ({"a": QUERY, "b": "http://[/"}, "is no plan: give the address of one"),
        ({"a": "x=" * 40_000, "b": QUERY}, "longer than any plan"),
        ({"plan": [QUERY] * 5}, "4 at most stand side by side"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_sentence(
    client: Client, db: None, text_of: TextOf, wanted: dict[str, str], sentence: str
) -> None:
    response = client.get(reverse("plan-compare"), wanted)
    assert response.status_code == 400
    assert sentence in text_of(response)


def test_a_plan_that_one_may_not_see_cannot_be_compared_either(plan: SavedPlan, people: People) -> None:
    for name in ("anonymous", "stranger"):
        there = people.client(name).get(reverse("plan-compare"), {"a": plan.public_id, "b": QUERY})
        nowhere = people.client(name).get(reverse("plan-compare"), {"a": "A" * 22, "b": QUERY})
        assert there.status_code == nowhere.status_code == 404
    assert people.client("reader").get(reverse("plan-compare"), {"a": plan.public_id, "b": QUERY}).status_code == 200


def test_a_plan_that_was_shared_is_compared_by_its_link_while_that_lives(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    link, secret = make_link(plan, people.owner)
    beside = {"a": f"http://testserver/s/{secret}/", "b": f"/?{QUERY}&users=60"}
    page = Client().get(reverse("plan-compare"), beside)
    assert "Chat for the lab" in text_of(page)
    assert "no-store" in page["Cache-Control"]
    assert ShareLink.objects.get().used_at is not None
    revoke(plan, link.pk)
    assert Client().get(reverse("plan-compare"), beside).status_code == 404
    _, locked = make_link(plan, people.owner, password="open sesame")
    page = Client().get(reverse("plan-compare"), {**beside, "a": f"/s/{locked}/"})
    assert page.status_code == 400
    assert "has a password" in text_of(page)
    assert "Chat for the lab" not in text_of(page)


def test_with_one_plan_the_page_asks_for_another(plan: SavedPlan, people: People) -> None:
    page = people.client("reader").get(reverse("plan-compare"), {"a": plan.public_id}).content.decode()
    assert f'name="a" list="own-plans" autocomplete="off" spellcheck="false" value="{plan.public_id}"' in page
    assert 'label="Chat for the lab"' in page
