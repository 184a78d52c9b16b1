"""The simulator's page: what it shows, that it is what the command prints, its parts as they stream, and its refusals."""

import gzip
import html
import json
import re
import shlex
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.core.management import ManagementUtility
from django.http import HttpResponse
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.core import units
from planner.core.simulation.request import SimulationRequest
from planner.web.simulating import trying, uploaded
from planner.web.simulating.inputs import GROUPS

TextOf = Callable[[HttpResponse], str]
PLAN = {
    "model": "Qwen/Qwen3-8B",
    "device": "rtx-4090",
    "users": "8",
    "prompt_tokens": "1500",
    "output_tokens": "300",
    "think_seconds": "60",
}
QUICK = PLAN | {"duration": "600"}
LINES = {"HTTP_ACCEPT": "application/x-ndjson"}
CSV = "time,prompt_tokens,output_tokens\n5,100,20\n6.5,200,30\n"


def figures(response: HttpResponse) -> dict[str, str]:
    """The figures a script could read off the page."""
    found = re.findall(r'data-figure="([^"]+)">([^<]+)<', response.content.decode())
    return {name: html.unescape(shown) for name, shown in found}


def lines(client: Client, address: str, values: dict[str, str]) -> list[dict[str, Any]]:
    response = client.get(address, values, **LINES)
    assert response.status_code == 200
    *steps, end = (json.loads(line) for line in b"".join(response.streaming_content).splitlines())
    assert end == {"ended": True}
    return steps


def test_the_first_page_tries_the_worked_example(client: Client, text_of: TextOf) -> None:
    response = client.get("/simulate/")
    page = text_of(response)
    assert response.status_code == 200
    assert re.search(r"(Within|Beyond) your limits: half of the first tokens come within [\d.]+ m?s, 95 % within", page)
    assert "20 users for 4 h" in page
    for part in (
        "What people feel", "By kind of turn", "What the server does meanwhile", "First token and pause against users", "Schedulers side by side",
        "Try to break this plan", "The same as JSON", "Replay what really happened",
    ):  # fmt: skip
        assert part in page


