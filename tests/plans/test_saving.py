"""Saving: every save a version, two editors, what changed in words, back to an older one."""

import re
import threading
import zipfile
from collections.abc import Callable
from io import BytesIO
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from planner.accounts.models import User
from planner.core.errors import InputError
from planner.plans import saving
from planner.plans.models import SavedPlan, Version
from planner.plans.saving import Conflict, Content, save_new, save_version
from tests.plans.conftest import INPUTS, MakeRecord, People, person

TextOf = Callable[[HttpResponse], str]
QUERY = urlencode(INPUTS)


def sent(**changes: str) -> dict[str, str]:
    return {"inputs": QUERY, "title": "Mine", "notes": "", "tags": "", "owned": "", **changes}


def edit(client: Client, plan: SavedPlan, **changes: str) -> HttpResponse:
    return client.post(reverse("plan-edit", args=[plan.public_id]), {"base": "1", **sent(**changes)})


def test_a_plan_is_saved_with_its_answer_and_what_made_it(people: People) -> None:
    client = people.client("stranger")
    response = client.post(reverse("plan-new"), sent(tags="chat, lab, chat", owned="2 × RTX 3090", notes="Why.\r\nAnd how."))
    version = Version.objects.get()
    assert response["Location"] == reverse("plan", args=[version.plan.public_id])
    assert (version.number, version.author, version.plan.owner) == (1, people.stranger, people.stranger)
    assert version.inputs == INPUTS
    assert version.result["workload"]["users"] == 20
    assert version.result["engine"]["name"] == "vllm"
    assert (version.tags, version.owned, version.notes) == (("chat", "lab"), ("2 × RTX 3090",), "Why.\nAnd how.")
    assert version.application
    assert version.catalog
    assert version.engine.startswith("vLLM ")


def test_the_plans_address_cannot_be_guessed(plan: SavedPlan) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", plan.public_id), "128 bits"


def test_a_plan_can_be_saved_in_a_team_by_its_editors_only(people: People) -> None:
    for name, owner in (("editor", people.team), ("reader", None), ("stranger", None)):
        people.client(name).post(reverse("plan-new"), sent(title=name, team=people.team.public_id))
        saved = SavedPlan.objects.filter(versions__title=name).first()
        # A team that is not offered is no choice of the form; nothing is saved anywhere else instead.
        assert (saved.team if saved else None) == owner or (saved and saved.owner == people.who[name])
    assert not people.team.plans.exclude(versions__title="editor").exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"title": " "}, "This field is required."),
        ({"title": "x" * 121}, "at most 120 characters"),
        ({"notes": "x" * 20_001}, "at most 20000 characters"),
        ({"tags": ",".join(str(n) for n in range(21))}, "These are 21 labels: keep to 20."),
        ({"tags": "x" * 61}, "longer than 60 characters"),
        ({"notes": "a\0b"}, "Null characters are not allowed."),
        ({"inputs": "users=0"}, "These inputs have no answer"),
        ({"inputs": "x" * 70_000}, "These inputs have no answer"),
        ({"inputs": urlencode({**INPUTS, "host": "a\0b"})}, "no answer"),
    ],
)
def test_what_cannot_be_saved_is_refused_with_its_sentence_and_nothing_is_lost(
    people: People, text_of: TextOf, changes: dict[str, str], sentence: str
) -> None:
    response = people.client("stranger").post(reverse("plan-new"), sent(**changes))
    assert response.status_code == 400
    assert sentence in text_of(response)
    assert not SavedPlan.objects.exists()
    assert 'name="notes"' in response.content.decode()


def test_a_character_that_no_database_holds_is_refused_in_inputs_too(people: People, made: MakeRecord) -> None:
    with pytest.raises(InputError, match="cannot be kept"):
        save_new(people.stranger, Content("x", {**INPUTS, "model_path": "a\0b"}), made())


def test_a_title_is_one_line_whatever_was_typed(people: People) -> None:
    people.client("stranger").post(reverse("plan-new"), sent(title="a\u202eb\nc\td"))
    assert Version.objects.get().title == "a b c d"


