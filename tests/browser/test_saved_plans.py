"""Saving, sharing and what a team does with a plan, in two browsers that know nothing of each other."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from django.conf import Settings

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
LOOKS = [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]
PLAN = "/?model=Qwen/Qwen3-8B&device=rtx-4090&users=20&engine=vllm"
PASSWORD = "three small green lamps"


@pytest.fixture(autouse=True)
def _quick(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.MAIL_IN_BACKGROUND = False


def sign_up(page: Page, name: str) -> None:
    page.get_by_label("Mail address").fill(f"{name}@example.org")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()


def save(page: Page, title: str) -> None:
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()


def path(page: Page) -> str:
    parts = urlsplit(page.url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def test_from_the_planner_to_a_teammates_own_copy_and_a_dead_link(open_page: OpenPage) -> None:
    ada = open_page(PLAN)
    ada.get_by_role("textbox", name="Users").fill("30")
    ada.wait_for_url("**users=30**")
    ada.get_by_role("link", name="Save", exact=True).click()
    ada.get_by_role("link", name="Make an account").click()
    sign_up(ada, "ada")
    expect(ada.get_by_text("30 users")).to_be_visible()
    save(ada, "Chat for the lab")
    plan = path(ada)
    ada.get_by_role("link", name="Share").click()
    ada.get_by_label("For whom").fill("Ben")
    ada.get_by_role("button", name="Make the link").click()
    link = urlsplit(ada.locator("#made-link").inner_text()).path

    ben = open_page(link)
    expect(ben.get_by_role("heading", name="Chat for the lab", level=1)).to_be_visible()
    ben.get_by_role("link", name="Make my own copy").click()
    ben.get_by_role("link", name="Make an account").click()
    sign_up(ben, "ben")
    ben.get_by_role("button", name="Copy it").click()
    expect(ben.get_by_role("heading", name="Copy of Chat for the lab", level=1)).to_be_visible()
    copy = path(ben)
    ben.get_by_role("link", name="Change in the planner").click()
    ben.get_by_role("textbox", name="Users").fill("60")
    ben.wait_for_url("**users=60**")
    ben.get_by_role("link", name="Save version 2").click()
    expect(ben.get_by_text("users 30 → 60")).to_be_visible()
    ben.get_by_role("button", name="Save").click()
    expect(ben.get_by_role("link", name="Version 2")).to_be_visible()
    ben.get_by_role("link", name="Compare with another").click()
    ben.get_by_label("Another").fill(link)
    ben.get_by_role("button", name="Compare").click()
    expect(ben.locator("#asked + div tbody tr").first).to_contain_text("users6030")

    assert ben.request.get(ben.url.replace(path(ben), plan)).status == 404, "the original is not Ben's"
    ada.goto(ada.url.replace(path(ada), copy))
    expect(ada.get_by_role("heading", name="There is no such page")).to_be_visible()
    ada.goto(ada.url.replace(path(ada), f"{plan}share/"))
    expect(ada.get_by_role("row", name="Ben")).not_to_contain_text("never")
    ada.get_by_role("button", name="Revoke the link for Ben").click()
    ben.goto(ben.url.replace(path(ben), link))
    expect(ben.get_by_role("heading", name="There is no such page")).to_be_visible()


def test_two_of_a_team_change_one_plan_and_the_second_is_told(open_page: OpenPage) -> None:
    ada = open_page("/accounts/signup/")
    sign_up(ada, "ada")
    expect(ada.get_by_text("Nothing is kept yet.")).to_be_visible()
    ada.get_by_role("link", name="Teams").click()
    ada.get_by_label("Name").fill("Lamps")
    ada.get_by_role("button", name="Start it").click()
    ada.get_by_label("Role", exact=True).select_option("Editor")
    ada.get_by_role("button", name="Invite").click()
    invitation = urlsplit(ada.locator("#made-link").inner_text()).path

    ben = open_page(invitation)
    ben.get_by_role("link", name="Make an account").click()
    sign_up(ben, "ben")
    expect(ben.get_by_role("heading", name="Lamps", level=1)).to_be_visible()

    ada.goto(ada.url.replace(path(ada), PLAN))
    ada.get_by_role("link", name="Save", exact=True).click()
    ada.get_by_label("Keep it").select_option("in Lamps")
    save(ada, "Ours")
    plan = path(ada)
    ben.goto(ben.url.replace(path(ben), plan))
    for page in (ada, ben):
        page.get_by_role("link", name="Title and notes").click()
    ada.get_by_label("Notes").fill("Ada’s words.")
    ada.get_by_role("button", name="Save").click()
    ben.get_by_label("Title").fill("Ben’s")
    ben.get_by_role("button", name="Save").click()
    expect(ben.get_by_role("heading", name="Somebody saved meanwhile")).to_be_visible()
    expect(ben.get_by_role("region", name="Theirs")).to_contain_text("notes changed")
    expect(ben.get_by_role("region", name="Yours")).to_contain_text("title “Ours” → “Ben’s”")
    ben.get_by_role("button", name="Save mine as version 3").click()
    expect(ben.get_by_role("heading", name="Ben’s", level=1)).to_be_visible()
    ben.get_by_label("Say something").fill("@ada, yours is version 2.")
    ben.get_by_role("button", name="Comment").click()
    expect(ben.locator(".mention")).to_have_text("@ada")
    ada.goto(ada.url.replace(path(ada), "/plans/"))
    expect(ada.get_by_role("region", name="You are asked")).to_contain_text("yours is version 2")


def test_without_script_a_plan_is_saved_and_shared(open_page: OpenPage) -> None:
    page = open_page(PLAN, script=False)
    page.get_by_role("link", name="Save", exact=True).click()
    page.get_by_role("link", name="Make an account").click()
    sign_up(page, "ada")
    save(page, "Plain")
    page.get_by_role("link", name="Share").click()
    page.get_by_role("button", name="Make the link").click()
    expect(page.locator("#made-link")).to_contain_text("/s/")


@pytest.fixture
def places(open_page: OpenPage) -> tuple[Page, list[str]]:
    """Somebody's browser, and the pages they have something on."""
    page = open_page("/accounts/signup/")
    sign_up(page, "ada")
    page.goto(page.url.replace(path(page), "/teams/"))
    page.get_by_label("Name").fill("Lamps")
    page.get_by_role("button", name="Start it").click()
    team = path(page)
    page.get_by_label("Device", exact=True).fill("rtx-4090")
    page.get_by_role("button", name="Set", exact=True).last.click()
    page.goto(page.url.replace(path(page), PLAN))
    page.get_by_role("link", name="Save", exact=True).click()
    page.get_by_label("Notes").fill("# Why\n\n- two\n\n| a | b |\n|---|---|\n| 1 | [x](https://example.org) |")
    page.get_by_label("Tags").fill("chat, lab")
    page.get_by_label("Keep it").select_option("in Lamps")
    save(page, "A title of some length, that has to go somewhere on a phone")
    plan = path(page)
    page.get_by_label("Say something").fill("One word.")
    page.get_by_role("button", name="Comment").click()
    page.goto(page.url.replace(path(page), f"{plan}share/"))
    page.get_by_label("Password").fill("open sesame")
    page.get_by_role("button", name="Make the link").click()
    locked = urlsplit(page.locator("#made-link").inner_text()).path
    page.get_by_role("button", name="Make the link").click()
    shared = urlsplit(page.locator("#made-link").inner_text()).path
    key = plan.strip("/").rpartition("/")[2]
    other = PLAN.removeprefix("/?").replace("&", "%26")
    return page, [
        "/plans/", plan, f"{plan}share/", "/plans/?q=nothing", f"{plan}edit/", f"{plan}versions/", f"{plan}versions/1/", f"{plan}delete/",
        f"/plans/compare/?a={key}&b={other}", "/plans/compare/", locked, shared, f"{shared}copy/", "/teams/", team, f"{team}delete/",
        "/accounts/", "/accounts/name/", "/accounts/address/", "/accounts/signup/over/", "/accounts/password/", "/accounts/delete/",
        "/plans/nowhere/",
    ]  # fmt: skip


def look_over(page: Page, address: str, width: int) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.goto(page.url.replace(path(page), address))
    found = [
        f"{address}: {each['id']} {[node['html'][:120] for node in each['nodes'][:3]]}" for each in axe.run(page).response["violations"]
    ]
    wide = page.evaluate("document.documentElement.scrollWidth")
    return [*found, *([f"{address} is {wide} px wide"] if wide > width else [])]


def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(places: tuple[Page, list[str]]) -> None:
    page, addresses = places
    found: list[str] = []
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        # The first pages in every look, the others in the two that differ most.
        for address in addresses if (width, scheme) in {(390, "dark"), (1440, "light")} else addresses[:3]:
            found += look_over(page, address, width)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_pages_on_the_way_in_are_for_everybody(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page("/accounts/signup/", width=width, scheme=scheme)
    page.get_by_label("Password").fill("short")
    found = [
        line for address in ("/accounts/login/", "/accounts/reset/", "/accounts/reset/MQ/x-y/") for line in look_over(page, address, width)
    ]
    page.goto(page.url.replace(path(page), "/accounts/login/"))
    page.get_by_label("Mail address").fill("nobody@example.org")
    page.get_by_label("Password").fill("wrong")
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("do not belong together")
    assert found == []
