"""Accounts: into them, out of them, and what nobody can do to somebody else's."""

import io
import json
import logging
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.conf import Settings
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from planner.accounts.joining import invite
from planner.accounts.models import Membership, User
from planner.accounts.roles import Role
from planner.plans.models import SavedPlan, Version
from tests.plans.conftest import INPUTS, PASSWORD, People

TextOf = Callable[[HttpResponse], str]
NEW = {"email": "New@Example.org", "username": "new", "password": PASSWORD}
LOGIN = reverse("login")
SIGNUP = reverse("signup")


def log_in(client: Client, email: str = "reader@example.org", password: str = PASSWORD, **more: str) -> HttpResponse:
    return client.post(LOGIN, {"username": email, "password": password, **more})


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def test_whoever_signs_up_is_in_and_the_address_is_kept_in_lower_case(client: Client, db: None) -> None:
    assert client.post(SIGNUP, NEW).headers["Location"] == reverse("plans")
    assert is_in(client)
    assert User.objects.get().email == "new@example.org"
    assert log_in(Client(), "NEW@example.ORG").status_code == 302


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"email": "reader@EXAMPLE.org"}, "cannot be used for a new account"),
        ({"username": "READER"}, "This name is taken."),
        ({"username": "two words"}, "Use letters, digits, dots and dashes."),
        ({"username": "<b>x</b>"}, "Use letters, digits, dots and dashes."),
        ({"password": "short"}, "too short"),
        ({"password": "password1234"}, "too common"),
        ({"password": "new@example.org"}, "too similar"),
        ({"email": "no address"}, "valid email address"),
        ({"email": "a\0b@example.org"}, "Null characters are not allowed"),
    ],
)
def test_what_no_account_can_be_made_from_is_refused_with_its_sentence(
    client: Client, people: People, text_of: TextOf, changes: dict[str, str], sentence: str
) -> None:
    response = client.post(SIGNUP, NEW | changes)
    assert response.status_code == 400
    assert sentence in text_of(response)
    assert not is_in(client)


def test_what_was_typed_in_the_planner_survives_the_way_through_a_sign_up(client: Client, db: None) -> None:
    wanted = reverse("plan-new") + "?model=Qwen/Qwen3-8B&device=rtx-4090&users=33&engine=vllm"
    login = client.get(wanted)["Location"]
    page = client.get(login).content.decode()
    signup = re.search(r'href="(/accounts/signup/[^"]*)"', page)
    assert signup
    form = client.get(signup[1].replace("&amp;", "&")).content.decode()
    kept = re.search(r'name="next" value="([^"]*)"', form)
    assert kept
    saved = client.post(SIGNUP, NEW | {"next": kept[1].replace("&amp;", "&")})["Location"]
    assert parse_qs(urlsplit(saved).query)["users"] == ["33"]
    assert "33 users" in client.get(saved).content.decode()


def test_an_address_too_long_to_be_passed_on_is_kept_in_the_session(client: Client, people: People) -> None:
    wanted = reverse("plan-new") + "?engine_args=" + "x" * 3_000
    login = client.get(wanted)["Location"]
    assert len(login) < 200
    assert log_in(client)["Location"] == wanted


def test_the_planners_page_that_one_came_from_is_where_one_goes_on(client: Client, people: People) -> None:
    page = client.get(LOGIN, headers={"referer": "http://testserver/?users=44"}).content.decode()
    assert 'name="next" value="/?users=44"' in page
    elsewhere = client.get(LOGIN, headers={"referer": "http://evil.example/?users=44"}).content.decode()
    assert 'name="next" value=""' in elsewhere


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "\t//evil.example",
        "http://testserver:81/",
    ],
)
def test_no_log_in_leads_off_the_site(people: People, elsewhere: str) -> None:
    assert log_in(Client(), next=elsewhere)["Location"] == reverse("plans")
    assert Client().post(SIGNUP, NEW | {"next": elsewhere})["Location"] == reverse("plans")


