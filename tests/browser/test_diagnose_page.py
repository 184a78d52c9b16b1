"""The diagnosis in a browser: a log on its way, the answer in place of the form, pictures, and the report as a file of its own."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect

from tests.log_writer import write
from tests.schedules import random_schedule

OpenPage = Callable[..., Page]
LOOKS = [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]
FROZEN = "Long prompts freeze the other answers"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "server.log"
    path.write_text(write(random_schedule(27)).text)
    return path


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "older.log"
    path.write_text(write(random_schedule(3)).text)
    return path


def diagnose(page: Page, *logs: Path, before: Path | None = None) -> None:
    page.locator("#in-logs").set_input_files(list(logs))
    if before:
        page.get_by_text("What was taken beside it").click()
        page.locator("#in-before").set_input_files(before)
    page.get_by_role("button", name="Diagnose", exact=True).click()
    expect(page.locator("#verdict")).to_be_visible(timeout=20_000)


def drawn(page: Page) -> None:
    """Every picture has been scrolled to and is there."""
    for chart in page.locator("[data-chart]").all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".main-svg").first).to_be_visible(timeout=20_000)


def test_a_log_is_answered_in_place_with_the_answer_first(open_page: OpenPage, log: Path) -> None:
    page = open_page("/")
    page.get_by_role("link", name="Diagnose").click()
    diagnose(page, log)
    expect(page.locator("#verdict")).to_contain_text(FROZEN)
    expect(page.locator("#verdict")).to_be_focused()
    expect(page).to_have_title(re.compile(FROZEN))
    fix = page.locator(".finding .code").first
    assert fix.get_by_role("button", name="Copy").is_visible()
    with page.expect_download() as download:
        fix.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_text() == fix.locator("pre").inner_text() + "\n"
    drawn(page)
    assert page.locator("#chart-slots .scatterlayer .trace").count() == 4
    assert page.locator("#chart-slots").get_attribute("aria-label").startswith("What each slot did from")


def test_the_time_axis_is_moved_by_keyboard(open_page: OpenPage, log: Path) -> None:
    page = open_page("/diagnose/")
    diagnose(page, log)
    drawn(page)

    def shown() -> list[float]:
        found: list[float] = page.evaluate("document.getElementById('chart-slots')._fullLayout.xaxis.range")
        return found

    whole = shown()
    for name, closer in (("Closer", 0.5), ("Later", 0.5), ("Wider", 1.0)):
        page.get_by_role("button", name=name).focus()
        page.keyboard.press("Enter")
        page.wait_for_timeout(300)
        assert shown()[1] - shown()[0] == pytest.approx(closer * (whole[1] - whole[0])), name
    assert shown()[0] > whole[0]
    page.get_by_role("button", name="All", exact=True).press("Enter")
    page.wait_for_timeout(300)
    assert shown() == pytest.approx(whole)


def test_an_upload_says_how_far_it_is_and_can_be_cancelled(open_page: OpenPage, log: Path, tmp_path: Path) -> None:
    large = tmp_path / "large.log"
    large.write_bytes(log.read_bytes() * 40)
    page = open_page("/diagnose/")
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send(
        "Network.emulateNetworkConditions", {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 300_000}
    )
    page.locator("#in-logs").set_input_files(large)
    page.locator("#in-prefill_rate").evaluate("field => { field.value = '812' }")
    page.get_by_role("button", name="Diagnose", exact=True).click()
    expect(page.locator("[data-progress]")).to_contain_text("MiB of", timeout=20_000)
    assert page.locator("progress").evaluate("bar => bar.max") > large.stat().st_size
    assert page.get_by_role("button", name="Diagnose", exact=True).is_disabled()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-error]")).to_have_text("Cancelled. Your files are still chosen.")
    expect(page.locator("[data-at-work]")).to_be_hidden()
    expect(page.get_by_role("button", name="Diagnose", exact=True)).to_be_focused()
    assert page.locator("#in-logs").evaluate("field => field.files.length") == 1


def test_a_refusal_leaves_files_and_words_where_they_are(open_page: OpenPage, log: Path) -> None:
    page = open_page("/diagnose/")
    page.locator("#in-logs").set_input_files(log)
    page.get_by_text("What was taken beside it").click()
    page.locator("#in-decode_rate").fill("fast")
    page.get_by_role("button", name="Diagnose", exact=True).click()
    expect(page.locator("#in-decode_rate-note")).to_contain_text("is not a number")
    expect(page.locator("#in-decode_rate")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#problems")).to_contain_text("Decode, measured alone")
    assert page.locator("#in-logs").evaluate("field => field.files.length") == 1
    page.locator("#in-decode_rate").fill("25")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_be_visible(timeout=20_000)


def test_what_is_too_large_is_said_before_it_is_sent(open_page: OpenPage, log: Path, settings: Any) -> None:
    settings.DIAGNOSE_MAX_BYTES = 2_000
    page = open_page("/diagnose/")
    page.on("request", lambda request: pytest.fail("it was sent") if request.method == "POST" else None)
    page.locator("#in-logs").set_input_files(log)
    page.get_by_role("button", name="Diagnose", exact=True).click()
    expect(page.locator("[data-error]")).to_contain_text("manage.py diagnose FILE")


def test_a_long_text_that_is_pasted_goes_as_a_file(open_page: OpenPage, log: Path) -> None:
    page = open_page("/diagnose/")
    page.locator("#in-text").evaluate("(field, text) => { field.value = text }", log.read_text() * 40)
    page.get_by_role("button", name="Diagnose", exact=True).click()
    expect(page.locator("#verdict")).to_be_visible(timeout=30_000)


def test_without_script_it_is_a_form_and_tables(open_page: OpenPage, log: Path) -> None:
    page = open_page("/diagnose/", script=False)
    page.locator("#in-logs").set_input_files(log)
    page.get_by_role("button", name="Diagnose", exact=True).click()
    expect(page.locator("#verdict")).to_contain_text(FROZEN)
    expect(page.locator(".chart").first).to_be_hidden()
    page.get_by_text("Slots over time as a table").click()
    assert page.locator("[aria-label='Slots over time, in figures'] tbody tr").count() == 12
    page.get_by_role("link", name="Use these speeds in my plan").click()
    expect(page.locator("#in-prefill_rate")).not_to_have_value("")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(
    open_page: OpenPage, log: Path, older: Path, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page("/diagnose/", width=width, scheme=scheme)

    def clean() -> None:
        found = axe.run(page).response["violations"]
        assert [(each["id"], [node["html"][:160] for node in each["nodes"][:3]]) for each in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    clean()
    diagnose(page, log, before=older)
    drawn(page)
    for table in page.locator(".as-table > summary").all():
        table.click()
    clean()


def test_on_paper_the_answer_and_the_tables_are_there(open_page: OpenPage, log: Path) -> None:
    page = open_page("/diagnose/")
    diagnose(page, log)
    page.emulate_media(media="print")
    expect(page.locator("#verdict")).to_be_visible()
    expect(page.get_by_role("region", name="Slots over time, in figures")).to_be_visible()
    for gone in ("#chart-slots", ".again", "#command"):
        expect(page.locator(gone)).to_be_hidden()


def test_the_report_draws_its_pictures_from_a_folder_and_asks_for_nothing(
    open_page: OpenPage, browser: Browser, log: Path, tmp_path: Path
) -> None:
    page = open_page("/diagnose/")
    page.locator("#in-logs").set_input_files(log)
    with page.expect_download() as download:
        page.get_by_role("button", name="Report as one file").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    context = browser.new_context(reduced_motion="reduce")
    alone = context.new_page()
    asked, complaints = [], []
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("console", lambda message: complaints.append(message.text))
    alone.on("pageerror", lambda error: complaints.append(str(error)))
    alone.goto(report.as_uri())
    drawn(alone)
    expect(alone.locator("#verdict")).to_contain_text(FROZEN)
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
    assert complaints == []
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    assert [each["id"] for each in axe.run(alone).response["violations"]] == []
    context.close()
