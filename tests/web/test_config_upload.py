"""A config.json given by hand: into the address when it can be planned with, back to the form when not."""

import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

TextOf = Callable[[HttpResponse], str]
ADDRESS = "device=rtx-4090&context=4k&users=7"
# The shape of Llama-2-7B: 2 × 32 layers × 32 heads × 128 × 2 B = 524,288 B per token.
LLAMA_2 = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "max_position_embeddings": 4096, "vocab_size": 32000, "torch_dtype": "float16",
}  # fmt: skip


def test_pasted_text_goes_into_the_address_and_is_planned_with(client: Client, text_of: TextOf) -> None:
    response = client.post("/config/", {"address": ADDRESS, "config_text": json.dumps(LLAMA_2)})
    assert response.status_code == 303
    query = parse_qs(urlsplit(response["Location"]).query)
    assert query["users"] == ["7"]
    page = text_of(client.get(response["Location"]))
    assert "524,288 B" in page
    assert "Computed from the config.json you gave" in page


def test_an_uploaded_file_counts_as_well(client: Client, text_of: TextOf) -> None:
    upload = SimpleUploadedFile("config.json", json.dumps(LLAMA_2).encode(), content_type="application/json")
    response = client.post("/config/", {"address": ADDRESS, "config_text": "", "config_file": upload})
    assert response.status_code == 303
    assert "524,288 B" in text_of(client.get(response["Location"]))


def test_the_address_stays_short_enough_for_any_server(client: Client) -> None:
    bulky = LLAMA_2 | {"id2label": {str(i): f"LABEL_{i}" for i in range(2000)}}
    response = client.post("/config/", {"address": ADDRESS, "config_text": json.dumps(bulky)})
    assert len(response["Location"]) < 2000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Choose a file or paste"),
        ("not json", "JSON"),
        ("[1, 2]", "JSON"),
        (json.dumps(LLAMA_2 | {f"unknown_{number}": number for number in range(20_000)}), "characters of an address"),
        ("{" * 5000, "JSON"),
        ('{"a":' * 3000 + "1" + "}" * 3000, ""),
        ("{}", ""),
        (
            json.dumps({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size": 1}),
            "bert",
        ),
        (json.dumps(LLAMA_2 | {"num_hidden_layers": "many"}), "num_hidden_layers"),
        (json.dumps(LLAMA_2 | {"num_hidden_layers": -1}), "num_hidden_layers"),
        (json.dumps(LLAMA_2).replace("4096", "NaN"), ""),
        (" " * (2**20 + 1) + "{}", "longer than 1 MiB"),
    ],
)
def test_a_config_that_cannot_be_planned_with_comes_back_as_typed(client: Client, text: str, sentence: str) -> None:
    response = client.post("/config/", {"address": ADDRESS, "config_text": text})
    page = response.content.decode()
    assert response.status_code == 400
    note = re.search(r'<p id="config-note" class="note error">(.*?)</p>', page, re.DOTALL)
    assert note is not None
    assert sentence in note[1]
    assert text.strip()[:40].replace('"', "&quot;") in page
    assert 'value="7"' in page, "the other inputs are still there"
    assert re.search(r'<details id="config"[^>]* open>', page)


def test_an_empty_file_is_called_empty(client: Client, text_of: TextOf) -> None:
    response = client.post("/config/", {"address": ADDRESS, "config_file": SimpleUploadedFile("config.json", b"")})
    assert response.status_code == 400
    assert "This is empty" in text_of(response)


def test_a_file_that_is_too_large_is_refused_by_its_size(client: Client, text_of: TextOf) -> None:
    response = client.post("/config/", {"address": ADDRESS, "config_file": SimpleUploadedFile("model.safetensors", b"{" * (2**20 + 1))})
    assert response.status_code == 400
    assert "Weights are not needed" in text_of(response)


def test_ten_megabytes_are_refused_before_they_are_read(client: Client, text_of: TextOf) -> None:
    response = client.post("/config/", {"address": ADDRESS, "config_text": "x" * 10_000_000})
    assert response.status_code == 400
    assert "Open the planner" in text_of(response)


def test_a_form_from_elsewhere_is_refused(text_of: TextOf) -> None:
    response = Client(enforce_csrf_checks=True).post("/config/", {"config_text": json.dumps(LLAMA_2)})
    assert response.status_code == 403
    assert "too old to be trusted" in text_of(response)


def test_a_config_in_the_address_that_is_damaged_says_so(client: Client, text_of: TextOf) -> None:
    response = client.get("/", {"config": "eJxLTEoGAAJNAScut", "device": "rtx-4090"})
    assert response.status_code == 400
    assert "paste the text of a config.json" in text_of(response)