def test_the_session_is_another_after_the_log_in(client: Client, people: People) -> None:
    session = client.session
    session["planted"] = "by somebody"
    session.save()
    client.cookies["sessionid"] = session.session_key or ""
    log_in(client)
    assert client.cookies["sessionid"].value != session.session_key
    assert not Session.objects.filter(session_key=session.session_key).exists()


def test_after_the_log_out_the_old_session_opens_nothing(client: Client, people: People) -> None:
    log_in(client)
    old = client.cookies["sessionid"].value
    client.post(reverse("logout"))
    thief = Client()
    thief.cookies["sessionid"] = old
    assert not is_in(thief)


def test_the_wrong_password_and_the_wrong_address_are_told_alike(people: People, text_of: TextOf) -> None:
    wrong = text_of(log_in(Client(), password="not the password"))
    nobody = text_of(log_in(Client(), email="nobody@example.org"))
    assert "do not belong together" in wrong
    assert wrong.replace("reader@", "nobody@") == nobody


def test_after_too_many_wrong_passwords_the_right_one_does_not_help_either(people: People, settings: Settings, text_of: TextOf) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        log_in(Client(), password="wrong")
    response = log_in(Client())
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0
    assert "Try again in 15 minutes" in text_of(response)
    assert log_in(Client(), "READER@example.org").status_code == 429, "the same person in another spelling"
    assert log_in(Client(), "editor@example.org").status_code == 302, "another person from the same place"


def test_one_name_cannot_be_tried_from_ever_new_places(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    from planner.accounts import limits
    from planner.operations.rates import Limit

    monkeypatch.setattr(limits, "LOG_INS_OF_ONE", Limit("log-ins-of-one", 3, 3_600))
    seen = [
        Client(REMOTE_ADDR=f"10.0.0.{n}").post(LOGIN, {"username": "reader@example.org", "password": "wrong"}).status_code for n in range(4)
    ]
    assert seen == [400, 400, 400, 429]


@pytest.mark.parametrize("name", ["a\0b@example.org", "x" * 5_000 + "@example.org", "\ud800", ""])
def test_whatever_is_typed_for_an_address_is_only_a_wrong_one(db: None, name: str) -> None:
    for address in (LOGIN, reverse("password-reset"), SIGNUP):
        sent = {"username": name, "email": name, "password": "a\0b"}
        assert Client().post(address, {key: value.encode("utf-8", "surrogatepass") for key, value in sent.items()}).status_code == 400


def test_a_shared_links_secret_is_in_no_log(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    console = next(handler for handler in logging.getLogger().handlers if handler.name == "console")
    lines, secret = io.StringIO(), "s" * 32
    monkeypatch.setattr(console, "stream", lines)
    Client(enforce_csrf_checks=True).post(reverse("share", args=[secret]), {"password": "x"})
    Client().get(reverse("share", args=[secret]))
    assert "CSRF" in lines.getvalue()
    assert lines.getvalue().count("answered") == 2
    assert secret not in lines.getvalue()


def test_a_new_password_ends_every_other_session(client: Client, people: People) -> None:
    other = Client()
    log_in(client)
    log_in(other)
    sent = {"old_password": PASSWORD, "new_password1": "four large red lamps", "new_password2": "four large red lamps"}
    assert client.post(reverse("password-change"), sent).status_code == 302
    assert is_in(client)
    assert not is_in(other)


def test_the_present_password_is_needed_for_a_new_one(client: Client, people: People, text_of: TextOf) -> None:
    log_in(client)
    response = client.post(
        reverse("password-change"), {"old_password": "x", "new_password1": "four large red lamps", "new_password2": "four large red lamps"}
    )
    assert response.status_code == 400
    assert "This is not your present password." in text_of(response)


def reset_link(message: str) -> str:
    found = re.search(r"https?://\S+/accounts/reset/\S+", message)
    assert found
    return found[0]


def test_a_forgotten_password_is_replaced_by_who_reads_the_mail(client: Client, people: People, text_of: TextOf) -> None:
    client.post(reverse("password-reset"), {"email": "Reader@example.org"})
    assert mail.outbox[0].to == ["reader@example.org"]
    link = urlsplit(reset_link(str(mail.outbox[0].body))).path
    form = client.get(link, follow=True)
    assert "new_password1" in form.content.decode()
    new = "four large red lamps"
    assert client.post(form.request["PATH_INFO"], {"new_password1": new, "new_password2": new})["Location"] == LOGIN
    assert log_in(Client(), password=new).status_code == 302
    assert "does not work any more" in text_of(Client().get(link, follow=True)), "it works once"


def test_asking_for_a_new_password_does_not_tell_whether_there_is_such_an_account(people: People) -> None:
    known = Client().post(reverse("password-reset"), {"email": "reader@example.org"}, follow=True)
    unknown = Client().post(reverse("password-reset"), {"email": "nobody@example.org"}, follow=True)
    plain = [re.sub(r'csrfmiddlewaretoken" value="[^"]+', "", page.content.decode()) for page in (known, unknown)]
    assert plain[0] == plain[1]
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"x-forwarded-host": "evil.example"}, {"host": "localhost:666"}])
def test_no_request_decides_where_the_link_in_a_mail_leads(people: People, settings: Settings, headers: dict[str, str]) -> None:
    settings.ALLOWED_HOSTS = ["*"]  # even where somebody opened it to every name
    settings.SITE_URL = "https://plans.example.org"
    Client().post(reverse("password-reset"), {"email": "reader@example.org"}, headers=headers)
    assert reset_link(str(mail.outbox[0].body)).startswith("https://plans.example.org/accounts/reset/")
    assert "evil" not in str(mail.outbox[0].message())
    assert "666" not in str(mail.outbox[0].body)


