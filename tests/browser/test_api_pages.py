"""The page of the API and the page of tokens in a browser: a token made there opens a call, and a described model is one click away."""

import os
from pathlib import Path

import pytest

from planner.plans.models import SavedPlan
from tests.api.conftest import Caller
from tests.browser.conftest import OpenPage
from tests.plans.conftest import PASSWORD, People, _quick, people

__all__ = ["_quick", "people"]
SHOTS = os.environ.get("SCREENSHOTS")


def shot(page: object, name: str) -> None:
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_nothing_on_the_page_of_the_api(open_page: OpenPage, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page("/api/v1/docs", width=width, scheme=scheme)
    shot(page, f"docs-{width}")
    page.locator("summary").first.click()
    page.locator("section.call", has=page.locator("#call-plan")).get_by_role("link", name="PlanRequest").click()
    assert page.locator("#model-PlanRequest").is_visible()
    found = axe.run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["html"][:200]) for each in found]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_a_token_is_made_used_and_revoked(open_page: OpenPage, people: People, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page("/accounts/login/?next=/accounts/tokens/", width=width, scheme=scheme)
    page.get_by_label("Mail address").fill("owner@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("What uses it").fill("nightly report")
    page.get_by_label("Save, change and delete plans").check()
    page.get_by_role("button", name="Make the token").click()
    token = page.locator("#made-token").inner_text()
    shot(page, f"tokens-{width}")
    found = axe.run(page).response["violations"]
    assert not found, [(each["id"], each["nodes"][0]["html"][:200]) for each in found]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    call = Caller(token)
    assert call("get", "plans").json() == {"count": 0, "next": None, "items": []}
    page.get_by_role("button", name="Revoke").click()
    page.get_by_text("The token is revoked").wait_for()
    assert call("get", "plans").status_code == 401
    assert not SavedPlan.objects.exists()
