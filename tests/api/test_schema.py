"""The description of the API: valid, noticed when it changes, and true, key by key, to what is answered."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from planner.accounts.scopes import Scope
from planner.api.described import operations, schema
from planner.permissions import RULES
from planner.plans.models import SavedPlan
from tests.api.conftest import QUESTION, Caller, caller
from tests.log_writer import write
from tests.plans.conftest import People
from tests.schedules import random_schedule

SNAPSHOT = Path(__file__).with_name("openapi.json")


def test_it_is_valid_openapi() -> None:
    validate(schema())


def test_a_change_of_it_is_meant() -> None:
    """UPDATE_GOLDEN=1 takes the new one: keys may be added, none renamed or dropped without a line in the changelog."""
    told = json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        SNAPSHOT.write_text(told, encoding="utf-8")
    assert told == SNAPSHOT.read_text(encoding="utf-8")


@pytest.mark.django_db
def test_it_is_served_and_links_only_to_what_it_has(anybody: Caller) -> None:
    told = anybody("get", "openapi.json").json()
    assert told == json.loads(json.dumps(schema()))
    assert told["openapi"] == "3.1.0"
    for ref in references(told):
        found: Any = told
        for key in ref.removeprefix("#/").split("/"):
            found = found[key]


def test_every_call_says_what_it_takes_and_how_it_refuses() -> None:
    ids = []
    for _, method, call in operations(schema()):
        ids.append(call["operationId"])
        assert call["summary"]
        assert {"400", "401", "403", "405", "422", "429", "503"} <= set(call["responses"])
        assert call["security"][-1] == {"token": []}
        assert call["x-scope"] in set(Scope)
        assert ("requestBody" in call) == (method in {"post", "put"})
    assert len(ids) == len(set(ids)) == sum(len(rule.scopes or ()) for rule in RULES.values())


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from ([node["$ref"]] if isinstance(node.get("$ref"), str) else [])
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def strict(node: Any) -> Any:
    """The schema without room for a key that it does not have."""
    if isinstance(node, list):
        return [strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {key: strict(value) for key, value in node.items()}
    return (
        {**found, "additionalProperties": False}
        if "properties" in node and isinstance(node["properties"], dict) and "type" in node
        else found
    )


def is_described(told: object, name: str) -> None:
    """Holds an answer against planner/api/answers: a key that is new there belongs into its model too."""
    checked = Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": strict(schema()["components"])})
    wrong = [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in checked.iter_errors(told)]
    assert not wrong, f"{name}: {wrong[:5]}"


PLANS = [
    {},
    {"engine": "llama-server"},
    {"engine": "ollama", "users": 4},
    {"device": None, "ram": "64GiB", "engine": "llama-server"},
    {
        "device": None,
        "gpu_memory": "24GiB",
        "prompt_tokens": 1500,
        "output_tokens": 300,
        "think_seconds": 60,
        "prefill_rate": 3000,
        "decode_rate": 40,
    },
    {"device": "2x3090+1x4090", "engine": "llama-server", "users": 400},
    {"model": "openai/gpt-oss-20b", "device": "h100-sxm", "count": 2, "prefill_rate": 9_000, "decode_rate": 150},
    {"cache_memory": "3GiB", "images": True, "adapters": 2, "switch_seconds": 1},
]


@pytest.mark.django_db
@pytest.mark.parametrize("changes", PLANS)
def test_plans_are_as_described(changes: dict[str, Any], anybody: Caller) -> None:
    question = {name: value for name, value in {**QUESTION, **changes}.items() if value is not None}
    answer = anybody("post", "plan", question)
    assert answer.status_code == 200, answer.content
    is_described(answer.json(), "PlanAnswer")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "changes",
    [
        {"devices": ["rtx-4090", "vps", "cpu-rpi5"]},
        {"devices": ["rtx-3090"], "have": "rtx-3090x2", "kwh_price": 0.3, "prices": "device,price,currency,per\nrtx-3090,800,EUR,once\n"},
        {"devices": ["rtx-2080-ti", "h100-sxm"], "engine": "vllm", "weights_quant": "fp8"},
    ],
)
def test_tables_are_as_described(changes: dict[str, Any], anybody: Caller) -> None:
    answer = anybody("post", "compare", {"model": "Qwen/Qwen3-8B", "counts": [1, 2], **changes})
    assert answer.status_code == 200, answer.content
    told = answer.json()
    assert told["options"]
    is_described(told, "CompareAnswer")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sweep": {"batch": [256, 512, 1024], "policy": ["vllm"]}},
        {"sweep": {"users": [5, 10, 20]}},
        {"long_share": "10%", "engine": "llama-server"},
    ],
)
def test_simulations_are_as_described(changes: dict[str, Any], anybody: Caller) -> None:
    answer = anybody("post", "simulate", {**QUESTION, "duration": 600, **changes})
    assert answer.status_code == 200, answer.content
    is_described(answer.json(), "SimulateAnswer")


@pytest.mark.django_db
def test_diagnoses_are_as_described(anybody: Caller) -> None:
    logs = [write(random_schedule(seed)) for seed in (27, 3)]
    rows = [f"{truth.arrival_s},chat,{truth.prompt_tokens}" for truth in logs[0].truths]
    calls = "\n".join(["time,purpose,prompt_tokens", *rows])
    sent = {"logs": logs[0].text, "before": logs[1].text, "calls": calls}
    files = {name: SimpleUploadedFile(name, text.encode()) for name, text in sent.items()}
    for given in (files, {"logs": SimpleUploadedFile("server.log", b"")}):
        answer = anybody.client.post("/api/v1/diagnose", given)
        if answer.status_code != 200:
            is_described(answer.json(), "Problem")
            continue
        told = answer.json()
        assert told["findings"]
        assert told["purposes"]
        assert told["comparison"]
        is_described(told, "DiagnoseAnswer")


@pytest.mark.django_db
def test_saved_plans_and_refusals_are_as_described(people: People, plan: SavedPlan) -> None:
    call, path = caller(people.owner), f"plans/{plan.public_id}"
    is_described(call("get", "plans").json(), "PlanPage")
    is_described(call("get", path).json(), "SavedPlanAnswer")
    is_described(call("get", f"{path}/versions").json(), "VersionPage")
    is_described(call("get", f"{path}/versions/1").json(), "PlanVersion")
    is_described(call("post", f"{path}/links", {"days": 1}).json(), "MadeLink")
    is_described(call("get", f"{path}/links").json(), "LinkList")
    is_described(call("post", "plan", {"users": 0}).json(), "Problem")
    is_described(call("post", "plan", {"model": "nobody/nothing", "device": "rtx-4090"}).json(), "Problem")
    is_described(call("put", path, {"title": "x", "request": QUESTION, "base": 9}).json(), "Problem")