def test_the_figures_are_those_the_command_prints_as_json(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    response = client.get("/simulate/", QUICK | {"policy": "llama-server", "batch": "512", "long_share": "5%", "together": "yes"})
    command = re.search(r'<pre id="command-text"[^>]*>(.*?)</pre>', response.content.decode())
    assert command
    ManagementUtility(shlex.split(html.unescape(command[1]))).execute()
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    shown = figures(response)
    for measure, show in (("ttft", units.seconds), ("itl", units.gap), ("pause", units.gap), ("wait", units.seconds)):
        for share in ("p50", "p95", "p99", "max"):
            assert shown[f"{measure}-{share}"] == show(run[measure][share]), (measure, share)
    for count in ("requests", "rejected", "failed", "preempted", "recomputed_tokens", "longest_queue"):
        assert shown[count] == f"{run[count]:,}", count
    for share in ("utilization", "idle"):
        assert shown[share] == units.percent(run[share])
    assert shown["tokens_per_second"] == f"{units.trimmed(run['tokens_per_second'], 1)} per s"


def test_a_sweep_s_table_has_the_command_s_figures(client: Client, capsys: pytest.CaptureFixture[str], text_of: TextOf) -> None:
    words = [word for name, value in QUICK.items() if name != "model" for word in (f"--{name.replace('_', '-')}", value)]
    ManagementUtility(["manage.py", "simulate", QUICK["model"], *words, "--sweep", "slots=1,2,4", "--json"]).execute()
    runs = json.loads(capsys.readouterr().out)["runs"]
    page = text_of(client.get("/simulate/sweep/", QUICK | {"sweep": "slots=1,2,4"}))
    for run in runs:
        row = f"{run['options']['slots']} {units.seconds(run['ttft']['p50'])} {units.seconds(run['ttft']['p95'])} {units.gap(run['pause']['p95'])}"
        assert row in page


def test_an_address_gives_the_same_page_each_time(client: Client) -> None:
    def answer() -> bytes:
        return re.sub(rb'csrfmiddlewaretoken" value="\w+"', b"", client.get("/simulate/", QUICK).content)

    assert answer() == answer()


def test_estimated_speeds_give_ranges_and_measured_ones_none(client: Client, text_of: TextOf) -> None:
    estimated = client.get("/simulate/", QUICK)
    measured = client.get("/simulate/", QUICK | {"prefill_rate": "800", "decode_rate": "52"})
    assert "95 %, fast to slow" in text_of(estimated)
    assert "Speeds are estimated" in text_of(estimated)
    assert 'class="range"' not in measured.content.decode()
    assert "At the speeds you measured." in text_of(measured)


def test_short_turns_beside_a_long_prefill_are_a_row_of_their_own(client: Client, text_of: TextOf) -> None:
    load = QUICK | {"context": "32k", "prompt_tokens": "300", "long_share": "10%", "users": "20", "duration": "3600"}
    page = text_of(client.get("/simulate/", load))
    assert "Short turns beside a long prefill" in page
    assert "Long prompts" in page
    assert "No short turn met a long prefill" in text_of(client.get("/simulate/", QUICK))


def test_every_field_of_a_simulation_has_an_input_and_a_word_of_help_or_an_example() -> None:
    fields = {item.name: item for group in GROUPS for item in group.inputs}
    assert set(SimulationRequest.model_fields) - {"config"} <= set(fields)
    assert len(fields) == sum(len(group.inputs) for group in GROUPS)
    for name in set(SimulationRequest.model_fields) & set(fields):
        assert fields[name].hint or fields[name].example or fields[name].choices or fields[name].understood or fields[name].unit, name


def test_the_plan_leads_to_its_simulation_and_back(client: Client, text_of: TextOf) -> None:
    planner = client.get("/", PLAN).content.decode()
    (there,) = re.findall(r'href="(/simulate/\?[^"]+)"', planner)
    page = client.get(html.unescape(there))
    assert page.status_code == 200
    (back,) = set(re.findall(r'href="(/\?[^"]+)">Back to the plan', page.content.decode()))
    assert client.get(html.unescape(back)).content.decode().count('value="1500"') == 1


def test_the_menu_takes_the_plan_along(client: Client) -> None:
    response = client.get("/simulate/", HTTP_REFERER="http://testserver/?device=rtx-4090&users=9")
    assert (response.status_code, response["Location"]) == (302, "/simulate/?device=rtx-4090&users=9")
    assert client.get("/simulate/", HTTP_REFERER="http://elsewhere.example/?users=9").status_code == 200


def test_a_sweep_streams_one_line_for_each_run(client: Client) -> None:
    found = lines(client, "/simulate/sweep/", QUICK | {"sweep": "users=2,8,30 slots=1,4"})
    assert [(each["done"], each["total"]) for each in found] == [(number, 6) for number in range(7)]
    assert found[0]["html"] == ""
    assert found[1]["html"].count("<tr") == 2
    assert found[-1]["html"].count("<tr") == 7
    assert not any(each["error"] for each in found)


def test_over_one_number_there_is_a_figure_its_description_and_a_knee(client: Client) -> None:
    last = lines(
        client, "/simulate/sweep/", QUICK | {"engine": "llama-server", "slots": "2", "duration": "3600", "sweep": "users=2,40,60,80,120"}
    )[-1]
    figure = json.loads(re.search(r'application/json">(.*?)</script>', last["html"])[1])  # type: ignore[index]
    assert figure["data"][0]["x"] == [2, 40, 60, 80, 120]
    assert "knee: First token" in last["html"]
    description = re.search(r'aria-label="(Users from 2 to 120[^"]+)"', last["html"])
    assert description
    assert "with its knee at" in description[1]


@pytest.mark.parametrize(
    "sweep", ["users=5,5,5", "users=30,2,8", "long_share=0,0.5,1", "max_queue=0,3", "policy=vllm,vllm", "decode_rate=0.001,1e9", "seed=7"]
)
def test_values_in_any_order_equal_or_extreme_are_a_sweep(client: Client, sweep: str) -> None:
    last = lines(client, "/simulate/sweep/", QUICK | {"engine": "llama-server", "duration": "60", "sweep": sweep})[-1]
    assert last["done"] == last["total"]
    assert not last["error"]


def test_schedulers_are_compared_on_the_same_server(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/simulate/sweep/", QUICK | {"engine": "vllm", "sweep": "policy=llama-server,vllm,ollama,static,serial"}))
    for title in ("llama-server", "vLLM", "Ollama", "Static batches", "One at a time"):
        assert title in page


def test_whoever_reads_no_further_has_no_more_runs_made(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    whole = trying.trials

    def counted(*args: Any, **more: Any) -> Any:
        for trial in whole(*args, **more):
            made.append(trial.options)
            yield trial

    monkeypatch.setattr(trying, "trials", counted)
    response = client.get("/simulate/sweep/", QUICK | {"sweep": "users=1,2,3,4,5,6"}, **LINES)
    content = iter(response.streaming_content)
    assert json.loads(next(content))["done"] == 0
    assert made == []
    assert json.loads(next(content))["done"] == 1
    response.close()
    assert list(content) == []
    assert len(made) == 1


def test_a_stream_is_not_held_back_by_compression_or_caches(client: Client) -> None:
    response = client.get("/simulate/sweep/", QUICK | {"sweep": "users=1,2"}, HTTP_ACCEPT_ENCODING="gzip", **LINES)
    assert response["Content-Type"] == "application/x-ndjson"
    assert response["Content-Encoding"] == "identity"
    assert response["Cache-Control"] == "no-store"
    assert "Accept" in response["Vary"]
    assert json.loads(next(iter(response.streaming_content)))["total"] == 2


def test_what_stops_a_sweep_midway_is_said_beside_what_there_is(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "MAX_EVENTS", 1_000)
    *_, before, last = lines(client, "/simulate/sweep/", QUICK | {"sweep": "users=2,1000"})
    assert (before["done"], last["done"]) == (1, 1)
    assert "takes too long to simulate" in last["error"]
    assert last["html"].count("<tr") == 2


def test_the_curves_have_this_run_as_one_of_their_points(client: Client) -> None:
    page = client.get("/simulate/", QUICK)
    shown = figures(page)
    addresses = [html.unescape(each) for each in re.findall(r'data-later="([^"]+)"', page.content.decode())]
    for option in ("batch", "users", "slots"):
        (address,) = (each for each in addresses if f"sweep={option}=" in each)
        last = lines(client, address, {})[-1]
        (row,) = re.findall(r'<tr class="chosen">(.*?)</tr>', last["html"], re.DOTALL)
        cells = re.findall(r'<td class="number">([^<]+)</td>', row)
        assert cells[:3] == [shown["ttft-p50"], shown["ttft-p95"], shown["pause-p95"]], option


def test_bad_hours_stream_and_are_there_without_script(client: Client, text_of: TextOf) -> None:
    found = lines(client, "/simulate/break/", PLAN)
    assert [each["done"] for each in found] == list(range(len(found)))
    assert "Ordinary use" in found[1]["html"]
    page = text_of(client.get("/simulate/break/", PLAN))
    assert "The first that breaks it:" in page or "It survives" in page


def test_an_hour_that_breaks_the_plan_is_named_with_what_it_breaks(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/simulate/break/", PLAN | {"slots": "1", "users": "30"}))
    assert "The first that breaks it: Ordinary use." in page
    assert "more than the 30 s people are ready to wait" in page


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"users": "0"}, "users", "at least 1"),
        ({"batch": "x"}, "batch", "is not a number"),
        ({"batch": "2", "slots": "8"}, "batch", "A pass of 2 tokens"),
        ({"policy": "fair"}, "policy", "must be one of"),
        ({"duration": "1e99"}, "duration", "at most"),
        ({"duration": "nan"}, "duration", "is not a number"),
        ({"duration": "2592000", "users": "10000"}, "duration", "send more than"),
        ({"long_share": "0.7", "image_share": "0.7"}, "long_share", "cannot be more than all turns"),
        ({"shared_tokens": "9000"}, "shared_tokens", "must leave room"),
        ({"together": "perhaps"}, "together", "must be yes or no"),
        ({"device": "no such card"}, "device", "not in the catalogue"),
        ({"model": "nobody/nothing"}, "model", "cannot be reached"),
        ({"device": "", "ram": "64GiB"} | dict.fromkeys(("prompt_tokens", "output_tokens", "think_seconds"), ""), "prefill_rate", "measure both rates"),
        ({"sweep": "batch"}, "sweep", "is no sweep"),
        ({"sweep": "engine=vllm"}, "sweep", "is not a number"),
        ({"sweep": "batch=x"}, "sweep", "is not a number"),
        ({"sweep": "users=1,2,3,4,5,6,7 slots=1,2,3,4,5,6"}, "sweep", "at most 40 runs"),
        ({"sweep": "users=1,2 users=3"}, "sweep", "names an option twice"),
        ({"sweep": " ".join(f"{name}={','.join(map(str, range(1, 60)))}" for name in ("users", "slots", "batch", "seed", "duration", "context"))},
         "sweep", "this one has 42,180,533,641"),
        ({"sweep": ",".join(["users=1", *map(str, range(2, 200))])}, "sweep", "at most 100 runs"),
    ],
)  # fmt: skip
def test_a_refusal_stands_beside_its_field_and_nothing_typed_is_lost(
    client: Client, text_of: TextOf, changes: dict[str, str], field: str, sentence: str
) -> None:
    response = client.get("/simulate/", PLAN | changes)
    page = response.content.decode()
    assert response.status_code == 400
    note = re.search(rf'<p id="in-{field}-note" class="note error">(.*?)</p>', page, re.DOTALL)
    assert note
    assert sentence in html.unescape(note[1])
    for name, value in (PLAN | changes).items():
        if value and name not in {"policy", "together"}:
            assert f'value="{html.escape(value)}"' in page, name
    assert "Nothing was simulated" in text_of(response)


