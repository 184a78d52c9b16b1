"""The simulator in a browser: sweeps that come in run by run and can be cancelled, curves, bad hours, replays, with and without script."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Locator, Page, Route, expect

OpenPage = Callable[..., Page]
PLAN = "model=Qwen/Qwen3-8B&device=rtx-4090&users=8&prompt_tokens=1500&output_tokens=300&think_seconds=60&duration=600"
LOOKS = [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]
SWEPT = "&long_share=10%25&context=32k&sweep=users=4,8,16"
ROWS = "[data-so-far] tbody tr"


def part(page: Page, title: str) -> Locator:
    return page.locator("[data-later]", has=page.get_by_role("heading", name=title, exact=True))


def settled(page: Page) -> None:
    """Every part that begins by itself has been seen and is done."""
    for each in page.locator("[data-later]:not([data-starts=asked])").all():
        each.scroll_into_view_if_needed()
        expect(each.locator(".js-plotly-plot")).to_be_visible(timeout=20_000)
        expect(each.locator(".at-work")).to_be_hidden(timeout=20_000)


def test_from_a_plan_to_what_people_feel_and_back(open_page: OpenPage) -> None:
    page = open_page(f"/?{PLAN.removesuffix('&duration=600')}")
    page.get_by_role("link", name="Simulate this plan").click()
    expect(page.get_by_role("heading", level=2).first).to_contain_text("half of the first tokens come within")
    page.locator("#in-users").fill("12")
    page.locator("#in-usage").select_option("coding")
    page.get_by_role("button", name="Simulate").first.click()
    expect(page.locator("#in-users")).to_have_value("12")
    assert "users=12" in page.url
    assert "weights_quant" not in page.url, "empty inputs stay out of the address"
    page.get_by_role("link", name="Back to the plan").click()
    expect(page.locator("#in-users")).to_have_value("12")


def test_a_sweep_comes_in_run_by_run_with_a_figure_and_a_table(open_page: OpenPage) -> None:
    page = open_page(f"/simulate/?{PLAN}&sweep=batch=256,512,1024")
    own = part(page, "Your sweep")
    expect(own.locator(ROWS)).to_have_count(3, timeout=20_000)
    expect(own.locator(".js-plotly-plot .subplot")).to_have_count(2, timeout=20_000)
    assert own.locator("[role=img]").get_attribute("aria-label").startswith("Tokens of a pass from 256 to 1,024. First token, p95:")
    expect(own.locator(".at-work")).to_be_hidden()
    expect(own.locator("[data-error]")).to_be_hidden()


def lines(total: int, *done: int) -> str:
    row = "<div class='scroll'><table><tbody>{}</tbody></table></div>"
    return "".join(
        json.dumps({"done": number, "total": total, "html": row.format("<tr><td>a run</td></tr>" * number), "error": ""}) + "\n"
        for number in done
    )


def test_a_long_sweep_says_how_far_it_is_and_is_cancelled_where_it_is(open_page: OpenPage) -> None:
    page = open_page(
        f"/simulate/?{PLAN.replace('duration=600', 'duration=20000').replace('users=8', 'users=60')}&prefill_rate=7000&decode_rate=110&sweep=seed={','.join(map(str, range(1, 31)))}"
    )
    own = part(page, "Your sweep")
    own.scroll_into_view_if_needed()
    expect(own.locator("[data-progress]")).to_contain_text("of 30", timeout=20_000)
    expect(own.locator(ROWS).nth(1)).to_be_visible(timeout=20_000)
    own.get_by_role("button", name="Cancel").click()
    expect(own.locator("[data-error]")).to_contain_text("Cancelled at")
    expect(own.locator("[data-error]")).to_contain_text("of 30")
    stopped = own.locator(ROWS).count()
    assert 1 < stopped < 30
    page.wait_for_timeout(700)
    assert own.locator(ROWS).count() == stopped
    again = own.get_by_role("link", name="Make the 30 runs")
    expect(again).to_be_focused()


def test_a_connection_that_breaks_leaves_what_there_is_and_a_way_on(open_page: OpenPage) -> None:
    page = open_page("/glossary/")
    calls = []

    def broken(route: Route) -> None:
        calls.append(route.request.url)
        route.fulfill(status=200, content_type="application/x-ndjson", body=lines(3, 0, 1) + '{"done": 2, "to')

    page.route("**/simulate/sweep/**", broken)
    page.goto(page.url.replace("/glossary/", f"/simulate/?{PLAN}&sweep=users=1,2,3"))
    own = part(page, "Your sweep")
    expect(own.locator("[data-error]")).to_contain_text("as far as it got", timeout=20_000)
    expect(own.locator(ROWS)).to_have_count(1)
    own.get_by_role("link", name="Make the 3 runs").click()
    expect(own.locator(ROWS)).to_have_count(1)
    assert len([each for each in calls if "sweep=users" in each]) >= 2


def test_bad_hours_are_tried_when_asked_for(open_page: OpenPage) -> None:
    page = open_page(f"/simulate/?{PLAN.replace('users=8', 'users=30')}&slots=1")
    hours = part(page, "Try to break this plan")
    expect(hours.locator("table")).to_have_count(0)
    hours.get_by_role("link", name="Try the bad hours").click()
    expect(hours.locator("[data-so-far]")).to_contain_text("Nobody pauses to think", timeout=20_000)
    expect(hours.locator("[data-so-far]")).to_contain_text("The first that breaks it")


def test_a_log_is_replayed(open_page: OpenPage, tmp_path: Path) -> None:
    calls = tmp_path / "calls.csv"
    calls.write_text("time,prompt_tokens,output_tokens\n5,100,20\n6.5,200,30\n")
    page = open_page(f"/simulate/?{PLAN}")
    page.get_by_label("A llama-server log with timestamps").set_input_files(calls)
    page.get_by_role("button", name="Send these requests again").click()
    expect(page.locator(".binds")).to_contain_text("2 recorded requests")
    expect(page.locator("#in-users")).to_have_value("8")


def test_without_script_runs_sweeps_and_bad_hours_are_pages(open_page: OpenPage) -> None:
    page = open_page(f"/simulate/?{PLAN}&sweep=batch=256,512", script=False)
    page.locator("#in-policy").select_option("serial")
    page.get_by_role("button", name="Simulate").first.click()
    expect(page.locator(".binds")).to_contain_text("One at a time with")
    page.get_by_role("link", name="Make the 2 runs").first.click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Back to the simulation").click()
    expect(page.locator("#in-sweep")).to_have_value("batch=256,512")
    page.get_by_role("link", name="Try the bad hours").click()
    expect(page.locator("tbody th").first).to_contain_text("Ordinary use")


def test_everything_is_reached_by_keyboard(open_page: OpenPage) -> None:
    page = open_page(f"/simulate/?{PLAN}")
    page.locator("#in-duration").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=2).first).to_contain_text("half of the first tokens")
    page.locator(".readouts .ask").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#why-felt-ttft")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Make the 5 runs").focus()
    page.keyboard.press("Enter")
    expect(part(page, "Schedulers side by side").locator(ROWS)).to_have_count(5, timeout=20_000)


@pytest.mark.parametrize(
    ("width", "scheme", "change"), [(*look, SWEPT) for look in LOOKS] + [(390, "light", "&users=0"), (1440, "dark", "&users=0")]
)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(open_page: OpenPage, width: int, scheme: str, change: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(f"/simulate/?{PLAN}{change}", width=width, scheme=scheme)
    settled(page)
    for name in ("Make the 5 runs", "Try the bad hours"):
        if page.get_by_role("link", name=name).count():
            page.get_by_role("link", name=name).click()
    for each in page.locator("[data-starts=asked]").all():
        expect(each.locator("tbody tr").first).to_be_visible(timeout=20_000)
        expect(each.locator(".at-work")).to_be_hidden(timeout=20_000)
    found = axe.run(page).response["violations"]
    assert [(each["id"], [node["html"][:160] for node in each["nodes"][:3]]) for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_the_answer_and_the_tables_that_came_in_are_there(open_page: OpenPage) -> None:
    page = open_page(f"/simulate/?{PLAN}")
    settled(page)
    page.emulate_media(media="print")
    expect(page.locator(".on-paper")).to_be_visible()
    expect(page.locator("[data-later]", has=page.locator("#by-users")).locator("table")).to_be_visible()
    expect(page.locator(".chart").first).to_be_hidden()
    for gone in (".inputs", "#replay", "#bad-hours"):
        expect(page.locator(gone)).to_be_hidden()
