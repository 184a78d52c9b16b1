"""Shared links: read-only, for who has them, until they are revoked, expire, or want a password."""

import re
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from planner.core.errors import InputError
from planner.operations.rates import Limit
from planner.plans import sharing
from planner.plans.models import SavedPlan, ShareLink
from planner.plans.saving import Content, save_new
from planner.plans.sharing import make_link
from tests.plans.conftest import INPUTS, MakeRecord, People, person

TextOf = Callable[[HttpResponse], str]


def shared(people: People, plan: SavedPlan, **sent: str) -> str:
    """The path of a new link, as its page shows it."""
    page = people.client("editor").post(reverse("plan-share", args=[plan.public_id]), sent).content.decode()
    found = re.search(r'id="made-link">http://testserver(/s/[^<]+)<', page)
    assert found
    return found[1]


def test_a_link_has_192_random_bits_and_only_its_hash_is_kept(plan: SavedPlan, people: People) -> None:
    path = shared(people, plan)
    secret = path.removeprefix("/s/").removesuffix("/")
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", secret)
    kept = ShareLink.objects.get()
    assert secret not in {str(getattr(kept, field.name)) for field in ShareLink._meta.concrete_fields}
    again = people.client("editor").get(reverse("plan-share", args=[plan.public_id]))
    assert secret not in again.content.decode(), "shown once"


def test_whoever_has_the_link_reads_the_newest_version_and_nothing_around_it(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    people.client("owner").post(reverse("plan-comment", args=[plan.public_id]), {"text": "between ourselves"})
    response = Client().get(shared(people, plan, label="the shop"))
    page = text_of(response)
    assert "Chat for the lab" in page
    assert "everybody in the lab" in page
    for private in ("between ourselves", "Lamps", "the shop", "owner", "History", "Share"):
        assert private not in page.replace("Shared with you", "")
    assert plan.public_id not in response.content.decode()
    assert response["X-Robots-Tag"] == "noindex"
    assert Client().get(shared(people, plan) + "files.zip")["Content-Type"] == "application/zip"


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_nothing_can_be_changed_through_a_link(plan: SavedPlan, people: People, method: str) -> None:
    assert getattr(Client(), method)(shared(people, plan)).status_code == 405
    Client().post(shared(people, plan), {"title": "Mine"})
    assert plan.versions.count() == 1


def test_a_revoked_link_is_dead_with_the_next_request_and_was_in_no_cache(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    path, reader = shared(people, plan), Client()
    assert "no-store" in reader.get(path)["Cache-Control"]
    people.client("editor").post(reverse("plan-unshare", args=[plan.public_id, plan.links.get().pk]))
    for address in (path, path + "files.zip"):
        response = reader.get(address)
        assert response.status_code == 404
        assert "no-store" in response["Cache-Control"]
    assert "revoked" in text_of(people.client("editor").get(reverse("plan-share", args=[plan.public_id])))


def test_a_dead_link_cannot_be_told_from_one_that_never_was(plan: SavedPlan, people: People) -> None:
    path = shared(people, plan)
    ShareLink.objects.update(revoked_at=timezone.now())
    pages = [Client().get(address).content.decode().replace(address, "…") for address in (path, f"/s/{'A' * 32}/")]
    assert pages[0] == pages[1]


def test_a_link_ends_when_it_was_to_end(plan: SavedPlan, people: People) -> None:
    path = shared(people, plan, days="7")
    assert abs(plan.links.get().expires_at - timezone.now() - timedelta(days=7)) < timedelta(minutes=5)
    assert Client().get(path).status_code == 200
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(path).status_code == 404


def test_a_link_with_a_password_says_nothing_before_it(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    path, reader = shared(people, plan, password="open sesame"), Client()
    assert "open sesame" not in plan.links.get().password
    asked = reader.get(path)
    assert "This link has a password" in text_of(asked)
    assert "Chat for the lab" not in asked.content.decode()
    assert reader.get(path + "files.zip")["Location"] == path
    assert people.client("stranger").get(path + "copy/")["Location"] == path
    assert plan.links.get().used_at is None
    assert reader.post(path, {"password": "wrong"}).status_code == 400
    assert reader.post(path, {"password": "open sesame"})["Location"] == path
    assert "Chat for the lab" in text_of(reader.get(path))
    assert "Chat for the lab" not in text_of(Client().get(path)), "opened for this reader only"


def test_passwords_cannot_be_tried_on_and_on_from_wherever(plan: SavedPlan, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "PASSWORD_TRIES", Limit("tries", 3, 900))
    path = shared(people, plan, password="open sesame")
    seen = [Client(REMOTE_ADDR=f"10.0.0.{n}").post(path, {"password": "wrong"}).status_code for n in range(4)]
    assert seen == [400, 400, 400, 429]
    assert Client().post(path, {"password": "open sesame"}).status_code == 429


def test_the_list_of_links_says_when_each_was_last_used(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    path, editor, address = shared(people, plan, label="the shop"), people.client("editor"), reverse("plan-share", args=[plan.public_id])
    assert "never" in text_of(editor.get(address))
    Client().get(path)
    page = text_of(editor.get(address))
    assert "the shop" in page
    assert "never" not in page
    used = plan.links.get().used_at
    Client().get(path)
    assert plan.links.get().used_at == used, "written once a minute"


def test_a_reader_of_a_link_makes_their_own_copy_by_way_of_a_log_in(plan: SavedPlan, people: People) -> None:
    path = shared(people, plan)
    copy = re.search(r'href="(/s/[^"]+/copy/)"', Client().get(path).content.decode())
    assert copy
    assert Client().get(copy[1])["Location"] == f"{reverse('login')}?next={copy[1]}"
    stranger = people.client("stranger")
    assert stranger.get(copy[1]).status_code == 200
    stranger.post(copy[1])
    mine = SavedPlan.objects.get(owner=people.stranger)
    assert mine.newest.title == "Copy of Chat for the lab"
    assert mine.newest.inputs == plan.newest.inputs


def test_there_is_an_end_to_links(plan: SavedPlan, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MAX_LINKS", 1)
    make_link(plan, people.owner)
    with pytest.raises(InputError, match="revoke some first"):
        make_link(plan, people.owner)


def test_a_link_of_another_plan_is_not_revoked_from_here(plan: SavedPlan, people: People, made: MakeRecord) -> None:
    other = save_new(people.stranger, Content("Other", INPUTS), made())
    link, _ = make_link(other, people.stranger)
    people.client("editor").post(reverse("plan-unshare", args=[plan.public_id, link.pk]))
    assert ShareLink.objects.get().revoked_at is None


@pytest.mark.django_db(transaction=True)
def test_a_link_revoked_while_it_is_read_opens_nothing_afterwards(made: MakeRecord) -> None:
    owner = person("owner")
    plan = save_new(owner, Content("Start", INPUTS), made())
    link, secret = make_link(plan, owner)
    revoked, late = threading.Event(), []

    def read() -> None:
        try:
            for _ in range(30):
                after = revoked.is_set()
                status = Client().get(reverse("share", args=[secret])).status_code
                if after:
                    late.append(status)
        finally:
            connection.close()

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    sharing.revoke(plan, link.pk)
    revoked.set()
    for reader in readers:
        reader.join()
    assert late
    assert set(late) == {404}
