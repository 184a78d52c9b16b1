"""What holds on every page: the content security policy, nothing inline, a way on from every error."""

import re
from collections.abc import Callable

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.views.defaults import server_error

from planner.web.terms import TERMS

TextOf = Callable[[HttpResponse], str]
PAGES = [
    "/",
    "/?users=0",
    "/?device=rtx-4090&engine=ollama",
    "/curve/?device=rtx-4090",
    "/curve/?users=0",
    "/glossary/",
    "/simulate/",
    "/simulate/?users=0",
    "/simulate/sweep/?device=rtx-4090&sweep=users=1,2,3",
    "/simulate/break/?device=rtx-4090",
    "/diagnose/",
    "/nowhere",
    "/files/x?device=rtx-4090",
    "/config/",
    "/healthz",
]


@pytest.mark.parametrize("address", PAGES)
def test_every_page_sends_a_strict_content_security_policy(client: Client, address: str) -> None:
    response = client.get(address)
    policy = response["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("address", PAGES)
def test_nothing_is_inline_and_nothing_comes_from_elsewhere(client: Client, address: str) -> None:
    page = client.get(address).content.decode()
    assert not re.search(r"<[^>]+\sstyle=", page)
    assert not re.search(r"<[^>]+\son[a-z]+=", page)
    assert not re.search(r"<style", page)
    assert not re.search(r"<script(?![^>]*(?:\ssrc=|application/json))", page)
    for source in re.findall(r'(?:src|action)="([^"]+)"', page):
        assert source.startswith("/")
    for link in re.findall(r'<link[^>]*href="([^"]+)"', page):
        assert link.startswith("/")


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/?users=0",
        "/glossary/",
        "/curve/?device=rtx-4090",
        "/simulate/",
        "/simulate/?users=0",
        "/simulate/sweep/?device=rtx-4090&sweep=users=1,2,3",
    ],
)
def test_every_id_is_there_once(client: Client, address: str) -> None:
    ids = re.findall(r'\sid="([^"]+)"', client.get(address).content.decode())
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("address", ["/", "/simulate/"])
def test_every_reference_has_its_target(client: Client, address: str) -> None:
    page = client.get(address).content.decode()
    ids = set(re.findall(r'\sid="([^"]+)"', page))
    for attribute in ("for", "aria-labelledby", "aria-describedby", "popovertarget", "data-copy", "list"):
        assert set(re.findall(rf'\s{attribute}="([^"]+)"', page)) <= ids, attribute
    assert {name.removeprefix("#") for name in re.findall(r'href="(#[^"]+)"', page)} <= ids
    assert set(re.findall(r'href="/glossary/#([^"]+)"', page)) <= {term.slug for term in TERMS}


def test_an_unknown_address_has_a_way_on(client: Client, text_of: TextOf) -> None:
    response = client.get("/nowhere")
    assert response.status_code == 404
    assert "Open the planner" in text_of(response)


def test_the_page_for_our_own_mistakes_needs_nothing_that_may_be_broken(rf: RequestFactory, text_of: TextOf) -> None:
    request: HttpRequest = rf.get("/")
    response = server_error(request)
    assert response.status_code == 500
    assert "That is our mistake" in text_of(response)


def test_the_glossary_explains_the_words_of_the_page(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/glossary/"))
    for word in ("KV cache", "Slot", "In flight", "Prefill", "Decode", "TTFT", "ITL"):
        assert word in page
    assert len({term.slug for term in TERMS}) == len(TERMS)


def test_the_curve_falls_as_the_context_grows_and_has_its_table(client: Client) -> None:
    page = client.get("/curve/", {"model": "Qwen/Qwen3-8B", "device": "rtx-4090"}, HTTP_HX_REQUEST="true").content.decode()
    slots = [int(cell.replace(",", "")) for cell in re.findall(r'</th><td class="number">([\d,]+)</td>', page)]
    assert len(slots) > 4
    assert slots == sorted(slots, reverse=True)
    assert '<script id="curve-figure" type="application/json">' in page
    assert "<html" not in page


@pytest.mark.parametrize(
    "name",
    [
        "app.css",
        "plans.css",
        "theme.js",
        "keep.js",
        "fields.js",
        "combobox.js",
        "copy.js",
        "curve.js",
        "icon.svg",
        "vendor/plotly/plotly.min.js",
        "django_htmx/htmx-2.min.js",
    ],
)
def test_every_file_a_page_loads_is_served(client: Client, name: str) -> None:
    response = client.get(f"/static/{name}")
    assert response.status_code == 200
    assert b"".join(response.streaming_content), "read to its end, which closes the file"


@pytest.mark.parametrize("length", ["67108865", "9" * 30, "-1", "many"])
def test_a_body_larger_than_any_form_is_refused_unread(client: Client, text_of: TextOf, length: str) -> None:
    response = client.post("/startup/", b"", content_type="application/x-www-form-urlencoded", CONTENT_LENGTH=length)
    assert response.status_code == 413
    assert "64 MiB are the most" in text_of(response)
