"""The planner's page: the worked example, the named failures, and what typing replaces."""

import html
import re
from collections.abc import Callable

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils.http import urlencode

from planner.core.request import FIELDS
from planner.web.inputs import GROUPS

TextOf = Callable[[HttpResponse], str]
EXAMPLE = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "context": "8192", "users": "20", "usage": "chat"}
TYPING = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "answer"}
FOLLOWING = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "planner"}


def test_the_first_page_is_a_worked_example_with_a_full_answer(client: Client, text_of: TextOf) -> None:
    response = client.get("/")
    page = text_of(response)
    assert response.status_code == 200
    assert "of the 6 slots you want" in page
    assert "2 × 36 layers × 8 KV heads × 128 × 2 B = 147,456 B" in page
    assert "1.125 GiB" in page
    assert "2.67" in page
    for part in (
        "Memory",
        "In flight at once",
        "What each slot buys",
        "KV cache",
        "With fewer or more people",
        "Speed",
        "Engine",
        "Files",
        "Undo",
    ):
        assert part in page


def test_an_address_gives_the_same_answer_each_time(client: Client) -> None:
    assert client.get("/", EXAMPLE, **TYPING).content == client.get("/", EXAMPLE, **TYPING).content


def test_a_form_sent_without_script_has_blank_inputs_and_answers_all_the_same(client: Client, text_of: TextOf) -> None:
    blank = dict.fromkeys(
        ("weights_quant", "count", "generate_seconds", "turn_seconds", "engine", "slots", "wait_target", "host", "port"), ""
    )
    assert "of the 6 slots you want" in text_of(client.get("/", EXAMPLE | blank))


def test_inputs_are_kept_as_they_were_typed_and_what_was_understood_stands_beside_them(client: Client, text_of: TextOf) -> None:
    response = client.get("/", EXAMPLE | {"context": "8k", "gpu_memory": "24 GiB", "wait_target": "10%"})
    assert 'value="8k"' in response.content.decode()
    page = text_of(response)
    for understood in ("8,192 tokens", "24.00 GiB", "at most 10 % of turns", "up to 40,960 tokens", "GeForce RTX 4090"):
        assert understood in page


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"users": "0"}, "users", "at least 1"),
        ({"users": "-5"}, "users", "at least 1"),
        ({"users": "many"}, "users", "is not a number"),
        ({"users": "nan"}, "users", "is not a number"),
        ({"users": "inf"}, "users", "is not a number"),
        ({"users": "1e400"}, "users", "is not a number"),
        ({"context": "-3"}, "context", "give a number of tokens"),
        ({"context": "200000"}, "context", "40,960"),
        ({"device": "A100"}, "device", "a100-sxm4-80gb"),
        ({"device": "no such card"}, "device", "not in the catalogue"),
        ({"device": ""}, "device", "Say what it runs on"),
        ({"model": "nobody/nothing"}, "model", "cannot be reached"),
        ({"model": "../../etc/passwd"}, "model", "is not a model id"),
        ({"wait_target": "150%"}, "wait_target", "is no share"),
        ({"gpu_memory": "a lot"}, "gpu_memory", "24GiB"),
        ({"engine": "tgi"}, "engine", "must be one of"),
        ({"usage": "everything"}, "usage", "must be one of"),
        ({"count": "1e99"}, "count", "far too large"),
        ({"port": "70000"}, "port", "at most 65,535"),
    ],
)
def test_a_refused_input_says_why_at_its_field_and_keeps_the_form(
    client: Client, changes: dict[str, str], field: str, sentence: str
) -> None:
    response = client.get("/", EXAMPLE | changes)
    page = html.unescape(response.content.decode())
    assert response.status_code == 400
    note = re.search(rf'<p id="in-{field}-note" class="note error">(.*?)</p>', page, re.DOTALL)
    assert note is not None, "the field's note holds the error"
    assert sentence in note[1]
    control = re.search(rf'<(?:input|select) id="in-{field}"[^>]*>', page)
    assert control is not None
    assert 'aria-invalid="true"' in control[0]
    assert f'aria-describedby="in-{field}-note"' in control[0]
    for name, value in (EXAMPLE | changes).items():
        if name not in {"usage", "engine"}:
            assert f'name="{name}" type="text" value="{value}"' in page
    assert "No answer for these inputs" in page