def test_an_input_that_nobody_knows_is_named(client: Client, text_of: TextOf) -> None:
    response = client.get("/simulate/", PLAN | {"batches": "512"})
    assert response.status_code == 400
    assert "batches is not an option of Slotwise" in text_of(response)


@pytest.mark.parametrize("address", ["/simulate/sweep/", "/simulate/break/"])
def test_a_part_of_what_cannot_be_simulated_says_why(client: Client, text_of: TextOf, address: str) -> None:
    response = client.get(address, PLAN | {"users": "0"})
    assert response.status_code == 400
    assert "at least 1" in text_of(response)
    assert "at least 1" in lines(client, address, PLAN | {"users": "0"})[-1]["error"]


def test_a_sweep_s_address_without_a_sweep_says_how_to_write_one(client: Client, text_of: TextOf) -> None:
    response = client.get("/simulate/sweep/", PLAN)
    assert response.status_code == 400
    assert "sweep=batch=256,512,1024" in text_of(response)


def test_axes_may_be_written_apart_or_together() -> None:
    assert [axis.values for axis in trying._axes(" users=1, 2 ;slots=3 ,4  batch=512 ")] == [("1", "2"), ("3", "4"), ("512",)]


NAMES = st.sampled_from([*SimulationRequest.model_fields, "sweep", "replay", "", "\0"])
VALUES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["1e308", "-1", "nan", "inf", "0", "1", "100%", "9" * 50, "users=1,2", "policy=vllm", "=,=", "batch=" + "1," * 60, "\ud800", "true", "-c 1 -np 9"]),
)  # fmt: skip


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_no_query_string_is_an_error_of_ours(client: Client, values: dict[str, str]) -> None:
    query = {name: value.encode("utf-8", "replace") for name, value in (QUICK | {"duration": "60"} | values).items()}
    for address in ("/simulate/", "/simulate/sweep/", "/simulate/break/"):
        response = client.get(address, query)
        assert response.status_code in {200, 400}
        assert "NaN" not in response.content.decode()


