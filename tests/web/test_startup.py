"""Start-up lines pasted on the page and given to the command: the comparison, and what is refused."""

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client

TextOf = Callable[[HttpResponse], str]
ADDRESS = "model=Qwen/Qwen3-8B&device=rtx-4090&engine=vllm&engine_version=0.33.0&cache_memory=16GiB"
LINE = "GPU KV cache size: 116,496 tokens, Maximum concurrency for 32,768 tokens per request: 3.56x"
PART = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "compared"}


def test_pasted_lines_are_compared_on_the_page_of_their_plan(client: Client, text_of: TextOf) -> None:
    response = client.post("/startup/", {"address": ADDRESS, "startup": LINE})
    page = text_of(response)
    assert response.status_code == 200
    assert "To hold against the engine" in page
    assert "2 of 3 figures differ from the plan, each with its cause." in page
    assert "An input: the server runs with --max-model-len 32,768 (the plan has 8,192)." in page
    assert LINE in page, "what was pasted is still there"


def test_htmx_gets_the_comparison_alone(client: Client) -> None:
    page = client.post("/startup/", {"address": ADDRESS, "startup": LINE}, **PART).content.decode()
    assert "<html" not in page
    assert "<table" in page


def test_a_plan_with_the_printed_inputs_is_one_link_away(client: Client) -> None:
    page = client.post("/startup/", {"address": ADDRESS, "startup": LINE}, **PART).content.decode()
    link = re.search(r'href="([^"]+)"', page)
    assert link is not None
    again = link[1].replace("&amp;", "&")
    compared = client.post("/startup/", {"address": again.partition("?")[2], "startup": LINE}, **PART).content.decode()
    assert "As planned: all 3 figures" in compared


def test_nothing_recognised_says_what_to_paste(client: Client, text_of: TextOf) -> None:
    page = text_of(client.post("/startup/", {"address": ADDRESS, "startup": "ready"}, **PART))
    assert "There is no start-up line of vLLM in this text. Paste the lines" in page


def test_too_much_text_and_a_plan_that_is_refused_are_told(client: Client, text_of: TextOf) -> None:
    assert "64 KiB" in text_of(client.post("/startup/", {"address": ADDRESS, "startup": "x" * 70_000}, **PART))
    assert "at least 1" in text_of(client.post("/startup/", {"address": "users=0", "startup": LINE}, **PART))
    assert client.post("/startup/", {"address": "users=0", "startup": LINE}).status_code == 400


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "GPU KV cache size: 1<b> tokens", "\x00\ud800"[:1], "{{ 7|add:7 }}"])
def test_hostile_text_stays_text(client: Client, text: str) -> None:
    page = client.post("/startup/", {"address": ADDRESS + "&host=<script>alert(2)", "startup": text}).content.decode()
    assert "<script>alert" not in page
    assert "tokens</textarea>" not in page.replace("1&lt;b&gt; tokens</textarea>", "")


def test_the_form_is_guarded_against_other_sites() -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post("/startup/", {"address": ADDRESS, "startup": LINE}).status_code == 403
    page = client.get("/?" + ADDRESS).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)" form="startup-form"', page)
    assert token is not None
    assert client.post("/startup/", {"address": ADDRESS, "startup": LINE, "csrfmiddlewaretoken": token[1]}).status_code == 200


@pytest.mark.parametrize("method", ["get", "put", "delete"])
def test_lines_come_by_post_only(client: Client, method: str) -> None:
    assert getattr(client, method)("/startup/").status_code == 405


def command(*options: str) -> str:
    out = io.StringIO()
    call_command("plan", "Qwen/Qwen3-8B", "--device", "rtx-4090", "--engine", "vllm", "--cache-memory", "16GiB", *options, stdout=out)
    return out.getvalue()


def test_the_command_compares_a_file_for_people_and_for_scripts(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(f"INFO {LINE}\n", encoding="utf-8")
    assert "2 of 3 figures differ from the plan" in command("--startup", str(log))
    found = json.loads(command("--startup", str(log), "--json"))["reconcile"]
    assert not found["equal"]
    assert found["inputs"] == {"engine": "vllm", "engine_args": "--max-model-len 32768"}
    rows = {row["key"]: row for row in found["rows"]}
    assert rows["kv_cache_tokens"]["equal"]
    assert rows["max_concurrency"]["explained"]
    assert rows["max_model_len"] == {
        "key": "max_model_len",
        "name": "longest request",
        "printed": "32,768 tokens",
        "expected": "8,192 tokens",
        "equal": False,
        "explained": True,
        "why": "An input: the server runs with --max-model-len 32,768 (the plan has 8,192).",
    }


def test_the_command_reads_standard_input_and_refuses_what_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("GPU KV cache size: 116,496 tokens"))
    assert "As planned: the figure in these lines is the plan’s." in command("--startup", "-")
    monkeypatch.setattr(sys, "stdin", io.StringIO("x" * 100_000))
    with pytest.raises(CommandError, match="64 KiB"):
        command("--startup", "-")
    with pytest.raises(CommandError, match="cannot be read"):
        command("--startup", "/nowhere/vllm.log")
