"""Teams: who comes in, what each may, and that there is always an owner."""

import re
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core import mail
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from planner.accounts import joining
from planner.accounts.joining import accept, invite, make_team
from planner.accounts.models import Invitation, Membership, Team, TeamDevice
from planner.accounts.roles import Role
from planner.core.errors import InputError
from planner.core.prices import parse_prices
from planner.plans.models import SavedPlan
from tests.plans.conftest import PASSWORD, People, person

TextOf = Callable[[HttpResponse], str]


def role_of(people: People, name: str) -> Role | None:
    found = Membership.objects.filter(team=people.team, user=people.who[name]).first()
    return Role(found.role) if found else None


def invited(people: People, **sent: str) -> str:
    page = people.client("owner").post(reverse("team-invite", args=[people.team.public_id]), {"role": "2", **sent}).content.decode()
    found = re.search(r'id="made-link">http://testserver(/invitations/[^<]+)<', page)
    assert found
    return found[1]


def test_whoever_starts_a_team_owns_it(people: People) -> None:
    response = people.client("stranger").post(reverse("teams"), {"name": "  Night\nshift "})
    team = Team.objects.get(name="Night shift")
    assert response["Location"] == reverse("team", args=[team.public_id])
    assert Membership.objects.get(team=team).role == Role.OWNER


