"""The review of a pasted configuration in a browser: with its plan, with and without script, for everyone."""

from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
PASTED = "export OLLAMA_NUM_PARALLEL=4\nexport OLLAMA_CONTEXT_LENGTH=32000\nexport OLLAMA_MAX_QUEUE=512\n"
LOOKS = [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]


def paste(page: Page, text: str) -> None:
    page.get_by_label("A unit, a drop-in").fill(text)
    page.get_by_role("button", name="Compare with the plan").click()


def test_from_the_files_of_a_plan_to_a_copied_drop_in(open_page: OpenPage) -> None:
    page = open_page("/?device=rtx-4090&users=9")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("link", name="Hold it against this plan").click()
    expect(page.locator(".came-along")).to_contain_text("9 users")
    paste(page, PASTED)
    expect(page.get_by_role("heading", name="2 things do not do what they should.")).to_be_visible()
    page.locator('[data-copy="whole-text"]').click()
    assert "[Service]" in page.evaluate("navigator.clipboard.readText()")


def test_without_script_the_review_is_there(open_page: OpenPage) -> None:
    page = open_page("/review/", script=False)
    paste(page, "llama-server -m /q.gguf -c 8192 -np 4")
    expect(page.get_by_text("8,192 ÷ 4 = 2,048 tokens for each slot")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("text", ["", "nothing of ours", PASTED])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(open_page: OpenPage, width: int, scheme: str, text: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page("/review/", width=width, scheme=scheme)
    if text:
        paste(page, text)
        expect(page.get_by_label("A unit, a drop-in")).to_have_value(text)
    found = axe.run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
