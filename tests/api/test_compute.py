"""The calls that work something out: they answer what the commands print, and refuse what cannot be used with the pages' sentences."""

import gzip
import json
from io import StringIO
from typing import Any

import pytest
from django.conf import Settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.http import HttpResponse

from planner.api import compute
from planner.operations.rates import Limit
from tests.api.conftest import QUESTION, Caller, problem
from tests.log_writer import write
from tests.schedules import random_schedule

pytestmark = pytest.mark.django_db


def printed(*words: str) -> Any:
    out = StringIO()
    call_command(*words, "--json", stdout=out)
    return json.loads(out.getvalue())


def fields(response: HttpResponse) -> list[str]:
    return [each["field"] for each in problem(response, 422)["errors"]]


def test_a_plan_is_what_the_command_prints(anybody: Caller) -> None:
    assert anybody("post", "plan", QUESTION).json() == printed(
        "plan", QUESTION["model"], "--device=rtx-4090", "--users=20", "--engine=vllm"
    )


def test_a_table_is_what_the_command_prints_a_page_at_a_time(anybody: Caller) -> None:
    whole = printed("compare", "Qwen/Qwen3-8B", "--device=rtx-4090,l40s", "--count=1,2", "--vendor=nvidia", "--sort=price")
    asked = {"model": "Qwen/Qwen3-8B", "devices": ["rtx-4090", "l40s"], "counts": [1, 2], "vendors": ["NVIDIA"], "sort": "price"}
    first = anybody("post", "compare", {**asked, "limit": 5}).json()
    assert first["total"] == len(whole["options"])
    assert first["options"] == whole["options"][:5]
    rest = anybody("post", "compare", {**asked, "limit": 500, "offset": 5}).json()
    assert first["options"] + rest["options"] == whole["options"]
    best = anybody("post", "compare", {**asked, "best_of_each": True}).json()
    assert len({(row["device"], row["count"]) for row in best["options"]}) == best["total"] == 4
    assert anybody("post", "compare", {**asked, "max_price": 1}).json()["options"] == []


def test_a_simulation_is_what_the_command_prints(anybody: Caller) -> None:
    words = ("--device=rtx-4090", "--users=20", "--engine=vllm", "--duration=600", "--sweep=batch=256,1024")
    asked = {**QUESTION, "duration": 600, "sweep": {"batch": [256, 1024]}}
    assert anybody("post", "simulate", asked).json() == printed("simulate", str(QUESTION["model"]), *words)


def test_a_diagnosis_is_of_the_files_that_were_sent(anybody: Caller) -> None:
    text = write(random_schedule(27)).text.encode()
    told = [
        anybody.client.post("/api/v1/diagnose", {"logs": SimpleUploadedFile("a.log", sent)}).json() for sent in (text, gzip.compress(text))
    ]
    assert told[0] == told[1]
    assert told[0]["engine"] == "llama-server"
    assert told[0]["tasks"]["finished"] > 0


def test_numbers_may_be_sent_as_people_write_them(anybody: Caller) -> None:
    plain = anybody("post", "plan", {**QUESTION, "context": 8192, "wait_target": 0.05}).json()
    assert anybody("post", "plan", {**QUESTION, "context": "8k", "wait_target": "5%", "users": "20"}).json() == plain
    assert anybody("post", "plan", {**QUESTION, "users": 20.0}).json() == plain


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**QUESTION, "users": 0}, "users"),
        ({**QUESTION, "users": True}, "users"),
        ({**QUESTION, "users": 10**40}, "users"),
        ({**QUESTION, "users": None}, "users"),
        ({**QUESTION, "context": "a lot"}, "context"),
        ({**QUESTION, "device": "no such card"}, "device"),
        ({**QUESTION, "model": "nobody/nothing"}, "model"),
        ({**QUESTION, "model": "http://169.254.169.254/latest/meta-data"}, "model"),
        ({**QUESTION, "model": 7}, "model"),
        ({**QUESTION, "wheels": 4}, "wheels"),
        ({**QUESTION, "config": "{}"}, "config"),
        ([], ""),
        ("text", ""),
        (None, ""),
    ],
)
def test_what_cannot_be_used_says_which_input_it_is(body: object, field: str, anybody: Caller) -> None:
    assert fields(anybody("post", "plan", json.dumps(body))) == [field]


def test_every_input_that_is_wrong_is_told_at_once(anybody: Caller) -> None:
    told = problem(anybody("post", "plan", {**QUESTION, "users": 0, "context": -1}), 422)
    assert {each["field"] for each in told["errors"]} == {"users", "context"}
    assert told["detail"] in {each["message"] for each in told["errors"]}


def test_the_hubs_reason_has_a_code(anybody: Caller) -> None:
    assert problem(anybody("post", "plan", {**QUESTION, "model": "nobody/nothing"}), 422)["code"] == "unreachable"


