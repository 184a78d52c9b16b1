"""The pages of the symptom guide: they can be searched and linked to, and carry a plan along without trusting it."""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from django.http import HttpResponse
from django.test import Client

from planner.core.guide import SYMPTOMS
from planner.core.request import read_request
from planner.web.carried import MAX_QUERY, carried
from planner.web.guidance import IN_A_LOG

TextOf = Callable[[HttpResponse], str]
PLAN: Final = "model=Qwen/Qwen3-8B&device=rtx-4090&users=35&engine=llama-server&port=9090"
ADVICE: Final = [(symptom.slug, advice.engine) for symptom in SYMPTOMS.values() for advice in symptom.advice]


def links(response: HttpResponse) -> list[str]:
    return [link.replace("&amp;", "&") for link in re.findall(r'href="([^"]+)"', response.content.decode())]


def test_the_guide_lists_every_symptom_with_its_own_address(client: Client, text_of: TextOf) -> None:
    response = client.get("/guide/")
    page = text_of(response)
    for symptom in SYMPTOMS.values():
        assert symptom.title in page
        assert f"/guide/{symptom.slug}/" in links(response)


def test_a_search_without_script_shows_what_it_finds(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/guide/", {"q": "LoRA adapter"}))
    assert "Requests with a LoRA adapter wait" in page
    assert "HTTP 503" not in page
    assert "Nothing here is described with these words" in text_of(client.get("/guide/", {"q": "<script>zzz"}))


@pytest.mark.parametrize(("slug", "engine"), ADVICE)
def test_a_symptom_shows_cause_two_commands_and_settings_for_each_engine(client: Client, text_of: TextOf, slug: str, engine: str) -> None:
    response = client.get(f"/guide/{slug}/", {"engine": engine})
    page, symptom = text_of(response), SYMPTOMS[slug]
    advice = next(each for each in symptom.advice if each.engine == engine)
    assert response.status_code == 200
    for text in (symptom.title, symptom.seen, symptom.cause, advice.note, *(change.why for change in advice.changes)):
        assert " ".join(text.split()) in page
    for check in advice.checks:
        assert " ".join(check.command.split()) in page
        assert check.look_for in page
    ids = re.findall(r'\sid="([^"]+)"', response.content.decode())
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'data-copy="([^"]+)"', response.content.decode())) <= set(ids)


def test_every_setting_with_a_plan_leads_to_one_that_can_be_made(client: Client) -> None:
    addresses = {
        link
        for slug, engine in ADVICE
        for link in links(client.get(f"/guide/{slug}/", {"engine": engine}))
        if link.startswith("/?") and "engine=" in link
    }
    assert len(addresses) > 20
    for address in sorted(addresses):
        response = client.get(address)
        assert response.status_code == 200, address
        assert f"engine={parse_qs(urlsplit(address).query)['engine'][0]}" in address


def test_a_setting_is_applied_to_the_plan_that_came_along(client: Client, text_of: TextOf) -> None:
    response = client.get("/guide/stream-freezes/", {"plan": PLAN})
    assert "your plan : Qwen/Qwen3-8B on rtx-4090, 35 users" in text_of(response)
    applied = [parse_qs(urlsplit(link).query) for link in links(response) if "pause_target" in link]
    assert applied[0]["users"] == ["35"]
    assert applied[0]["engine"] == ["llama-server"]
    assert "127.0.0.1:8080" not in text_of(response)