def test_from_the_planner_to_the_form_with_everything_that_was_typed(people: People, text_of: TextOf) -> None:
    client = people.client("stranger")
    page = client.get(f"/?{QUERY}").content.decode()
    link = re.search(r'href="(/plans/new/\?[^"]+)"', page)
    assert link
    form = client.get(link[1].replace("&amp;", "&"))
    assert "20 users" in text_of(form)
    assert 'value="Qwen3-8B on GeForce RTX 4090"' in form.content.decode()


def test_inputs_without_an_answer_lead_back_to_the_planner_which_says_why(people: People) -> None:
    response = people.client("stranger").get(reverse("plan-new") + "?device=rtx-4090&users=0")
    assert response["Location"] == "/?device=rtx-4090&users=0"


def test_changing_a_saved_plan_goes_through_the_planner_and_back(plan: SavedPlan, people: People) -> None:
    client = people.client("editor")
    page = client.get(reverse("plan", args=[plan.public_id])).content.decode()
    change = re.search(r'href="(/\?[^"]*saved=[^"]*)"', page)
    assert change
    planner = client.get(change[1].replace("&amp;", "&").replace("users=20", "users=35")).content.decode()
    assert "Save version 2" in planner
    save = re.search(r'href="(/plans/new/\?[^"]+)"', planner)
    assert save
    form = client.get(save[1].replace("&amp;", "&"), follow=True)
    assert form.request["PATH_INFO"] == reverse("plan-edit", args=[plan.public_id])
    assert "users 20 → 35" in form.content.decode()
    assert 'name="base" value="1"' in form.content.decode()


def test_who_may_not_change_the_plan_saves_what_they_made_as_their_own(plan: SavedPlan, people: People) -> None:
    for name in ("reader", "stranger"):
        response = people.client(name).get(reverse("plan-new") + f"?{QUERY}&saved={plan.public_id}.1")
        assert response.status_code == 200
        assert f'action="{reverse("plan-new")}"' in response.content.decode()


def test_a_new_version_says_in_words_what_changed(plan: SavedPlan, people: People) -> None:
    more = urlencode({**INPUTS, "users": "60", "context": "16k"})
    edit(people.client("editor"), plan, inputs=more, title="Chat for all", notes="x", tags="chat, all", owned="rack 4")
    version = plan.versions.get(number=2)
    assert version.author == people.editor
    assert version.changes[:3] == ["title “Chat for the lab” → “Chat for all”", "context 8192 → 16k", "users 20 → 60"]
    assert any(re.fullmatch(r"slots needed \d+ → \d+", change) for change in version.changes)
    assert version.changes[-2:] == ["notes changed", "tags + all, − lab"]


def test_the_same_number_typed_in_another_way_is_no_change(plan: SavedPlan, people: People) -> None:
    edit(
        people.client("editor"),
        plan,
        inputs=QUERY + "&context=8k",
        title="Chat for the lab",
        notes="For **everybody** in the lab.",
        tags="chat, lab",
        owned="rack 4",
    )
    assert plan.versions.get(number=2).changes == []


