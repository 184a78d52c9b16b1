"""The planner in a browser: it answers as one types, loses nothing, works without script, and everyone can read it."""

import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
QWEN_OLLAMA = "/?model=Qwen/Qwen3.5-27B&device=rtx-4090&engine=ollama"
DOES_NOT_FIT = "/?model=meta-llama/Llama-3.3-70B-Instruct&device=rtx-4090&users=20"


def figure(page: Page, name: str) -> Any:
    return page.locator(f'[data-figure="{name}"]')


def test_typing_updates_the_answer_and_keeps_focus_scroll_details_and_the_address(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("#more > summary").click()
    page.evaluate("scrollTo(0, 300)")
    users = page.locator("#in-users")
    users.focus()
    users.press("End")
    users.press_sequentially("0", delay=20)
    expect(figure(page, "mean")).to_have_text("26.67")
    expect(users).to_be_focused()
    expect(users).to_have_value("200")
    expect(page.locator("#more")).to_have_attribute("open", "")
    assert "users=200" in page.url
    assert page.evaluate("scrollY") == 300
    expect(page).to_have_title(re.compile("^(Tight|Fits|Does not fit): "))


def test_changed_figures_are_marked_for_a_moment(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("#in-users").fill("5")
    expect(figure(page, "mean")).to_have_class(re.compile("changed"))
    expect(figure(page, "memory-total")).not_to_have_class(re.compile("changed"))
    expect(page.locator(".changed")).to_have_count(0, timeout=5000)


def test_a_refused_input_is_marked_at_its_field_and_the_last_answer_stays(open_page: OpenPage) -> None:
    page = open_page()
    needed = figure(page, "slots-needed").inner_text()
    context = page.locator("#in-context")
    context.fill("-1")
    expect(page.locator("#in-context-note")).to_contain_text("is not understood here")
    expect(context).to_have_attribute("aria-invalid", "true")
    expect(context).to_have_value("-1")
    expect(page.locator("#problems")).to_contain_text("The answer below is for your earlier inputs")
    expect(page.locator("#in-model-note")).to_contain_text("36 layers")
    expect(figure(page, "slots-needed")).to_have_text(needed)
    context.fill("8k")
    expect(page.locator("#in-context-note")).to_have_text("8,192 tokens")
    expect(context).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#problems")).to_be_empty()


def test_an_answer_that_comes_late_does_not_replace_a_newer_one(open_page: OpenPage) -> None:
    page = open_page()

    def delayed(route: Any) -> None:
        if "users=7" in route.request.url:
            page.wait_for_timeout(1500)
        route.continue_()

    page.route("**/?*", delayed)
    page.locator("#in-users").fill("7")
    page.wait_for_timeout(450)
    page.locator("#in-users").fill("9")
    expect(figure(page, "mean")).to_have_text("1.2")
    page.wait_for_timeout(1800)
    expect(figure(page, "mean")).to_have_text("1.2")


def test_a_use_brings_its_duty_cycle(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("#in-generate_seconds").fill("50")
    page.locator("#in-usage").select_option("agents")
    expect(page.locator("#in-turn_seconds-note")).to_contain_text("everyone is always in flight")
    expect(page.locator("#in-generate_seconds")).to_have_value("")
    expect(page.locator("#in-generate_seconds")).to_have_attribute("placeholder", "30")


def test_a_device_is_picked_from_the_list_by_keyboard(open_page: OpenPage) -> None:
    page = open_page()
    device = page.get_by_role("combobox", name="Device")
    device.click()
    device.fill("5090")
    options = page.locator("#in-device-list [role=option]")
    expect(options.first).to_contain_text("rtx-5090")
    device.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    device.press("Enter")
    expect(device).to_have_value("rtx-5090")
    expect(page.locator("#in-device-list")).to_be_hidden()
    expect(page.locator("#in-device-note")).to_contain_text("GeForce RTX 5090")
    expect(device).to_be_focused()


def test_an_engine_is_one_click_away_and_the_way_back_is_too(open_page: OpenPage) -> None:
    page = open_page()
    tab = page.locator("#tab-ollama")
    tab.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    tab.click()
    expect(tab).to_have_attribute("aria-current", "true")
    expect(page.locator(".flags")).to_contain_text("OLLAMA_NUM_PARALLEL")
    expect(page.locator("#in-engine")).to_have_value("ollama")
    expect(tab).to_be_focused()
    assert page.evaluate("scrollY") == pytest.approx(before, abs=2)
    page.go_back()
    expect(page.locator("#tab-ollama")).not_to_have_attribute("aria-current", "true")
    expect(page.locator("#in-engine")).to_have_value("")


def test_an_alternative_is_one_click(open_page: OpenPage) -> None:
    page = open_page()
    page.locator(".helps a").first.click()
    expect(page.locator("#verdict")).to_be_focused()
    expect(figure(page, "slots-that-fit")).to_have_text("6")


def test_a_figure_that_is_asked_answers(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_role("button", name=re.compile(r"^6\s*computed$")).click()
    expect(page.locator("#why-slots-needed")).to_be_visible()
    expect(page.locator("#why-slots-needed")).to_contain_text("Finite-source queue")
    page.keyboard.press("Escape")
    expect(page.locator("#why-slots-needed")).to_be_hidden()


def test_the_copy_button_says_that_it_copied(open_page: OpenPage) -> None:
    page = open_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator('[data-copy="command"]')
    button.click()
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#command").inner_text()


def test_the_curve_is_drawn_when_it_comes_into_view(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.locator("script[src*=plotly]")).to_have_count(0)
    page.locator("#curve").scroll_into_view_if_needed()
    expect(page.locator(".chart .main-svg").first).to_be_visible(timeout=20_000)
    expect(page.locator(".points tbody tr")).not_to_have_count(0)


def test_the_theme_is_remembered(open_page: OpenPage) -> None:
    page = open_page()
    toggle = page.get_by_role("button", name=re.compile("theme"))
    toggle.click()
    toggle.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(toggle).to_contain_text("Dark")


def test_without_script_the_form_is_sent_and_everything_is_there(open_page: OpenPage) -> None:
    page = open_page(script=False)
    page.locator("#in-users").fill("5")
    page.get_by_role("button", name="Plan", exact=True).click()
    assert "users=5" in page.url
    expect(figure(page, "mean")).to_have_text("0.67")
    page.locator("#tab-llama-server").click()
    expect(page.locator(".flags")).to_contain_text("--ctx-size")
    expect(page.locator("[data-copy]").first).to_be_hidden()
    page.get_by_role("link", name="How many conversations fit at other lengths").click()
    expect(page.locator(".points tbody tr")).not_to_have_count(0)


def test_a_config_is_pasted_and_planned_with(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("#in-users").fill("7")
    expect(figure(page, "mean")).to_have_text("0.93")
    page.locator("#config > summary").click()
    page.locator("#config-text").fill('{"model_type": "llama", "hidden_size": 2048,')
    page.get_by_role("button", name="Plan with this config.json").click()
    expect(page.locator("#config-note")).to_contain_text("JSON")
    expect(page.locator("#config-text")).to_have_value('{"model_type": "llama", "hidden_size": 2048,')
    page.locator("#config-text").fill(
        '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32,'
        ' "num_hidden_layers": 16, "num_key_value_heads": 8, "max_position_embeddings": 131072, "vocab_size": 128256}'
    )
    page.get_by_role("button", name="Plan with this config.json").click()
    expect(page.locator(".working")).to_contain_text("2 × 16 layers × 8 KV heads × 64")
    expect(page.locator("#in-users")).to_have_value("7")


def test_on_a_phone_the_inputs_fold_into_one_line_above_the_answer(open_page: OpenPage) -> None:
    page = open_page(width=390)
    expect(page.locator("#summary")).to_contain_text("Qwen3-8B")
    expect(page.locator("#in-users")).to_be_hidden()
    page.locator("#inputs > summary").click()
    page.locator("#in-users").fill("5")
    expect(page.locator("#summary")).to_contain_text("5 users")
    expect(page.locator("#in-users")).to_be_focused()


@pytest.mark.parametrize("address", ["/", QWEN_OLLAMA, "/glossary/", "/?users=0"])
def test_nothing_is_wider_than_a_phone(open_page: OpenPage, address: str) -> None:
    page = open_page(address, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


ANSWERS = ["/", DOES_NOT_FIT, QWEN_OLLAMA]
OTHERS = ["/?users=0", "/glossary/", "/accuracy/", "/curve/?device=rtx-4090", "/nowhere"]
LOOKS = [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]


@pytest.mark.parametrize(
    ("address", "width", "scheme"),
    [(page, *look) for page in ANSWERS for look in LOOKS] + [(page, *look) for page in OTHERS for look in LOOKS[1:3]],
)
def test_axe_finds_nothing(open_page: OpenPage, address: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(address, width=width, scheme=scheme)
    if address == "/":
        page.locator("#more > summary").evaluate("el => el.parentElement.open = true")
        page.locator("#config > summary").evaluate("el => el.parentElement.open = true")
        page.locator("#inputs").evaluate("el => el.open = true")
    found = axe.run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found] == []


@pytest.mark.parametrize(
    "address",
    [
        "/?device=rtx-4090&engine=vllm",
        "/?device=rtx-4090&engine=llama-server",
        "/?device=rtx-4090&engine=ollama",
        "/?model=gpt-oss-20b&device=2x3090&users=5",
        "/?ram=8GB&users=3",
        DOES_NOT_FIT,
    ],
)
def test_the_plan_prints_on_two_pages(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    printed = page.pdf(format="A4", print_background=True, prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2


def test_paper_has_the_verdict_the_budget_the_settings_and_the_steps_and_no_field(open_page: OpenPage) -> None:
    page = open_page("/?device=rtx-4090&engine=vllm")
    page.emulate_media(media="print")
    for shown in (".on-paper", "#verdict", ".budget >> nth=0", ".flags", "[aria-labelledby=apply] pre >> nth=0", "[aria-labelledby=undo]"):
        expect(page.locator(shown)).to_be_visible()
    for left_out in ("#inputs", "[aria-labelledby=files]", ".tabs", "#startup-form", "[aria-labelledby=curve]"):
        expect(page.locator(left_out)).to_be_hidden()


@pytest.mark.parametrize(("script", "least", "most"), [(True, 280, 320), (False, 0, 60)])
def test_room_is_kept_for_the_curve_only_where_it_will_come(open_page: OpenPage, *, script: bool, least: int, most: int) -> None:
    page = open_page("/?device=rtx-4090", script=script)
    box = page.locator(".curve").bounding_box()
    assert box is not None
    assert least <= box["height"] <= most


def test_pasted_start_up_lines_are_compared_in_place_and_stay_while_inputs_change(open_page: OpenPage) -> None:
    page = open_page("/?device=rtx-4090&engine=vllm&cache_memory=16GiB")
    box = page.get_by_label("Paste what it printed")
    box.fill("GPU KV cache size: 116,496 tokens, Maximum concurrency for 32,768 tokens per request: 3.56x")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#compared")).to_contain_text("2 of 3 figures differ from the plan")
    assert "startup" not in page.url
    page.locator("#in-users").fill("21")
    expect(figure(page, "mean")).to_have_text("2.8")
    expect(box).to_have_value(re.compile("116,496"))
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("link", name="Plan with what it printed").click()
    expect(page.locator("#in-engine_args")).to_have_value("--max-model-len 32768")


def test_a_layer_nobody_knows_can_be_planned_with_the_missing_figure(open_page: OpenPage) -> None:
    config = (
        "%7B%22model_type%22:%22qwen9%22,%22num_hidden_layers%22:1,%22num_attention_heads%22:8,%22num_key_value_heads%22:8,"
        "%22hidden_size%22:1024,%22vocab_size%22:1000,%22intermediate_size%22:2048,%22layer_types%22:[%22hyper_attention%22]%7D"
    )
    page = open_page(f"/?model=mine&device=rtx-4090&weights_size=2GB&config={config}")
    page.get_by_label("Cache per token at 16 bit").fill("8192")
    page.get_by_role("button", name="Plan with it").click()
    expect(page.locator("#verdict")).to_be_visible()
    expect(page.locator("#in-bytes_per_token")).to_have_value("8192")
