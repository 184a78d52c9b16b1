"""One's own name and address, and accounts whose address is proved: a page tells nobody who else is here."""

import re
from typing import Final

import pytest
from axes.models import AccessAttempt
from django.conf import Settings
from django.core import mail
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from planner.accounts import limits
from planner.accounts.joining import invite
from planner.accounts.models import User
from planner.accounts.proofs import for_account, for_address
from planner.accounts.roles import Role
from planner.operations.rates import Limit
from tests.plans.conftest import PASSWORD, People

SIGNUP: Final = "/accounts/signup/"
REST: Final = {"username": "new", "password": PASSWORD}


@pytest.fixture
def mailing(settings: Settings) -> None:
    """A site that sends mails; the test's outbox takes them."""
    settings.EMAIL_HOST = "mail.example.org"


def link_in(number: int = -1) -> str:
    found = re.search(r"http://\S+?(/accounts/(?:signup|address)/\S+)", str(mail.outbox[number].body))
    assert found
    return found[1]


def seen(response: HttpResponse) -> tuple[object, ...]:
    return response.status_code, response.headers.get("Location"), re.sub(rb'value="[^"]+"', b"", response.content)


@pytest.mark.usefixtures("mailing")
def test_an_account_is_made_by_who_reads_the_mail(client: Client, db: None) -> None:
    client.post(SIGNUP, {"email": "New@Example.org", "next": "/plans/new/?users=7"})
    assert not User.objects.exists()
    assert mail.outbox[0].to == ["new@example.org"]
    response = client.post(link_in(), REST)
    assert response["Location"] == "/plans/new/?users=7"
    assert User.objects.get().email == "new@example.org"
    assert client.get("/plans/").status_code == 200
    assert Client().get(link_in()).status_code == 410, "the link works once"


@pytest.mark.usefixtures("mailing")
def test_the_sign_up_does_not_tell_whether_there_is_such_an_account(people: People) -> None:
    new, known = (Client().post(SIGNUP, {"email": f"{name}@example.org"}) for name in ("nobody", "owner"))
    assert seen(new) == seen(known)
    assert [each.to for each in mail.outbox] == [["nobody@example.org"], ["owner@example.org"]]
    assert "account already" in str(mail.outbox[1].body)
    assert "/accounts/signup/" not in str(mail.outbox[1].body)


@pytest.mark.usefixtures("mailing")
def test_an_invitation_goes_along_through_the_mail(client: Client, people: People, settings: Settings) -> None:
    settings.SITE_MODE = "invitation"
    assert client.post(SIGNUP, {"email": "new@example.org"}).status_code == 403
    _, secret = invite(people.owner, people.team, role=Role.EDITOR)
    client.post(SIGNUP, {"email": "new@example.org", "invitation": secret})
    assert Client().post(link_in(), REST)["Location"] == f"/teams/{people.team.public_id}/"
    assert people.team.memberships.get(user__username="new").role == Role.EDITOR


@pytest.mark.usefixtures("mailing")
def test_a_withdrawn_invitation_opens_nothing_in_a_mail_either(client: Client, people: People, settings: Settings) -> None:
    settings.SITE_MODE = "invitation"
    made, secret = invite(people.owner, people.team, role=Role.EDITOR)
    client.post(SIGNUP, {"email": "new@example.org", "invitation": secret})
    made.delete()
    assert client.post(link_in(), REST).status_code == 403


@pytest.mark.usefixtures("mailing")
def test_nobody_is_flooded_with_proofs(people: People) -> None:
    for _ in range(5):
        Client().post(SIGNUP, {"email": "owner@example.org"})
    assert len(mail.outbox) == 3


@pytest.mark.parametrize("proof", ["x", "a:b:c", for_account("new@example.org", invitation="")[:-1], "e" * 4_000])
def test_a_link_that_is_none_of_ours_is_over(people: People, proof: str) -> None:
    assert Client().get(f"{SIGNUP}{proof}/").status_code == 410
    assert people.client("owner").post(f"/accounts/address/{proof}/").status_code == 410