@pytest.mark.parametrize(
    "body",
    ["", "{", '{"users": NaN}', '{"users": Infinity}', '{"a":' * 5_000, '{"users": ' + "9" * 5_000 + "}", b"\xff\xfe\x00", "[" * 100_000],
)
def test_what_is_no_json_is_refused_as_such(body: str | bytes, anybody: Caller) -> None:
    assert anybody("post", "plan", body).status_code in ({415} if body == "" else {400})  # an empty body has no type


@pytest.mark.parametrize("path", ["plan", "compare", "simulate", "diagnose"])
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json", ""]
)
def test_a_body_of_another_type_is_not_read(path: str, kind: str, anybody: Caller) -> None:
    right = kind.startswith("multipart") if path == "diagnose" else kind == "application/json"
    answer = anybody.client.generic("POST", f"/api/v1/{path}", '{"nothing of ours": 1}', content_type=kind)
    assert (answer.status_code == 415) != right
    problem(answer, answer.status_code)


def test_more_than_a_call_takes_is_not_read(anybody: Caller, settings: Settings) -> None:
    problem(anybody("post", "plan", "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)), 413)
    settings.MAX_BODY_BYTES = 10_000
    problem(anybody.client.post("/api/v1/diagnose", {"logs": SimpleUploadedFile("a.log", b"x" * 20_000)}), 413)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"device": "rtx-4090"}, "device"),
        ({"count": 2}, "count"),
        ({"gpu_memory": "24GiB"}, "gpu_memory"),
        ({"devices": ["no such card"]}, "devices"),
        ({"counts": [0]}, "counts.0"),
        ({"devices": ["rtx-4090"] * 201}, "devices"),
        ({"counts": list(range(1, 17))}, "counts"),
        ({"prices": "rtx-4090;cheap"}, "prices"),
        ({"have": "3 of them"}, "have"),
        ({"sort": "beauty"}, "sort"),
        ({"limit": 501}, "limit"),
        ({"hours": 25}, "hours"),
    ],
)
def test_a_table_of_something_else_is_refused(body: dict[str, object], field: str, anybody: Caller) -> None:
    assert fields(anybody("post", "compare", {"model": "Qwen/Qwen3-8B", **body})) == [field]


@pytest.mark.parametrize(
    "sweep",
    [
        {"batch": []},
        {"batch": list(range(1, 42))},
        {"model": ["a"]},
        {"no such": [1]},
        {"batch": ["x"]},
        {"batch": [256] * 40, "users": [1, 2]},
        {"images": [1]},
        {"a": [1], "b": [1], "c": [1], "d": [1], "e": [1]},
    ],
)
def test_a_sweep_that_cannot_be_run_is_refused(sweep: dict[str, object], anybody: Caller) -> None:
    assert fields(anybody("post", "simulate", {**QUESTION, "sweep": sweep}))[0].partition(".")[0] in {"sweep", "batch"}


def test_a_call_simulates_no_more_than_a_page(anybody: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "MAX_EVENTS", 2_000)
    told = problem(anybody("post", "simulate", {**QUESTION, "duration": 30 * 86_400}), 422)
    assert "time" in told["detail"] or "steps" in told["detail"], told["detail"]


def test_a_call_compares_only_so_many_machines(anybody: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "MAX_MACHINES", 1)
    assert fields(anybody("post", "compare", {"model": "Qwen/Qwen3-8B", "devices": ["rtx-4090"], "counts": [1, 2]})) == ["counts"]


def test_a_log_that_unpacks_to_very_much_is_not_unpacked(anybody: Caller, settings: Settings) -> None:
    settings.DIAGNOSE_MAX_BYTES = 100_000
    bomb = gzip.compress(b"\0" * 10_000_000)
    assert fields(anybody.client.post("/api/v1/diagnose", {"logs": SimpleUploadedFile("a.log.gz", bomb)})) == ["logs"]


def test_diagnoses_by_calls_and_by_the_page_are_counted_together(anybody: Caller, settings: Settings) -> None:
    settings.DIAGNOSE_RATE_LIMIT = Limit("diagnoses", 2, 86_400)
    text = write(random_schedule(3)).text.encode()
    assert anybody.client.post("/diagnose/", {"logs": SimpleUploadedFile("a.log", text)}).status_code == 200
    assert anybody.client.post("/api/v1/diagnose", {"logs": SimpleUploadedFile("a.log", text)}).status_code == 200
    refused = anybody.client.post("/api/v1/diagnose", {"logs": SimpleUploadedFile("a.log", text)})
    problem(refused, 429)
    assert int(refused["Retry-After"]) > 0
    assert refused["RateLimit-Policy"] == '"diagnoses";q=2;w=86400'


@pytest.mark.parametrize("sent", [{}, {"prefill_rate": "9"}, {"logs": "not a file"}])
def test_a_diagnosis_takes_a_log(sent: dict[str, str], anybody: Caller) -> None:
    assert fields(anybody.client.post("/api/v1/diagnose", sent))[0].startswith("logs")
