"""Many at once, on each database: nothing saved is lost or there twice, and what is revoked is dead with the next request."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client

from planner.accounts.joining import accept, invite, set_role
from planner.accounts.models import Membership
from planner.accounts.roles import Role
from planner.plans.models import SavedPlan, Version
from planner.plans.saving import Conflict, Content, save_version
from planner.plans.sharing import make_link, revoke
from tests.plans.conftest import INPUTS, PASSWORD, MakeRecord, People

pytestmark = pytest.mark.django_db(transaction=True)

SAVES, THREADS = 200, 8
T = TypeVar("T")


def at_once(number: int, work: Callable[[int], T]) -> list[T]:
    """The results of `work(0)`, `work(1)`, …, as many at a time as there are threads, each thread with a connection of its own."""

    def alone(each: int) -> T:
        try:
            return work(each)
        finally:
            connection.close()

    with ThreadPoolExecutor(min(number, THREADS)) as pool:
        return list(pool.map(alone, range(number)))


def titled(title: str) -> Content:
    return Content(title, INPUTS)


def saved(plan: SavedPlan) -> list[tuple[int, str]]:
    return list(plan.versions.order_by("number").values_list("number", "title"))


def test_of_two_editors_who_save_at_once_one_is_told_and_sees_both(people: People, plan: SavedPlan) -> None:
    ready = threading.Barrier(2)
    names = ("editor", "owner")
    clients = [people.client(name) for name in names]

    def save(each: int) -> tuple[int, str]:
        form = {"inputs": urlencode({**INPUTS, "users": str(30 + each)}), "title": f"by the {names[each]}", "base": "1"}
        ready.wait()
        answer = clients[each].post(f"/plans/{plan.public_id}/edit/", form)
        return answer.status_code, answer.content.decode()

    (first, _), (second, page) = sorted(at_once(2, save))
    assert (first, second) == (302, 409)
    winner = saved(plan)[1][1]
    assert saved(plan) == [(1, "Chat for the lab"), (2, winner)]
    assert all(f"by the {name}" in page for name in names)


def test_of_200_saves_of_the_same_version_one_is_kept(people: People, plan: SavedPlan, made: MakeRecord) -> None:
    answer = made()

    def save(each: int) -> tuple[str, int]:
        try:
            return "kept", save_version(plan, people.editor, titled(f"save {each}"), answer, base=1).number
        except Conflict as conflict:
            return "told of", conflict.newest.number

    found = at_once(SAVES, save)
    assert sorted(found) == [("kept", 2)] + [("told of", 2)] * (SAVES - 1)
    assert saved(plan)[1:] == [(2, f"save {found.index(('kept', 2))}")]


def test_200_saves_that_try_again_are_200_versions(people: People, plan: SavedPlan, made: MakeRecord) -> None:
    answer = made()

    def save(each: int) -> int:
        for _ in count():
            head = SavedPlan.objects.values_list("head", flat=True).get(pk=plan.pk)
            try:
                return save_version(plan, people.editor, titled(f"save {each}"), answer, base=head).number
            except Conflict:
                continue
        raise AssertionError

    numbers = at_once(SAVES, save)
    assert sorted(numbers) == list(range(2, SAVES + 2))
    assert saved(plan)[1:] == sorted((number, f"save {each}") for each, number in enumerate(numbers))
    plan.refresh_from_db()
    assert plan.head == SAVES + 1


def test_an_invitation_for_one_lets_one_in(people: People) -> None:
    invitation, _ = invite(people.owner, people.team, role=Role.READER)
    before = Membership.objects.filter(team=people.team).count()
    assert sorted(at_once(6, lambda _: accept(invitation, people.stranger))) == [False] * 5 + [True]
    assert Membership.objects.filter(team=people.team).count() == before + 1


@dataclass
class InUse:
    """Threads that ask for the same thing until they are told to stop. `order` numbers what happens, over all threads."""

    ask: Callable[[int], int]
    order: count = field(default_factory=count)  # type: ignore[type-arg]
    answers: list[tuple[int, int]] = field(default_factory=list)
    enough: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    revoked: int = 0

    def reader(self, each: int) -> None:
        while not self.over.is_set():
            began = next(self.order)
            self.answers.append((began, self.ask(each)))
            if len(self.answers) >= 12:
                self.enough.set()
            if self.revoked and sum(began > self.revoked for began, _ in self.answers) >= 12:
                self.over.set()

    def run(self, revoke: Callable[[], object]) -> None:
        """Asks a while, revokes, and asks a while more."""

        def owner() -> None:
            self.enough.wait(120)
            revoke()
            self.revoked = next(self.order)

        at_once(4, lambda each: owner() if each == 3 else self.reader(each))

    def before(self) -> set[int]:
        return {status for began, status in self.answers[:6] if began < self.revoked}

    def after(self) -> set[int]:
        """What was answered to those who asked when it was revoked already."""
        return {status for began, status in self.answers if began > self.revoked}


def test_a_link_is_dead_for_everybody_with_the_next_request(people: People, plan: SavedPlan) -> None:
    link, secret = make_link(plan, people.owner)
    clients = [Client() for _ in range(3)]
    use = InUse(lambda each: clients[each].get(f"/s/{secret}/").status_code)
    use.run(lambda: revoke(plan, link.pk))
    assert (use.before(), use.after()) == ({200}, {404})


def test_an_editor_who_is_taken_out_saves_nothing_more(people: People, plan: SavedPlan) -> None:
    clients = [people.client("editor") for _ in range(3)]
    member = Membership.objects.get(team=people.team, user=people.editor)

    def save(each: int) -> int:
        head = SavedPlan.objects.values_list("head", flat=True).get(pk=plan.pk)
        form = {"inputs": urlencode(INPUTS), "title": "still here", "base": str(head)}
        return clients[each].post(f"/plans/{plan.public_id}/edit/", form).status_code

    use = InUse(save)
    use.run(lambda: set_role(member, None))
    assert use.before() <= {302, 409}
    assert use.after() == {404}
    acknowledged = sum(status == 302 for _, status in use.answers)
    assert Version.objects.filter(plan=plan).count() == 1 + acknowledged


def test_who_logs_out_is_out_wherever_the_same_cookie_is_used(people: People, plan: SavedPlan) -> None:
    """Sessions may be read from the cache server: one that ended must not live on there."""
    client = people.client("editor")
    others = [Client() for _ in range(3)]
    for other in others:
        other.cookies["sessionid"] = client.cookies["sessionid"].value
    use = InUse(lambda each: others[each].get(f"/plans/{plan.public_id}/share/").status_code)
    use.run(lambda: client.post("/accounts/logout/"))
    assert (use.before(), use.after()) == ({200}, {404})


def test_a_new_password_ends_every_other_log_in(people: People, plan: SavedPlan) -> None:
    mine, others = people.client("editor"), [people.client("editor") for _ in range(3)]
    form = {"old_password": PASSWORD, "new_password1": "four large red lamps", "new_password2": "four large red lamps"}
    use = InUse(lambda each: others[each].get("/plans/").status_code)
    use.run(lambda: mine.post("/accounts/password/", form))
    assert (use.before(), use.after()) == ({200}, {302})
    assert mine.get("/plans/").status_code == 200