def test_the_list_of_teams_has_ones_own_only(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    assert "Lamps Reader 3 1" in text_of(people.client("reader").get(reverse("teams")))
    assert "You are in no team yet." in text_of(people.client("stranger").get(reverse("teams")))


def test_an_invitation_by_link_lets_one_person_in_once(people: People, text_of: TextOf) -> None:
    path = invited(people)
    assert "Join “Lamps”" in text_of(Client().get(path))
    assert people.client("stranger").post(path)["Location"] == reverse("team", args=[people.team.public_id])
    assert role_of(people, "stranger") == Role.EDITOR
    assert Client().get(path).status_code == 404
    assert Invitation.objects.get().secret_hash not in path


def test_an_invitation_by_mail_leads_to_the_site_and_into_the_team_with_a_new_account(people: People) -> None:
    invited(people, email="New@example.org")
    assert mail.outbox[0].to == ["new@example.org"]
    link = re.search(r"http://127\.0\.0\.1:\d+(/invitations/\S+)", str(mail.outbox[0].body))
    assert link
    client = Client()
    signup = re.search(r'href="(/accounts/signup/\?invitation=([^"]+))"', client.get(link[1]).content.decode())
    assert signup
    sent = {"email": "new@example.org", "username": "new", "password": PASSWORD, "invitation": signup[2]}
    assert client.post(reverse("signup"), sent)["Location"] == reverse("team", args=[people.team.public_id])


def test_a_name_with_line_breaks_makes_no_header_of_a_mail(people: People) -> None:
    Team.objects.filter(pk=people.team.pk).update(name="Lamps\r\nBcc: all@example.org")
    invited(people, email="new@example.org")
    assert "Bcc" not in mail.outbox[0].message()
    assert "\n" not in mail.outbox[0].subject


def test_an_invitation_ends_when_it_is_withdrawn_or_old(people: People) -> None:
    first, second = invited(people), invited(people)
    people.client("owner").post(reverse("team-uninvite", args=[people.team.public_id, Invitation.objects.earliest("pk").pk]))
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    for path in (first, second):
        assert people.client("stranger").post(path).status_code == 404
    assert role_of(people, "stranger") is None


def test_nobodys_role_sinks_by_an_invitation(people: People) -> None:
    people.client("owner").post(invited(people, role="1"))
    assert role_of(people, "owner") == Role.OWNER
    people.client("reader").post(invited(people, role="2"))
    assert role_of(people, "reader") == Role.EDITOR


def test_roles_are_given_and_taken(people: People) -> None:
    owner = people.client("owner")
    member = Membership.objects.get(user=people.reader)
    address = reverse("team-member", args=[people.team.public_id, member.pk])
    owner.post(address, {"role": "2"})
    assert role_of(people, "reader") == Role.EDITOR
    owner.post(address, {"role": ""})
    assert role_of(people, "reader") is None
    assert owner.post(address, {"role": "1"}).status_code == 404
    assert owner.post(reverse("team-member", args=[people.team.public_id, member.pk + 1_000]), {"role": "1"}).status_code == 404


@pytest.mark.parametrize("role", ["0", "4", "x", "３", "-1"])
def test_a_role_that_is_none_is_not_given(people: People, role: str) -> None:
    member = Membership.objects.get(user=people.reader)
    assert people.client("owner").post(reverse("team-member", args=[people.team.public_id, member.pk]), {"role": role}).status_code == 404


def test_a_member_of_another_team_is_not_changed_from_here(people: People) -> None:
    other = make_team(people.stranger, "Other")
    member = other.memberships.get()
    assert people.client("owner").post(reverse("team-member", args=[people.team.public_id, member.pk]), {"role": ""}).status_code == 404
    assert other.memberships.count() == 1


def test_the_last_owner_stays(people: People, text_of: TextOf) -> None:
    owner = people.client("owner")
    for address, sent in (
        (reverse("team-leave", args=[people.team.public_id]), {}),
        (reverse("team-member", args=[people.team.public_id, Membership.objects.get(user=people.owner).pk]), {"role": "1"}),
    ):
        assert "A team needs an owner" in text_of(owner.post(address, sent, follow=True))
        assert role_of(people, "owner") == Role.OWNER


def test_whoever_leaves_or_is_taken_out_sees_nothing_any_more(plan: SavedPlan, people: People) -> None:
    reader, address = people.client("reader"), reverse("plan", args=[plan.public_id])
    assert reader.get(address).status_code == 200
    reader.post(reverse("team-leave", args=[people.team.public_id]))
    assert reader.get(address).status_code == 404
    assert reader.get(reverse("team", args=[people.team.public_id])).status_code == 404


def test_a_deleted_team_takes_its_plans_with_it(plan: SavedPlan, people: People) -> None:
    people.client("owner").post(reverse("team-delete", args=[people.team.public_id]))
    assert not SavedPlan.objects.exists()
    assert not Team.objects.exists()


def test_devices_and_prices_stand_once_each(people: People, text_of: TextOf) -> None:
    editor, address = people.client("editor"), reverse("team-device", args=[people.team.public_id])
    editor.post(address, {"device": "rtx-4090", "owned": "2", "price": "1799.00", "currency": "EUR"})
    editor.post(address, {"device": "rtx-4090", "owned": "3", "price": "", "currency": "EUR"})
    kept = TeamDevice.objects.get()
    assert (kept.owned, kept.price) == (3, None)
    assert "rtx-4090 3 not given" in text_of(people.client("reader").get(reverse("team", args=[people.team.public_id])))
    for wrong in ({"device": "rtx-9999"}, {"owned": "-1"}, {"owned": "9" * 30}, {"price": "-1"}, {"price": "NaN"}, {"currency": "euro"}):
        assert editor.post(address, {"device": "l4", "owned": "1", "price": "1", "currency": "EUR"} | wrong).status_code == 400, wrong
    editor.post(reverse("team-device-remove", args=[people.team.public_id, kept.pk]))
    assert not TeamDevice.objects.exists()


def test_a_teams_prices_are_a_file_that_the_hardware_table_reads(people: People) -> None:
    for name, price in (("rtx-4090", "1799.50"), ("l4", None)):
        TeamDevice.objects.create(team=people.team, device=name, price=price)
    text = people.client("reader").get(reverse("team-prices", args=[people.team.public_id])).content.decode()
    price = parse_prices(text).of("rtx-4090")
    assert price
    assert (price.amount, price.currency) == (1799.5, "EUR")


def test_there_is_an_end_to_teams_and_invitations(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MAX_TEAMS", 1)
    monkeypatch.setattr(joining, "MAX_OPEN_INVITATIONS", 1)
    with pytest.raises(InputError, match="leave one"):
        make_team(people.owner, "Another")
    invite(people.owner, people.team, role=Role.READER)
    with pytest.raises(InputError, match="withdraw some"):
        invite(people.owner, people.team, role=Role.READER)


@pytest.mark.django_db(transaction=True)
def test_of_many_who_accept_one_invitation_at_once_one_comes_in() -> None:
    owner = person("owner")
    team = make_team(owner, "Lamps")
    invitation, _ = invite(owner, team, role=Role.READER)
    others = [person(f"other-{number}") for number in range(8)]
    accepted: list[bool] = []

    def take_up(number: int) -> None:
        try:
            accepted.append(accept(invitation, others[number]))
        finally:
            connection.close()

    threads = [threading.Thread(target=take_up, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(accepted) == [False] * 7 + [True]
    assert team.memberships.count() == 2