def test_the_second_of_two_editors_sees_both_and_nothing_is_lost(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    edit(people.client("owner"), plan, title="Theirs", inputs=urlencode({**INPUTS, "users": "25"}))
    response = edit(people.client("editor"), plan, title="Ours", inputs=urlencode({**INPUTS, "users": "30"}), notes="a <b> note")
    assert response.status_code == 409
    page = text_of(response)
    assert "You began with version 1; version 2 is there by now." in page
    assert "users 20 → 25" in page
    assert "users 20 → 30" in page
    assert "users 25 → 30" in page
    assert plan.versions.count() == 2
    kept = response.content.decode()
    assert 'name="title" value="Ours"' in kept
    assert "a &lt;b&gt; note" in kept
    assert 'name="base" value="2"' in kept


def test_after_the_conflict_ones_own_can_be_saved_over_it_or_beside_it(plan: SavedPlan, people: People) -> None:
    edit(people.client("owner"), plan, title="Theirs")
    editor = people.client("editor")
    edit(editor, plan, title="Ours", base="2")
    assert [version.title for version in plan.versions.all()] == ["Ours", "Theirs", "Chat for the lab"]
    editor.post(reverse("plan-new"), sent(title="Beside"))
    assert SavedPlan.objects.get(owner=people.editor).newest.title == "Beside"


def test_an_old_version_comes_back_as_a_new_one(plan: SavedPlan, people: People) -> None:
    editor = people.client("editor")
    edit(editor, plan, title="Second", inputs=urlencode({**INPUTS, "users": "60"}))
    editor.post(reverse("plan-restore", args=[plan.public_id, 1]), {"base": "2"})
    first, third = plan.versions.get(number=1), plan.versions.get(number=3)
    for name in ("title", "notes", "tags", "owned", "inputs", "result", "application", "catalog", "engine"):
        assert getattr(third, name) == getattr(first, name)
    assert third.restored_from == 1
    assert third.changes[:2] == ["version 1 restored", "title “Second” → “Chat for the lab”"]
    assert plan.versions.get(number=2).title == "Second"


def test_nothing_is_restored_over_a_version_that_was_not_seen(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    edit(people.client("owner"), plan, title="Second")
    response = people.client("editor").post(reverse("plan-restore", args=[plan.public_id, 1]), {"base": "1"}, follow=True)
    assert "Somebody saved version 2 meanwhile" in text_of(response)
    assert plan.versions.count() == 2


@pytest.mark.parametrize("base", ["", "x", "-1", "９", "1" * 30])
def test_a_base_that_is_no_number_restores_nothing(plan: SavedPlan, people: People, base: str) -> None:
    assert people.client("editor").post(reverse("plan-restore", args=[plan.public_id, 1]), {"base": base}).status_code == 404
    assert plan.versions.count() == 1


@pytest.mark.parametrize("number", [0, 2, 10**30])
def test_a_version_that_is_not_there_is_not_found(plan: SavedPlan, people: People, number: int) -> None:
    client = people.client("editor")
    assert client.get(reverse("plan-version", args=[plan.public_id, number])).status_code == 404
    assert client.post(reverse("plan-restore", args=[plan.public_id, number]), {"base": "1"}).status_code == 404


def test_the_files_are_the_same_bytes_every_time_and_those_of_the_planner(plan: SavedPlan, people: People) -> None:
    client = people.client("reader")
    first, second = (client.get(reverse("plan-files", args=[plan.public_id])) for _ in range(2))
    assert first.content == second.content == Client().get(f"/files.zip?{QUERY}").content
    assert first["Content-Disposition"] == 'attachment; filename="slotwise-vllm.zip"'
    assert "README.md" in zipfile.ZipFile(BytesIO(first.content)).namelist()


def test_a_copy_is_ones_own_and_says_where_it_is_from(plan: SavedPlan, people: People) -> None:
    people.client("reader").post(reverse("plan-copy", args=[plan.public_id]))
    copy = SavedPlan.objects.get(owner=people.reader)
    assert copy.newest.title == "Copy of Chat for the lab"
    assert copy.newest.notes == plan.newest.notes
    assert copy.newest.changes == ["copied"]


def test_a_plan_moves_only_into_a_team_where_one_edits(plan: SavedPlan, people: People) -> None:
    stranger = people.client("stranger")
    stranger.post(reverse("plan-new"), sent())
    own = SavedPlan.objects.get(owner=people.stranger)
    assert stranger.post(reverse("plan-move", args=[own.public_id]), {"team": people.team.public_id}).status_code == 404
    people.client("owner").post(reverse("plan-move", args=[plan.public_id]), {"team": ""})
    plan.refresh_from_db()
    assert (plan.team, plan.owner) == (None, people.owner)
    assert people.client("editor").get(reverse("plan", args=[plan.public_id])).status_code == 404


def test_an_approval_has_a_name_and_a_date_and_belongs_to_its_version(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    editor, address = people.client("editor"), reverse("plan", args=[plan.public_id])
    editor.post(reverse("plan-approve", args=[plan.public_id, 1]))
    assert re.search(r"approved by editor, \d+ \w+ \d{4}", text_of(editor.get(address)))
    edit(editor, plan, title="Next")
    assert "approved by" not in text_of(editor.get(address))
    assert "approved by editor" in text_of(editor.get(reverse("plan-versions", args=[plan.public_id])))
    editor.post(reverse("plan-approve", args=[plan.public_id, 1]), {"withdraw": "1"})
    assert plan.versions.get(number=1).approved_by is None


def test_a_deleted_plan_is_gone_with_its_versions(plan: SavedPlan, people: People) -> None:
    owner = people.client("owner")
    assert "1 version" in owner.get(reverse("plan-delete", args=[plan.public_id])).content.decode()
    owner.post(reverse("plan-delete", args=[plan.public_id]))
    assert not Version.objects.exists()
    assert owner.get(reverse("plan", args=[plan.public_id])).status_code == 404


def test_there_is_an_end_to_plans_and_versions(plan: SavedPlan, people: People, made: MakeRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MAX_PLANS", 1)
    monkeypatch.setattr(saving, "MAX_VERSIONS", 1)
    with pytest.raises(InputError, match="delete some first"):
        save_new(people.owner, Content("x", INPUTS), made(), team=people.team)
    with pytest.raises(InputError, match="go on with a copy"):
        save_version(plan, people.owner, Content("x", INPUTS), made(), base=1)
    save_new(people.owner, Content("x", INPUTS), made())
    people.client("owner").post(reverse("plan-move", args=[plan.public_id]), {"team": ""})
    plan.refresh_from_db()
    assert plan.team == people.team, "moving is no way round it"


def test_the_list_shows_what_one_may_see_and_finds_it(plan: SavedPlan, people: People, text_of: TextOf, made: MakeRecord) -> None:
    save_new(people.reader, Content("The bench", INPUTS, tags=("lab rats",)), made())
    save_new(people.stranger, Content("Not yours", INPUTS), made())
    reader, address = people.client("reader"), reverse("plans")
    page = text_of(reader.get(address))
    assert "The bench" in page
    assert "Chat for the lab" in page
    assert "Not yours" not in page
    for wanted, found in (("q=chat", "Chat"), ("tag=lab", "Chat"), ("team=mine", "The bench"), (f"team={people.team.public_id}", "Chat")):
        page = text_of(reader.get(f"{address}?{wanted}"))
        assert ("Chat for the lab" in page, "The bench" in page) == (found == "Chat", found == "The bench"), wanted
    for wanted in ("q=Not+yours", "tag=%00", "team=x", "page=999", "page=x", "q=" + "x" * 5_000):
        assert reader.get(f"{address}?{wanted}").status_code == 200
    assert "No plan matches." in text_of(reader.get(f"{address}?q=nothing"))


def test_an_empty_list_says_how_to_begin(people: People, text_of: TextOf) -> None:
    assert "Nothing is kept yet. Make a plan" in text_of(people.client("stranger").get(reverse("plans")))


def test_pages_ask_as_much_of_many_plans_as_of_one(
    plan: SavedPlan, people: People, made: MakeRecord, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(40):
        save_new(people.owner, Content(f"Plan {number}", INPUTS), made(), team=people.team)
    for number in range(1, 12):
        save_version(plan, people.owner, Content(f"Plan {number}", INPUTS), made(), base=number)
    client = people.client("owner")
    with django_assert_max_num_queries(7):
        page = client.get(reverse("plans"))
    assert "Page 1 of 2" in page.content.decode()
    with django_assert_max_num_queries(16):
        client.get(reverse("plan", args=[plan.public_id]))
    with django_assert_max_num_queries(7):
        client.get(reverse("plan-versions", args=[plan.public_id]))


@pytest.mark.django_db(transaction=True)
def test_of_many_who_save_at_once_each_is_saved_or_told(made: MakeRecord) -> None:
    author: User = person("author")
    result = made()
    plan = save_new(author, Content("Start", INPUTS), result)
    outcomes: list[str] = []

    def save(number: int) -> None:
        try:
            version = save_version(plan, author, Content(f"By {number}", INPUTS), result, base=1)
            outcomes.append(f"saved {version.number}")
        except Conflict as conflict:
            outcomes.append(f"told of {conflict.newest.number}")
        finally:
            connection.close()

    writers = [threading.Thread(target=save, args=[number]) for number in range(12)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(outcomes) == ["saved 2"] + ["told of 2"] * 11
    assert list(plan.versions.values_list("number", flat=True)) == [2, 1]