def upload(client: Client, content: bytes, name: str = "server.log", values: dict[str, str] = PLAN) -> HttpResponse:
    file = BytesIO(content)
    file.name = name
    query = "&".join(f"{key}={value}" for key, value in values.items())
    return client.post("/simulate/replay/", {"address": query, "log": file})


@pytest.mark.parametrize("content", [CSV.encode(), gzip.compress(CSV.encode())])
def test_recorded_requests_are_sent_again(client: Client, text_of: TextOf, content: bytes) -> None:
    response = upload(client, content, values=PLAN | {"policy": "llama-server"})
    page = text_of(response)
    assert response.status_code == 200
    assert "2 recorded requests, sent at the recorded times" in page
    assert figures(response)["requests"] == "2"
    assert "Requests are sent at their recorded times" in page
    assert 'value="1500"' in response.content.decode()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "No request with its time and tokens was found"),
        (bytes(range(256)) * 40, "No request with its time and tokens was found"),
        (b"\x1f\x8b" + b"\0" * 40, "cannot be read"),
        (gzip.compress(CSV.encode())[:-9], "cannot be read"),
        (b"time,prompt_tokens,output_tokens\nsoon,1,1\n", "Request 1 needs time"),
        (b"time,prompt_tokens,output_tokens\nnan,1,1\n", "Request 1 has a time"),
        (b"time,prompt_tokens,output_tokens\n0,5,1\n1e300,5,1\n", "more than a year apart"),
        (b"time,prompt_tokens,output_tokens\n-1e308,5,1\n1e308,5,1\n", "more than a year apart"),
        (b"time,prompt_tokens,output_tokens\n0,999999,1\n", "")
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_replayed_says_why(client: Client, text_of: TextOf, content: bytes, sentence: str) -> None:
    response = upload(client, content)
    assert response.status_code == (400 if sentence else 200)
    assert sentence in text_of(response)