def test_the_plans_engine_is_shown_and_its_port_stands_in_the_commands(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/guide/waits-are-long/", {"plan": PLAN}))
    assert "http://127.0.0.1:9090/metrics" in page
    assert "llamacpp:requests_" in page
    other = text_of(client.get("/guide/waits-are-long/", {"plan": PLAN, "engine": "vllm"}))
    assert "http://127.0.0.1:8000/metrics" in other
    assert client.get("/guide/http-503/", {"plan": PLAN.replace("llama-server", "ollama")}).status_code == 200


def test_what_belongs_to_one_engine_does_not_follow_to_another() -> None:
    plan = carried("engine=llama-server&engine_version=b9873&cache_type=q8_0&users=5&engine_args=-c 4096")
    assert plan.with_("llama-server", {"slots": "2"}) == "/?users=5&engine=llama-server&engine_version=b9873&cache_type=q8_0&slots=2"
    assert plan.with_("vllm", {}) == "/?users=5&engine=vllm"


def test_the_plan_stays_on_the_way_through_the_guide(client: Client) -> None:
    for address in ("/guide/", "/guide/http-503/"):
        own = [link for link in links(client.get(address, {"plan": PLAN})) if "plan=" in link]
        assert own
        for link in own:
            assert parse_qs(urlsplit(link).query)["plan"] == [carried(PLAN).query]


def test_the_plan_is_known_from_the_page_the_reader_came_from(client: Client, text_of: TextOf) -> None:
    came = client.get("/guide/", headers={"referer": f"http://testserver/?{PLAN}"})
    assert "35 users" in text_of(came)
    for elsewhere in (f"http://elsewhere.example/?{PLAN}", f"http://testserver/hardware/?{PLAN}", "::", f"//testserver@evil/?{PLAN}"):
        assert "35 users" not in text_of(client.get("/guide/", headers={"referer": elsewhere}))


@pytest.mark.parametrize(
    "text",
    [
        "https://elsewhere.example/",
        "//elsewhere.example",
        "javascript:alert(1)",
        "next=https://elsewhere.example/",
        "users=5&users=6",
        "users=0",
        "users=5;model=x&&",
        "model=" + "x" * MAX_QUERY,
        "users=%00",
        "&".join(f"a{n}=1" for n in range(500)),
        "plan=users=5",
    ],
)
def test_a_plan_that_is_none_is_refused_and_never_linked_to(client: Client, text_of: TextOf, text: str) -> None:
    response = client.get("/guide/stream-freezes/", {"plan": text})
    assert response.status_code == 400
    assert "Links below lead to the worked example instead" in text_of(response)
    assert "elsewhere" not in response.content.decode()
    for link in links(response):
        assert link.startswith(("/", "#", "https://github.com/"))
        assert "plan=" not in link


def test_any_accepted_plan_is_a_request() -> None:
    plan = carried(PLAN)
    assert plan.request == read_request(plan.values)
    assert carried("").values == {}


def test_what_a_log_can_confirm_leads_to_the_diagnosis(client: Client, text_of: TextOf) -> None:
    assert set(IN_A_LOG) < set(SYMPTOMS)
    for slug, counted in IN_A_LOG.items():
        response = client.get(f"/guide/{slug}/")
        assert 'href="/diagnose/">Diagnose it' in response.content.decode()
        assert counted in text_of(response)
    assert "Diagnose it" not in text_of(client.get("/guide/out-of-memory-at-start/"))


def test_an_unknown_symptom_is_not_found_and_an_unknown_engine_shows_the_first(client: Client, text_of: TextOf) -> None:
    assert client.get("/guide/no-such-thing/").status_code == 404
    assert "--max-num-seqs" in text_of(client.get("/guide/waits-are-long/", {"engine": "../etc"}))


def test_words_and_plans_are_escaped(client: Client) -> None:
    page = client.get("/guide/", {"q": '"><img src=x>', "plan": 'model="><img src=x>&users=5'}).content.decode()
    assert "<img" not in page


@pytest.mark.parametrize("address", ["/guide/", "/guide/http-503/", f"/guide/http-503/?plan={quote(PLAN)}"])
def test_the_guide_has_nothing_inline(client: Client, address: str) -> None:
    response = client.get(address)
    page = response.content.decode()
    assert "unsafe" not in response["Content-Security-Policy"]
    assert not re.search(r"<[^>]+\sstyle=|<[^>]+\son[a-z]+=|<style|<script(?![^>]*\ssrc=)", page)


@pytest.mark.parametrize("name", ["guide.css", "guide.js"])
def test_every_file_the_guide_loads_is_served(client: Client, name: str) -> None:
    response = client.get(f"/static/{name}")
    assert response.status_code == 200
    assert b"".join(response.streaming_content), "read to its end, which closes the file"