def test_an_unknown_input_is_named(client: Client, text_of: TextOf) -> None:
    response = client.get("/", EXAMPLE | {"contxt": "4096"})
    assert response.status_code == 400
    assert "contxt is not an option of Slotwise" in text_of(response)


def test_a_turn_shorter_than_its_generation_is_answered_and_explained(client: Client, text_of: TextOf) -> None:
    response = client.get("/", EXAMPLE | {"generate_seconds": "30", "turn_seconds": "10"})
    assert response.status_code == 200
    assert "everyone is always in flight" in text_of(response)


SCRIPT = "<script>alert(1)</script>"


@pytest.mark.parametrize("name", ["model", "device", "context", "users", "usage", "engine", "model_path", "host", "config", SCRIPT])
@pytest.mark.parametrize(
    "value",
    [SCRIPT, '"><img src=x onerror=alert(1)>', "' onfocus='alert(1)", "{{ 7|add:7 }}", "\x00\x01\x7f", "\ufffe\u202e", "%s%n", "é" * 300],
)
def test_hostile_text_comes_back_as_text(client: Client, name: str, value: str) -> None:
    response = client.get("/", EXAMPLE | {name: value})
    page = response.content.decode()
    assert response.status_code in {200, 400}
    for markup in ("<script>alert", "<img src=x", "' onfocus='alert"):
        assert markup not in page


@pytest.mark.parametrize(
    "query",
    ["%ff%fe=%80", "model[]=a&model[$ne]=b", "a=1&a=2&a=3", "&&&===", "users=20;users=30", "context=８１９２", "device=rtx-4090&users=٣"],
)
def test_a_malformed_query_is_never_a_server_error(client: Client, query: str) -> None:
    assert client.get(f"/?{query}").status_code in {200, 400}


def test_too_many_inputs_are_refused_with_a_way_on(client: Client, text_of: TextOf) -> None:
    response = client.get("/?" + "&".join(f"x{i}=1" for i in range(200)))
    assert response.status_code == 400
    assert "Open the planner" in text_of(response)


@pytest.mark.parametrize("name", ["model", "device", "config", "engine_args", "users"])
def test_a_very_long_input_is_refused_and_not_repeated_at_length_in_the_sentence(client: Client, name: str) -> None:
    response = client.get("/", EXAMPLE | {name: "9" * 60_000})
    page = response.content.decode()
    assert response.status_code == 400
    notes = re.findall(r'class="note error">(.*?)</p>', page, re.DOTALL) + re.findall(r"<li>(.*?)</li>", page, re.DOTALL)
    assert notes
    assert max(len(note) for note in notes) < 2000


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-0 ", "None"])
def test_no_figure_is_ever_not_a_number(client: Client, text_of: TextOf, text: str) -> None:
    for changes in (
        {},
        {"users": "1"},
        {"usage": "agents"},
        {"gpu_memory": "1"},
        {"gpu_memory": "1TiB"},
        {"ram": "8GiB", "device": ""},
        {"wait_target": "0"},
    ):
        page = text_of(client.get("/", EXAMPLE | changes)).replace("NoNewPrivileges", "")
        assert not re.search(rf"\b{text}\b" if text != "-0 " else r"[\s(]-0[\s).]", page)


def test_typing_replaces_the_answer_and_the_notes_and_nothing_else(client: Client) -> None:
    response = client.get("/", EXAMPLE | {"context": "4k"}, **TYPING)
    page = response.content.decode()
    assert response.status_code == 200
    assert '<div id="answer"' in page
    assert 'id="in-context-note" class="note" hx-swap-oob="true">4,096 tokens' in page
    assert '<form id="form"' not in page
    assert response["HX-Replace-Url"] == "/?model=Qwen/Qwen3-8B&device=rtx-4090&context=4k&users=20&usage=chat"