def test_nobody_is_flooded_with_mails(people: People) -> None:
    for _ in range(6):
        Client().post(reverse("password-reset"), {"email": "reader@example.org"})
    assert len(mail.outbox) == 3


def test_a_mail_that_cannot_be_sent_is_nobodys_server_error(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.core.mail import EmailMessage

    def refuse(_: EmailMessage) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(EmailMessage, "send", refuse)
    assert Client().post(reverse("password-reset"), {"email": "reader@example.org"}).status_code == 302


def test_an_account_takes_everything_of_its_own_with_it(plan: SavedPlan, people: People, made: Callable[..., object]) -> None:
    client = people.client("editor")
    client.post(reverse("plan-copy", args=[plan.public_id]))
    client.post(reverse("plan-comment", args=[plan.public_id]), {"text": "My word."})
    assert SavedPlan.objects.count() == 2
    assert client.post(reverse("account-delete"), {"password": PASSWORD}).status_code == 302
    assert not User.objects.filter(username="editor").exists()
    assert list(SavedPlan.objects.all()) == [plan]
    assert plan.comments.count() == 0
    assert not is_in(client)


def test_versions_of_a_teams_plan_outlive_their_author(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    Membership.objects.filter(user=people.editor).update(role=Role.OWNER)
    people.client("owner").post(reverse("account-delete"), {"password": PASSWORD})
    assert Version.objects.get().author is None
    assert "somebody who left" in text_of(people.client("reader").get(reverse("plan", args=[plan.public_id])))


def test_a_team_with_others_in_it_is_not_left_without_an_owner(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    response = people.client("owner").post(reverse("account-delete"), {"password": PASSWORD})
    assert response.status_code == 400
    assert "Without you nobody owns “Lamps”" in text_of(response)
    assert User.objects.filter(username="owner").exists()


def test_an_account_is_not_deleted_without_its_password(people: People) -> None:
    assert people.client("reader").post(reverse("account-delete"), {"password": "wrong"}).status_code == 400
    assert User.objects.filter(username="reader").exists()


def test_the_export_has_every_version_of_every_plan_and_no_secret(plan: SavedPlan, people: People) -> None:
    client = people.client("owner")
    client.post(reverse("plan-share", args=[plan.public_id]), {"password": "open sesame"})
    client.post(reverse("plan-copy", args=[plan.public_id]))
    response = client.get(reverse("account-export"))
    text = b"".join(response.streaming_content).decode()
    found = json.loads(text)
    assert [each["team"] for each in found["plans"]] == ["Lamps", None]
    version = found["plans"][0]["versions"][0]
    assert version["inputs"] == INPUTS
    assert version["result"]["fit"]["verdict"] in {"fits", "tight", "does_not_fit"}
    stored = plan.links.get()
    for secret in (stored.secret_hash, stored.password, people.owner.password, people.owner.email):
        assert secret not in text


def test_the_export_of_somebody_without_plans_is_json_too(people: People) -> None:
    response = people.client("stranger").get(reverse("account-export"))
    assert json.loads(b"".join(response.streaming_content))["plans"] == []


def test_a_site_by_invitation_lets_in_who_was_invited_once(client: Client, people: People, settings: Settings) -> None:
    settings.SITE_MODE = "invitation"
    assert client.post(SIGNUP, NEW).status_code == 403
    _, secret = invite(None, None, role=Role.READER)
    assert client.get(reverse("invitation", args=[secret])).status_code == 200
    assert client.post(SIGNUP, NEW | {"invitation": secret}).status_code == 302
    assert is_in(client)
    again = NEW | {"email": "second@example.org", "username": "second", "invitation": secret}
    assert Client().post(SIGNUP, again).status_code == 403


def test_the_first_person_of_a_closed_site_comes_in_by_a_command(
    client: Client, db: None, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SITE_MODE, settings.SITE_URL = "private", "https://plans.example.org"
    call_command("invite", "first@example.org")
    link = capsys.readouterr().out.strip()
    assert link.startswith("https://plans.example.org/invitations/")
    page = client.get(urlsplit(link).path).content.decode()
    signup = re.search(r'href="(/accounts/signup/\?invitation=[^"]+)"', page)
    assert signup
    assert 'value="first@example.org"' in client.get(signup[1]).content.decode()


def test_one_persons_machine_asks_for_no_log_in_and_keeps_plans(client: Client, db: None, settings: Settings, text_of: TextOf) -> None:
    settings.SITE_MODE = "single"
    assert client.get(reverse("plans")).status_code == 200
    assert "without a log-in" in text_of(client.get(reverse("account")))
    assert User.objects.count() == 1


def test_a_site_that_becomes_one_persons_keeps_their_plans(client: Client, db: None, settings: Settings, text_of: TextOf) -> None:
    client.post(SIGNUP, NEW)
    client.post(reverse("plan-new"), {"inputs": urlencode(INPUTS), "title": "From before"})
    settings.SITE_MODE = "single"
    assert "From before" in text_of(Client().get(reverse("plans")))


def test_a_page_with_somebodys_name_is_in_no_shared_cache(people: People) -> None:
    assert "private" in people.client("reader").get("/glossary/")["Cache-Control"]
    assert "Cache-Control" not in Client().get("/glossary/")


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"SITE_MODE": "single", "ALLOWED_HOSTS": "plans.example.org", "SECRET_KEY": "x" * 60}, "for this machine only"),
        ({"SITE_MODE": "closed"}, "give open or invitation or private or single"),
        ({"ALLOWED_HOSTS": "plans.example.org", "SECRET_KEY": ""}, "SECRET_KEY is not set"),
        ({"ALLOWED_HOSTS": "*", "SECRET_KEY": "x" * 60}, "set SITE_URL"),
        ({"EMAIL_PORT": "smtp"}, "give a whole number"),
    ],
)
def test_settings_that_would_open_too_much_are_refused(environment: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import runpy

    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=sentence):
        runpy.run_path("planner/settings.py")


def test_links_in_mails_begin_with_the_sites_first_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import runpy

    for name, value in {"ALLOWED_HOSTS": ".example.org,other.example", "SECRET_KEY": "x" * 60, "HTTPS": "1"}.items():
        monkeypatch.setenv(name, value)
    settings = runpy.run_path("planner/settings.py")
    assert settings["SITE_URL"] == "https://example.org"
    assert settings["SESSION_COOKIE_SECURE"]
    assert settings["CSRF_COOKIE_SECURE"]
    assert settings["SECURE_HSTS_SECONDS"] > 0
