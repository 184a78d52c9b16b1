"""The review page: what was pasted is compared and shown, never trusted, never stored."""

import re
from collections.abc import Callable
from typing import Final

import pytest
from django.http import HttpResponse
from django.test import Client

TextOf = Callable[[HttpResponse], str]
PLAN: Final = "model=Qwen/Qwen3-8B&device=rtx-4090&users=20&weights_quant=Q4_K_M"
EXPORTS: Final = "export OLLAMA_NUM_PARALLEL=4\nexport OLLAMA_MAX_QUEUE=512\n"
DIVIDED: Final = "llama-server -m /models/q.gguf -c 8192 -np 4 -t 8"


def test_the_box_says_which_plan_it_compares_with(client: Client, text_of: TextOf) -> None:
    assert "Held against the worked example" in text_of(client.get("/review/"))
    assert "Qwen/Qwen3-8B on rtx-4090, 20 users" in text_of(client.get("/review/", {"plan": PLAN}))


def test_the_planner_leads_to_it_with_its_plan(client: Client) -> None:
    page = client.get("/", {"device": "rtx-4090", "users": "7"}).content.decode()
    assert "/review/?plan=device%3Drtx-4090%26users%3D7" in page


def test_exports_are_told_that_they_never_arrive_and_get_a_drop_in(client: Client, text_of: TextOf) -> None:
    response = client.post("/review/", {"text": EXPORTS, "plan": PLAN})
    page = text_of(response)
    assert response.status_code == 200
    assert "2 things do not do what they should" in page
    assert "Read as exports of a shell for Ollama" in page
    assert "A service starts without your shell" in page
    assert "[Service]" in page
    assert "Environment=OLLAMA_MAX_QUEUE=14" in page
    for title in ("Wrong", "The plan changes", "The plan adds", "Kept", "As a whole"):
        assert title in page


def test_a_command_line_keeps_what_the_plan_leaves_alone(client: Client, text_of: TextOf) -> None:
    page = text_of(client.post("/review/", {"text": DIVIDED, "plan": PLAN + "&engine=vllm&cache_type=fp8"}))
    assert "8,192 ÷ 4 = 2,048 tokens for each slot" in page
    assert "Your plan was for vLLM: it was worked out again for what you pasted" in page
    assert "--threads 8" in page
    assert "/models/q.gguf" in page


def test_what_the_plan_itself_writes_has_nothing_wrong(client: Client, text_of: TextOf) -> None:
    command = re.search(r'<pre id="command"[^>]*>(.*?)</pre>', client.get(f"/?{PLAN}&engine=llama-server").content.decode(), re.DOTALL)
    assert command
    page = text_of(client.post("/review/", {"text": command[1].replace("&#x27;", "'"), "plan": f"{PLAN}&engine=llama-server"}))
    assert "It is what the plan would write." in page
    assert "Nothing here fails to do what it says." in page


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "There is nothing to review"),
        ("hello", "names no engine known here"),
        ("OLLAMA_NUM_PARALLEL=1\x00", "control character"),
        ("x" * 70_000, "longer than 64 KiB"),
    ],
)
def test_text_that_is_none_is_refused_at_its_field_and_kept(client: Client, text_of: TextOf, text: str, sentence: str) -> None:
    response = client.post("/review/", {"text": text, "plan": PLAN})
    assert response.status_code == 400
    assert sentence in text_of(response)
    assert 'aria-invalid="true"' in response.content.decode()
    assert text[:100].strip("\x00") in text_of(response) or not text


def test_a_plan_that_cannot_be_made_leads_back_to_the_planner(client: Client, text_of: TextOf) -> None:
    response = client.post("/review/", {"text": EXPORTS, "plan": "model=nobody/knows-this&device=rtx-4090"})
    assert response.status_code == 400
    assert "There is no plan to compare with" in text_of(response)
    assert "/?model=nobody/knows-this&amp;device=rtx-4090" in response.content.decode()
    assert "OLLAMA_MAX_QUEUE" in text_of(response)


@pytest.mark.parametrize("plan", ["https://elsewhere.example/", "users=0", "users=5&users=6", "next=//elsewhere.example"])
def test_a_plan_that_is_none_gives_way_to_the_worked_example(client: Client, text_of: TextOf, plan: str) -> None:
    response = client.post("/review/", {"text": EXPORTS, "plan": plan})
    assert response.status_code == 400
    assert "The worked example takes its place" in text_of(response)
    assert "elsewhere" not in response.content.decode()


def test_what_is_pasted_is_shown_as_text(client: Client) -> None:
    hostile = 'llama-server -m "/x/<script>alert(1)</script>.gguf" -np 2 --alias "</textarea><img src=x>"'
    page = client.post("/review/", {"text": hostile, "plan": PLAN}).content.decode()
    assert "<script>alert" not in page
    assert "<img" not in page
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'data-copy="([^"]+)"', page)) <= set(ids)


def test_a_form_from_elsewhere_is_refused() -> None:
    assert Client(enforce_csrf_checks=True).post("/review/", {"text": EXPORTS}).status_code == 403


def test_it_is_read_or_sent_and_nothing_else(client: Client) -> None:
    assert client.put("/review/").status_code == 405
    assert client.head("/review/").status_code == 200