def test_a_refused_input_leaves_the_last_answer_where_it_is(client: Client) -> None:
    response = client.get("/", EXAMPLE | {"context": "0"}, **TYPING)
    page = response.content.decode()
    assert response.status_code == 200
    assert response["HX-Reswap"] == "none"
    assert '<div id="answer"' not in page
    assert "The answer below is for your earlier inputs" in page


def test_a_followed_link_replaces_inputs_and_answer_together(client: Client) -> None:
    page = client.get("/", EXAMPLE | {"engine": "ollama"}, **FOLLOWING).content.decode()
    assert '<div id="planner"' in page
    assert "<form" in page
    assert "<html" not in page


def test_a_history_restore_gets_the_whole_page(client: Client) -> None:
    page = client.get("/", EXAMPLE, HTTP_HX_HISTORY_RESTORE_REQUEST="true", **TYPING).content.decode()
    assert "<html" in page


def test_answers_differ_by_who_asks_and_caches_are_told(client: Client) -> None:
    assert "HX-Request" in client.get("/")["Vary"]


def test_every_alternative_leads_to_a_plan_with_the_slots_it_promises(client: Client) -> None:
    page = client.get("/", EXAMPLE).content.decode()
    helps = re.search(r'<div class="helps">(.*?)</div>', page, re.DOTALL)
    assert helps is not None
    links = re.findall(r'href="([^"]+)"', helps[1])
    assert links
    promised = re.findall(r"(\d+) slots? fits? instead of", helps[1])
    for link, slots in zip(links, promised, strict=True):
        answer = client.get(html.unescape(link)).content.decode()
        assert f'data-figure="slots-that-fit">{slots}<' in answer


@pytest.mark.parametrize("engine", ["vllm", "llama-server", "ollama"])
def test_each_engine_has_its_tab_its_settings_with_reasons_and_its_files(client: Client, engine: str) -> None:
    page = client.get("/", EXAMPLE | {"engine": engine}).content.decode()
    assert re.search(rf'id="tab-{engine}"[^>]*aria-current="true"', page)
    reasons = re.findall(r'<td class="because">(.*?)</td>', page, re.DOTALL)
    assert reasons
    assert all(reason.strip() for reason in reasons)
    assert "<pre" in page


def test_every_input_of_a_request_has_a_field_and_the_config_a_form_of_its_own() -> None:
    assert {item.name for group in GROUPS for item in group.inputs} == set(FIELDS) - {"config"}


def test_lengths_and_a_command_line_are_inputs_like_any_other(client: Client, text_of: TextOf) -> None:
    given = {"prompt_tokens": "2k", "output_tokens": "400", "think_seconds": "60", "cached_share": "50%", "engine": "llama-server"}
    page = text_of(client.get("/", EXAMPLE | given | {"engine_args": "-c 16384 -np 2 -ctk q8_0 -ctv q8_0"}))
    assert "2,048 tokens" in page
    assert "50 % of a prompt is not read again" in page
    assert "n_slots = 2, n_ctx_slot = 8192" in page


def test_three_figures_stand_side_by_side_with_the_lines_the_engine_prints(client: Client) -> None:
    page = html.unescape(client.get("/", EXAMPLE | {"engine": "llama-server"}).content.decode())
    panel = page[page.index('id="at-start"') : page.index('id="scenarios"')]
    assert '<span data-figure="request-bytes">1.125 GiB</span>' in panel
    assert '<span data-figure="reserved-bytes">6.750 GiB</span>' in panel
    assert "initializing, n_slots = 6, n_ctx_slot = 8192, kv_unified = 'false'" in panel
    assert "6912.00 MiB (  8192 cells,  36 layers,  6/6 seqs)" in panel