def test_without_a_file_it_asks_for_one(client: Client, text_of: TextOf) -> None:
    response = client.post("/simulate/replay/", {"address": "users=9"})
    assert response.status_code == 400
    assert "Choose a file" in text_of(response)
    assert 'value="9"' in response.content.decode()


def test_a_file_is_bounded_packed_and_unpacked(client: Client, text_of: TextOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded, "MAX_UPLOAD", 100)
    assert "are the most" in text_of(upload(client, CSV.encode() * 10))
    monkeypatch.undo()
    monkeypatch.setattr(uploaded, "MAX_UNPACKED", 10_000)
    assert "More than" in text_of(upload(client, gzip.compress(b"x\n" * 100_000)))
    # An empty line costs time too: a packed file of a few kilobytes may hold millions of them.
    assert "More than" in text_of(upload(client, gzip.compress(b"\n" * 9_000)))


def test_requests_that_take_too_long_to_send_again_are_to_be_cut(client: Client, text_of: TextOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "MAX_EVENTS", 3)
    assert "cut the file to the hours that matter" in text_of(upload(client, CSV.encode()))


def test_where_nobody_sends_anything_there_is_nothing_to_judge(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/simulate/", PLAN | {"duration": "0.001"}))
    assert "Nothing to judge: not one turn is sent. Nobody sends anything in so short a time" in page
    assert "Within your limits" not in page


def test_a_figure_that_is_the_same_at_both_ends_is_a_range_of_one(client: Client, text_of: TextOf) -> None:
    page = text_of(client.get("/simulate/", QUICK))
    assert "Range: 0." in page
    assert re.search(r"Range: [\d.]+ m?s to [\d.]+ m?s\.", page)


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        (
            {"prompt_tokens": "8000", "output_tokens": "8000"},
            "The 8,000 prompt and 8,000 answer tokens of a turn do not fit in a context of 8,192",
        ),
        ({"long_share": "5%", "long_tokens": "1000000"}, "The 1,000,000 prompt and 300 answer tokens of a long prompt do not fit"),
        ({"shared_tokens": "7000"}, "The 1,500 prompt and 300 answer tokens of a turn beside the 7,000 that all share do not fit"),
        ({}, ""),
    ],
)
def test_turns_longer_than_the_context_are_cut_and_it_says_so(client: Client, text_of: TextOf, turns: dict[str, str], said: str) -> None:
    page = text_of(client.get("/simulate/", QUICK | {"context": "8192"} | turns))
    assert said in page
    assert ("do not fit in a context" in page) == bool(said)
