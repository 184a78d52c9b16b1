"""The symptom guide in a browser: it narrows as one types, works without script, fits a phone, and everyone can read it."""

from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
LOOKS = [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]
PAGES = ["/guide/", "/guide/?plan=users%3D0", "/guide/stream-freezes/?engine=llama-server", "/guide/out-of-memory-at-start/"]


def test_the_list_narrows_as_one_types(open_page: OpenPage) -> None:
    page = open_page("/guide/")
    page.get_by_role("searchbox").fill("preempt")
    expect(page.get_by_role("link", name="Streams stall for seconds")).to_be_visible()
    expect(page.get_by_role("link", name="HTTP 503")).to_be_hidden()
    expect(page.get_by_role("heading", name="Settings and hardware")).to_be_hidden()
    expect(page.get_by_role("status")).to_contain_text("of 17 symptoms")
    page.get_by_role("searchbox").fill("")
    expect(page.get_by_role("link", name="HTTP 503")).to_be_visible()
    expect(page.get_by_role("status")).to_be_empty()


def test_without_script_the_search_is_sent_and_engines_are_links(open_page: OpenPage) -> None:
    page = open_page("/guide/", script=False)
    page.get_by_role("searchbox").fill("freezes")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="A stream freezes").click()
    page.get_by_role("link", name="llama-server").click()
    expect(page.locator("#check-1")).to_contain_text("tg_3s")
    expect(page.locator("[data-copy]").first).to_be_hidden()


def test_the_plan_as_it_was_typed_comes_along(open_page: OpenPage) -> None:
    page = open_page("/")
    page.locator("#in-users").fill("7")
    expect(page.locator('[data-figure="mean"]')).to_have_text("0.93")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Guide").click()
    expect(page.locator(".came-along")).to_contain_text("7 users")
    page.get_by_role("link", name="Each reply is normal").click()
    page.get_by_role("link", name="llama-server").click()
    page.get_by_role("link", name="Plan with --parallel").click()
    expect(page.locator("#in-users")).to_have_value("7")
    expect(page.locator("#in-engine")).to_have_value("llama-server")


def test_a_command_is_copied(open_page: OpenPage) -> None:
    page = open_page("/guide/http-503/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator('[data-copy="check-1"]').click()
    expect(page.locator('[data-copy="check-1"]')).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#check-1").inner_text()


@pytest.mark.parametrize("address", PAGES)
def test_nothing_is_wider_than_a_phone(open_page: OpenPage, address: str) -> None:
    assert open_page(address, width=390).evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(("address", "width", "scheme"), [(page, *look) for page in PAGES for look in LOOKS])
def test_axe_finds_nothing(open_page: OpenPage, address: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(open_page(address, width=width, scheme=scheme)).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found] == []