def test_memory_that_is_in_no_sum_stands_apart_line_by_line(client: Client, text_of: TextOf) -> None:
    assert "Saved prompts" in text_of(client.get("/", EXAMPLE | {"engine": "llama-server"}))
    page = text_of(client.get("/", EXAMPLE | {"model": "Qwen/Qwen3.5-27B", "device": "h100-sxm", "engine": "vllm"}))
    assert "loaded only for speculative decoding" in page


def test_the_sizes_a_model_is_published_in_are_offered(client: Client) -> None:
    page = client.get("/", EXAMPLE | {"model": "meta-llama/Llama-3.1-8B-Instruct"}).content.decode()
    offered = re.search(r'<datalist id="formats">(.*?)</datalist>', page, re.DOTALL)
    assert offered is not None
    assert 'value="Q4_K_M" label="4.583 GiB, the size of its files"' in offered[1]
    assert 'value="FP8" label="estimated from the parameters"' in offered[1]


UNKNOWN_LAYER = (
    '{"model_type":"qwen9","num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":8,"hidden_size":1024,'
    '"vocab_size":1000,"intermediate_size":2048,"layer_types":["hyper_attention","full_attention"]}'
)


def test_a_layer_nobody_knows_is_refused_by_name_with_the_figure_that_is_missing_to_type_in(client: Client, text_of: TextOf) -> None:
    given = EXAMPLE | {"config": UNKNOWN_LAYER, "weights_size": "2GB"}
    page = client.get("/", given)
    assert page.status_code == 400
    assert "hyper_attention" in text_of(page)
    offered = re.search(r'<form class="by-hand".*?</form>', page.content.decode(), re.DOTALL)
    assert offered is not None
    sent = {name: html.unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', offered[0])}
    assert sent == given
    answered = client.get("/", {**sent, "bytes_per_token": "8192"})
    assert answered.status_code == 200
    assert "8,192 B per token at 16 bit is what you typed in" in text_of(answered)


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_the_planner_only_shows(client: Client, method: str) -> None:
    assert getattr(client, method)("/?" + urlencode(EXAMPLE)).status_code == 405


def test_a_model_nobody_has_opens_the_field_for_its_config(client: Client) -> None:
    page = client.get("/", EXAMPLE | {"model": "nobody/nothing"}).content.decode()
    assert re.search(r'<details id="config"[^>]* open>', page)
    assert not re.search(r'<details id="config"[^>]* open>', client.get("/", EXAMPLE).content.decode())


def test_the_weights_a_plan_counts_with_are_named_at_their_field(client: Client) -> None:
    page = client.get("/", EXAMPLE | {"engine": "llama-server"}).content.decode()
    assert re.search(r'<p id="in-weights_quant-note" class="note">Q4_K_M, 4\.687 GiB</p>', page)


def test_a_plan_that_fits_says_how_far_memory_goes_and_not_that_it_is_short(client: Client) -> None:
    page = client.get("/", EXAMPLE | {"engine": "llama-server"}).content.decode()
    assert "Your users set the number.</strong> No more than 16 fit: 17 × " in page


def test_where_nobody_can_be_served_no_wait_is_promised(client: Client) -> None:
    page = client.get("/", {"model": "Qwen/Qwen3-30B-A3B", "device": "2x3090", "users": "5", "engine": "vllm"}).content.decode()
    figures = re.search(r'<ul class="readouts".*?</ul>', page, re.DOTALL)
    assert figures is not None
    assert "slots needed" in figures[0]
    assert "of turns wait" not in figures[0]
    assert "mean wait" not in figures[0]


def test_devices_that_differ_are_shown_one_by_one(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/", {"device": "2x3090+1x4090", "engine": "llama-server"}))
    assert re.search(r"Device by device .*GeForce RTX 3090 24\.00 .*GeForce RTX 3090 24\.00 .*GeForce RTX 4090 23\.99 ", page)
    assert "Device by device" not in text_of(client.get("/", {"device": "rtx-4090", "count": "2", "engine": "vllm"}))
