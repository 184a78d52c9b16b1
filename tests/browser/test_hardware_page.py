"""The hardware pages in a browser: sort and filter by keyboard, charts with their tables, a phone, and the note on paper."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
LOOKS = [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]
FEW = "model=Qwen/Qwen3-8B&users=20&context=8192&device=rtx-4090,rtx-3090,l40s,rtx-3080-10gb&count=1,2"
ONE = "model=Qwen/Qwen3-8B&users=120&context=8192&device=rtx-3090&have=rtx-3090&beside=bge-m3"
CHARTS = ("price", "context", "verdict", "memory")


def machines(page: Page) -> list[str]:
    return page.locator(".hardware .machine a").all_inner_texts()


def drawn(page: Page) -> None:
    """Every chart has been scrolled to and is there."""
    for name in CHARTS:
        panel = page.locator("section.panel", has=page.locator(f"#chart-{name}"))
        panel.scroll_into_view_if_needed()
        expect(panel.locator(".js-plotly-plot")).to_be_visible(timeout=30_000)


def test_a_column_is_sorted_by_keyboard_without_a_reload(open_page: OpenPage) -> None:
    page = open_page(f"/hardware/?{FEW}")
    page.evaluate("window.same = true")
    head = page.locator("thead").get_by_role("button", name="Price")
    head.focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Price")
    cheap = machines(page)
    assert "sort=price" in page.url
    page.locator("thead").get_by_role("button", name="Price").focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Price")
    assert machines(page) == cheap[::-1]
    assert page.evaluate("window.same") is True


def test_filters_work_by_keyboard_and_keep_the_order_and_the_focus(open_page: OpenPage) -> None:
    page = open_page(f"/hardware/?{FEW}&sort=-price")
    page.evaluate("window.same = true")
    page.get_by_label("At most", exact=True).focus()
    page.keyboard.type("1700")
    page.keyboard.press("Tab")
    expect(page.locator("[role=status]").last).to_contain_text("1 to 4 of 4 rows", timeout=20_000)
    assert "sort=-price" in page.url
    assert "max_price=1700" in page.url
    expect(page.get_by_label("Board power", exact=True)).to_be_focused()
    page.get_by_label("fits", exact=True).focus()
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile("verdict=fits"))
    page.get_by_label("Board power", exact=True).fill("1")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_contain_text("No machine passes all of these limits.")
    page.get_by_role("link", name="take all limits away").click()
    expect(page.locator(".hardware tbody tr").first).to_be_visible()
    assert page.evaluate("window.same") is None


def test_a_refused_input_stands_at_its_field_while_the_rows_stay(open_page: OpenPage) -> None:
    page = open_page(f"/hardware/?{FEW}")
    before = machines(page)
    page.get_by_label("Users", exact=True).fill("none")
    page.keyboard.press("Tab")
    expect(page.locator("#problems")).to_contain_text("The table below is for your earlier inputs.")
    expect(page.locator("#in-users")).to_have_attribute("aria-invalid", "true")
    assert machines(page) == before


def test_every_chart_is_drawn_when_it_is_seen_and_has_its_table(open_page: OpenPage) -> None:
    page = open_page(f"/hardware/?{FEW}")
    expect(page.locator(".js-plotly-plot")).to_have_count(0)
    drawn(page)
    for name in CHARTS:
        panel = page.locator("section.panel", has=page.locator(f"#chart-{name}"))
        assert panel.locator("tbody tr").count() >= 2
        assert len(panel.locator("[role=img]").get_attribute("aria-label") or "") > 40


def test_without_script_everything_is_a_plain_address(open_page: OpenPage) -> None:
    page = open_page(f"/hardware/?{FEW}", script=False)
    page.locator("thead").get_by_role("button", name="Price").click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Price")
    page.get_by_label("At most", exact=True).fill("1700")
    page.get_by_role("button", name="Compare").first.click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Price")
    expect(page.locator(".hardware tbody tr")).to_have_count(4)
    page.get_by_role("link", name="Show it").last.click()
    expect(page.locator("tbody tr").first).to_be_visible()
    page.get_by_role("link", name="Back to the table").click()
    page.locator(".hardware .machine a").first.click()
    expect(page.locator("#in-device")).not_to_have_value("")


def test_from_a_plan_to_its_break_points_and_the_note(open_page: OpenPage) -> None:
    page = open_page(f"/?{ONE.partition('&have')[0]}")
    page.get_by_role("link", name="What would change this verdict?").click()
    expect(page.get_by_role("heading", name="Where this verdict ends")).to_be_visible()
    page.get_by_label("What else it carries", exact=True).fill("desktop")
    page.get_by_role("button", name="Work out the steps").click()
    expect(page.locator("[aria-labelledby=ledger]").first).to_contain_text("A desktop")
    page.get_by_role("link", name="The purchase note").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Qwen/Qwen3-8B for 120 users")


@pytest.mark.parametrize(
    "address",
    [
        f"/hardware/note/?{ONE}&kwh_price=0.3&hours=10&api_input=.2&api_output=.8",
        "/hardware/note/?model=Qwen/Qwen3-30B-A3B&users=100&context=32768&have=2x3090%2B1x4090&kwh_price=0.3&api_output=1&beside=bge-m3",
        "/hardware/note/?model=meta-llama/Llama-3.3-70B-Instruct&users=60&have=rtx-3090&beside=bge-m3,desktop,whisper-large-v3&prices=rtx-3090,750,EUR,used%0Artx-pro-6000-blackwell,8500,EUR",
    ],
)
def test_the_note_prints_on_two_pages_and_its_file_does_too(open_page: OpenPage, tmp_path: Path, address: str) -> None:
    page = open_page(address)
    assert sheets(page) == 2
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as one HTML file").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    asked: list[str] = []
    alone = page.context.browser.new_page()
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(file.as_uri())
    expect(alone.get_by_role("heading", level=1)).to_contain_text("users")
    assert sheets(alone) == 2
    assert asked == [file.as_uri()]
    alone.close()


def sheets(page: Page) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize(
    "address", [f"/hardware/?{FEW}", f"/hardware/change/?{ONE}", f"/hardware/note/?{ONE}&kwh_price=0.3", f"/hardware/?{FEW}&users=0"]
)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(open_page: OpenPage, address: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(address, width=width, scheme=scheme)
    if page.locator("#chart-price").count():
        drawn(page)
    found = axe.run(page).response["violations"]
    assert [(each["id"], [node["html"][:160] for node in each["nodes"][:3]]) for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