def test_a_name_is_changed_and_mentioned_from_then_on(people: People) -> None:
    owner = people.client("owner")
    assert owner.post("/accounts/name/", {"username": "Lamp.Keeper"})["Location"] == "/accounts/"
    assert User.objects.get(pk=people.owner.pk).username == "Lamp.Keeper"
    assert "Lamp.Keeper" in owner.get("/accounts/").content.decode()


@pytest.mark.parametrize("name", ["READER", "with space", "", "@x", "x" * 41])
def test_a_name_that_cannot_be_is_refused_and_the_old_one_stays(people: People, name: str) -> None:
    response = people.client("owner").post("/accounts/name/", {"username": name})
    assert response.status_code == 400
    assert b">owner<" in response.content, "the head of the page has the name that is kept"
    assert User.objects.get(pk=people.owner.pk).username == "owner"


def test_an_address_is_changed_by_who_reads_the_new_ones_mail(people: People) -> None:
    owner = people.client("owner")
    owner.post("/accounts/address/", {"email": "Later@Example.org", "password": PASSWORD})
    assert User.objects.get(pk=people.owner.pk).email == "owner@example.org"
    assert mail.outbox[0].to == ["later@example.org"]
    assert b"later@example.org" in owner.get(link_in()).content
    assert User.objects.get(pk=people.owner.pk).email == "owner@example.org", "some mail servers follow links"
    assert people.client("reader").post(link_in()).status_code == 410
    assert owner.post(link_in())["Location"] == "/accounts/"
    assert User.objects.get(pk=people.owner.pk).email == "later@example.org"
    assert mail.outbox[1].to == ["owner@example.org"]
    assert owner.post(link_in(0)).status_code == 410, "the link works once"


def test_the_page_of_the_address_does_not_tell_who_else_is_here(people: People) -> None:
    owner, sent = people.client("owner"), {"password": PASSWORD}
    free, taken = (owner.post("/accounts/address/", {**sent, "email": f"{name}@example.org"}) for name in ("nobody", "reader"))
    assert seen(free) == seen(taken)
    assert "account already" in str(mail.outbox[1].body)
    assert "/accounts/address/" not in str(mail.outbox[1].body)


def test_an_address_that_was_taken_meanwhile_is_not_taken_over(people: People) -> None:
    proof = for_address(people.owner, "reader@example.org")
    assert people.client("owner").post(f"/accounts/address/{proof}/").status_code == 410
    assert User.objects.get(pk=people.owner.pk).email == "owner@example.org"


def test_a_new_password_ends_what_was_mailed_before_it(people: People) -> None:
    proof = for_address(people.owner, "later@example.org")
    people.owner.set_password("four large red lamps")
    people.owner.save()
    assert people.client("owner").post(f"/accounts/address/{proof}/").status_code == 410


@pytest.mark.parametrize(
    ("address", "sent"),
    [
        ("account-address", {"email": "later@example.org", "password": "wrong"}),
        ("account-delete", {"password": "wrong"}),
        ("password-change", {"old_password": "wrong", "new_password1": "four large red lamps", "new_password2": "four large red lamps"}),
    ],
)
def test_a_page_left_open_is_no_place_to_try_passwords(
    people: People, address: str, sent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PASSWORDS_AGAIN", Limit("passwords-again", 3, 3_600))
    owner = people.client("owner")
    assert [owner.post(reverse(address), sent).status_code for _ in range(4)] == [400, 400, 400, 429]
    assert not mail.outbox


def test_what_is_kept_of_a_wrong_log_in_has_no_secret(people: People) -> None:
    secret = "s" * 32
    Client().post(
        f"/accounts/login/?next=/invitations/{secret}/", {"username": "owner@example.org", "password": "wrong", "next": f"/s/{secret}/"}
    )
    attempt = AccessAttempt.objects.get()
    assert attempt.username == "owner@example.org"
    assert secret not in str(vars(attempt))
    assert "wrong" not in str(vars(attempt))
