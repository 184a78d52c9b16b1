"""The page of a diagnosis: logs as they come, that it shows what the command prints, and hostile uploads."""

import gzip
import html
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import ManagementUtility
from django.http import HttpResponse
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.core import units
from planner.operations.rates import Limit
from planner.web.diagnosing import uploaded
from planner.web.terms import TERMS
from tests.log_writer import Style, Written, write
from tests.schedules import random_schedule

TextOf = Callable[[HttpResponse], str]
HOSTILE = "<script>alert(1)</script>"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "truth" / "logs" / "own"


@pytest.fixture(scope="module")
def written() -> Written:
    """A log with long prompts beside streams."""
    return write(random_schedule(27))


@pytest.fixture
def log(written: Written) -> bytes:
    return written.text.encode()


def calls_of(written: Written, purpose: str) -> bytes:
    rows = [f"{truth.arrival_s},{purpose},{truth.prompt_tokens}" for truth in written.truths]
    return "\n".join(["time,purpose,prompt_tokens", *rows]).encode()


def send(client: Client, *logs: bytes, name: str = "server.log", **fields: Any) -> HttpResponse:
    """The logs as files, and whatever else: bytes are a file too."""
    sent: dict[str, Any] = {key: SimpleUploadedFile(key, value) if isinstance(value, bytes) else value for key, value in fields.items()}
    return client.post("/diagnose/", sent | {"logs": [SimpleUploadedFile(name, each) for each in logs]})


def figures(response: HttpResponse) -> dict[str, str]:
    found = re.findall(r'data-figure="([^"]+)">([^<]+)<', response.content.decode())
    return {name: html.unescape(shown) for name, shown in found}


def note(response: HttpResponse, field: str) -> str:
    found = re.search(rf'<p id="in-{field}-note" class="note error">(.*?)</p>', response.content.decode(), re.DOTALL)
    return html.unescape(found[1]) if found else ""


def test_the_form_says_what_to_send_how_to_get_it_and_what_becomes_of_it(client: Client, text_of: TextOf) -> None:
    response = client.get("/diagnose/")
    page = text_of(response)
    assert response.status_code == 200
    for said in (
        "journalctl --unit llama-server",
        "docker logs",
        "/metrics",
        "vmstat -t 1",
        "Nothing of a log is kept",
        "64 MiB",
        "manage.py diagnose FILE",
    ):
        assert said in page


def test_the_answer_comes_first_with_its_number(client: Client, log: bytes, text_of: TextOf) -> None:
    response = send(client, log)
    (verdict,) = re.findall(r'<h2 id="verdict"[^>]*>(.*?)</h2>', response.content.decode())
    assert re.fullmatch(r"Long prompts freeze the other answers: [\d.]+ (min|s).*, \d+ % of what all turns took together\.", verdict)
    page = text_of(response)
    parts = (
        "Meanwhile the server was busy", "What made it slow", "LLAMA_ARG_BATCH=", "Expected", "What was not the reason",
        "Where the seconds went", "What a change would save", "What people felt", "Slots over time", "In flight over time",
        "Speeds of this machine", "What was read", "The same on the command line",
    )  # fmt: skip
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_the_figures_are_those_the_command_prints_as_json(
    client: Client, log: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(log)
    ManagementUtility(["manage.py", "diagnose", str(path), "--json", "--long-prefill", "2,000"]).execute()
    printed = json.loads(capsys.readouterr().out)
    response = send(client, log, long_prefill="2,000")
    shown = figures(response)
    assert shown["tasks"] == f"{printed['tasks']['count']:,}"
    assert shown["busy"] == units.percent(printed["busy_share"])
    assert shown["together"] == units.percent(printed["two_or_more_share"])
    assert shown["felt-ttft"] == units.seconds(printed["ttft"]["p95"])
    assert shown["felt-gap"] == units.gap(printed["itl"]["max"])
    assert (shown["lines"], shown["unparsed"]) == (f"{printed['lines']:,}", "0")
    for kind, name in (("cache", "own_generation"), ("weights", "own_prefill"), ("overhead", "contention"), ("reserved", "waiting")):
        assert shown[f"share-{kind}"] == units.percent(printed["breakdown_shares"][name])
    page = html.unescape(response.content.decode())
    for finding in printed["findings"]:
        assert {finding["title"], finding["evidence"], finding["cause"], finding["fix"]} <= set(re.findall(r">\s*([^<>]+?)\s*<", page))
        assert all(example["text"] in page for example in finding["examples"])


def without_what_was_read(response: HttpResponse) -> list[tuple[str, str]]:
    return [(name, shown) for name, shown in figures(response).items() if name not in {"lines", "other", "bytes"}]


@pytest.mark.parametrize(
    "style", [Style(envelope=envelope) for envelope in ("journald", "docker", "jsonl", "colors")] + [Style(build="b9873")], ids=str
)
def test_however_a_log_is_wrapped_the_answer_is_the_same(client: Client, log: bytes, style: Style) -> None:
    wrapped = write(random_schedule(27), style).text.encode()
    plain, found = dict(without_what_was_read(send(client, log))), dict(without_what_was_read(send(client, wrapped)))
    assert found["unparsed"] == "0"
    for name in ("tasks", "busy", "felt-ttft", "share-weights"):
        assert found[name] == plain[name]


def test_pasted_packed_and_in_parts_of_any_order_it_is_the_same_log(client: Client, log: bytes) -> None:
    whole = without_what_was_read(send(client, log))
    lines = log.split(b"\n")
    half = len(lines) // 2
    first, second = b"\n".join(lines[:half]), b"\n".join(lines[half:])
    assert without_what_was_read(client.post("/diagnose/", {"text": log.decode()})) == whole
    assert without_what_was_read(send(client, gzip.compress(log))) == whole
    assert without_what_was_read(send(client, second, gzip.compress(first))) == whole


def test_what_was_taken_beside_it_is_read(client: Client, log: bytes, written: Written, text_of: TextOf) -> None:
    vmstat = (
        b" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        + b" 1  0  0 1 1 1  0  0  0  0  1  2 1  1 98  0  0\n" * 3
    )
    page = text_of(send(client, log, calls=calls_of(written, "regular turn"), vmstat=vmstat, metrics=b"vllm:num_preemptions_total 0\n"))
    assert "By what the application wanted" in page
    assert "regular turn 50 50" in page
    assert "counted from sending" in page
    assert "Swapping" in page


def test_two_logs_are_compared_with_counts_and_warnings(client: Client, log: bytes, text_of: TextOf) -> None:
    other = write(random_schedule(3)).text.encode()
    page = text_of(send(client, log, before=other))
    assert "Before and after" in page
    assert "Before you believe it" in page
    assert re.search(r"Short turns, nothing else running \d+ → \d+", page)
    assert "--before before" in page
    assert "Before and after" not in text_of(send(client, log))


def test_the_speeds_open_the_planner(client: Client, log: bytes) -> None:
    response = send(client, log)
    (link,) = re.findall(r'href="(/\?[^"]+)">Use these speeds in my plan', response.content.decode())
    page = client.get(html.unescape(link)).content.decode()
    for name in ("prefill_rate", "decode_rate", "users", "prompt_tokens"):
        assert re.search(rf'id="in-{name}"[^>]*value="[\d.]+"', page), name


def test_a_plan_that_came_along_gets_the_speeds(client: Client, log: bytes) -> None:
    plan = urlencode({"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "context": "8192", "users": "20", "usage": "chat"})
    form = client.get("/diagnose/", HTTP_REFERER=f"http://testserver/?{plan}").content.decode()
    (carried,) = re.findall(r'name="plan" value="([^"]+)"', form)
    response = send(client, log, plan=html.unescape(carried))
    (link,) = re.findall(r'href="(/\?[^"]+)">Use these speeds in my plan', response.content.decode())
    assert client.get(html.unescape(link)).status_code == 200
    assert "model=Qwen/Qwen3-8B&device=rtx-4090" in html.unescape(link)
    assert "engine=llama-server" in link


# What is sent, the field whose sentence says why it is refused, and words of it.
REFUSED: Sequence[tuple[dict[str, Any], str, str]] = [
    ({}, "logs", "Choose the server’s log"),
    ({"text": " \n "}, "logs", "Choose the server’s log"),
    ({"logs": b""}, "logs", "The log is empty"),
    ({"logs": b"\n"}, "logs", "None of the 1 lines"),
    ({"logs": b"\x00\xff\x80" * 50_000}, "logs", "None of the"),
    ({"logs": b"x" * 5_000_000}, "logs", "None of the"),
    ({"logs": b"GET / 200\n" * 100}, "logs", "give the server's own log"),
    ({"logs": b"\x1f\x8bbroken"}, "logs", "cannot be read"),
    ({"logs": gzip.compress(b"log" * 9_000)[:-9]}, "logs", "cannot be read"),
    ({"logs": gzip.compress(bytes(50_000_000))}, "logs", "holds more than 12 MiB"),
    ({"before": b"nothing of a server\n"}, "before", "None of the 1 lines"),
    ({"calls": b"a,b\n1,2\n"}, "calls", "has no time"),
    ({"calls": gzip.compress(b"\n" * 50_000_000)}, "calls", "More than"),
    ({"metrics": b"hello\n"}, "metrics", "No metric"),
    ({"vmstat": b"hello\n"}, "vmstat", "vmstat prints"),
    ({"long_prefill": "many"}, "long_prefill", "is not understood"),
    ({"prefill_rate": "fast"}, "prefill_rate", "is not a number"),
    ({"decode_rate": "0"}, "decode_rate", "above 0"),
    ({"decode_rate": "1e400"}, "decode_rate", "number"),
]


@pytest.fixture
def small(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that takes little, so that a test need not send much."""
    settings.DIAGNOSE_MAX_BYTES = 6 * 2**20
    monkeypatch.setattr(uploaded, "UNPACKED", 2)
    monkeypatch.setattr(uploaded, "MAX_BESIDE", 2**20)


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused[2])
def test_a_refusal_stands_at_its_field_and_nothing_typed_is_lost(
    client: Client, log: bytes, small: None, refused: tuple[dict[str, Any], str, str]
) -> None:
    sent, field, sentence = refused
    typed = {"long_prefill": "4000", "prefill_rate": "812.5", "decode_rate": "33"} | ({} if field == "logs" else {"text": log.decode()})
    given = {name: SimpleUploadedFile(name, value) if isinstance(value, bytes) else value for name, value in (typed | sent).items()}
    response = client.post("/diagnose/", given)
    assert response.status_code == 400
    assert sentence in note(response, field)
    page = html.unescape(response.content.decode())
    assert f'href="#in-{field}"' in page
    for name in typed:
        assert str(given[name]).strip() in page, name


def test_what_is_too_large_is_sent_to_the_command_line(client: Client, log: bytes, settings: Any, text_of: TextOf) -> None:
    settings.DIAGNOSE_MAX_BYTES = len(log) - 1
    response = send(client, log)
    assert response.status_code == 400
    assert "manage.py diagnose on the machine where they are" in note(response, "logs")
    refused = client.post("/diagnose/", b"", content_type="multipart/form-data; boundary=x", CONTENT_LENGTH=str(2**40))
    assert refused.status_code == 413
    assert "manage.py diagnose FILE" in text_of(refused)


@pytest.mark.django_db
def test_who_sends_one_log_after_the_other_is_asked_to_wait(client: Client, log: bytes, settings: Any) -> None:
    settings.DIAGNOSE_RATE_LIMIT = Limit("diagnoses", 2, 86_400)
    assert [send(client, log[:2_000]).status_code for _ in range(3)] == [200, 200, 429]
    assert client.get("/diagnose/").status_code == 200


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(noise=st.tuples(st.binary(max_size=300), st.binary(max_size=300)), place=st.integers(0, 20_000), cut=st.integers(0, 3_000))
def test_whatever_is_in_a_log_the_page_answers_or_refuses(
    client: Client, log: bytes, noise: tuple[bytes, bytes], place: int, cut: int
) -> None:
    response = send(client, noise[0] + log[:place] + noise[1] + log[place + cut :])
    assert response.status_code in {200, 400}
    assert (response.status_code == 400) == bool(note(response, "logs"))


def test_more_files_than_a_log_has_parts_are_refused(client: Client, log: bytes) -> None:
    assert "more than the 40" in note(send(client, *[log] * 41), "logs")


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>.log", '"><script>alert(1)</script>', "../../etc/passwd", "x" * 5_000, "\u202egol.exe"]
)
def test_a_hostile_file_name_is_text_on_the_page(client: Client, log: bytes, name: str) -> None:
    for content in (log, b"\x1f\x8bbroken"):
        page = send(client, content, name=name).content.decode()
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert len(page) < 400_000


def test_words_in_a_log_are_text_on_the_page(client: Client, log: bytes, written: Written) -> None:
    hostile = log.replace(b"model.gguf", b"<script>alert(1)</script>.gguf")
    hostile += f"9.00.000.000 I srv  something_new: {HOSTILE} </script> {{{{ 7*7 }}}} {{% load x %}}\n".encode()
    page = send(client, hostile, calls=calls_of(written, HOSTILE), before=hostile.replace(b"n_slots = 7", b"n_slots = 8")).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page, "the purpose is shown as it was sent"


@pytest.mark.parametrize("report", [{}, {"report": "html"}])
def test_halves_of_characters_and_turned_writing_break_nothing(
    client: Client, log: bytes, written: Written, report: dict[str, str]
) -> None:
    purposes = ("\ud800", "\u202eabc", "\x00", "", "é" * 400)
    rows = [
        json.dumps({"time": truth.arrival_s, "purpose": purposes[number % 5], "prompt_tokens": truth.prompt_tokens})
        for number, truth in enumerate(written.truths)
    ]
    response = send(client, log, calls="\n".join(rows).encode(), **report)
    assert response.status_code == 200
    assert "\u202e" not in response.content.decode()


def test_a_log_that_goes_back_in_time_and_one_of_two_engines_are_answered_and_counted(client: Client, log: bytes, text_of: TextOf) -> None:
    lines = log.split(b"\n")
    shuffled = b"\n".join([*lines[:40], *lines[len(lines) // 2 :], *lines[40 : len(lines) // 2]])
    response = send(client, shuffled)
    assert response.status_code == 200
    assert int(figures(response)["backwards"]) > 0
    other = b"(APIServer pid=1) INFO 11-29 07:15:00 [loggers.py:259] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs\n"
    mixed = b"\n".join([*lines[:2], *[other.strip()] * 8, *lines[2:]])
    assert "Lines of vLLM stand among them. Only those of llama-server were read" in text_of(send(client, mixed))
    assert "stand among them" not in text_of(send(client, log))


def test_lines_that_were_not_understood_are_counted_and_shown_without_anybody_s_words(client: Client, log: bytes, text_of: TextOf) -> None:
    odd = b'9.00.000.000 I slot odd_thing: id  3 | task 9 | went to /home/lovelace/secret.txt with sk-abcdefghijklmnopqrstuvwxyz123456 for "my prompt"\n'
    page = text_of(send(client, log + odd * 3))
    assert "Some that were not understood" in page
    for words in ("lovelace", "secret.txt", "sk-abc", "my prompt"):
        assert words not in page


def test_a_request_without_its_token_is_refused(log: bytes) -> None:
    assert send(Client(enforce_csrf_checks=True), log).status_code == 403


def test_large_files_go_to_the_disk_and_leave_it(
    client: Client, log: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 1_000
    seen: list[list[str]] = []
    whole = uploaded.material

    def watched(*args: Any) -> Any:
        seen.append([path.name for path in tmp_path.iterdir()])
        return whole(*args)

    monkeypatch.setattr(uploaded, "material", watched)
    assert send(client, log).status_code == 200
    assert len(seen[0]) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_page_keeps_nothing_of_a_log(client: Client, log: bytes) -> None:
    before = set(Path(tempfile.gettempdir()).glob("*.upload*"))
    response = send(client, log)
    assert "sessionid" not in response.cookies
    assert set(Path(tempfile.gettempdir()).glob("*.upload*")) <= before


@pytest.mark.parametrize("page", ["form", "answer"])
def test_every_id_is_there_once_and_every_reference_has_its_target(client: Client, log: bytes, page: str) -> None:
    other = write(random_schedule(3)).text.encode()
    page = (client.get("/diagnose/") if page == "form" else send(client, log, before=other)).content.decode()
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert sorted(ids) == sorted(set(ids))
    for attribute in ("for", "aria-labelledby", "aria-describedby", "popovertarget", "data-copy", "data-chart", "data-zoom"):
        assert set(re.findall(rf'\s{attribute}="([^"]+)"', page)) <= set(ids), attribute
    assert set(re.findall(r'href="/glossary/#([^"]+)"', page)) <= {term.slug for term in TERMS}
    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", page)
    assert not re.search(r"<script(?![^>]*(?:\ssrc=|application/json))", page)


def test_a_log_without_a_fault_says_so(client: Client, text_of: TextOf) -> None:
    quiet = "\n".join(write(random_schedule(27)).text.split("\n")[:6]) + "\n"
    page = text_of(send(client, quiet.encode()))
    assert "No request was found in this log" in page
    assert "nan" not in page.lower().split()


@pytest.mark.skipif(not SHARED.exists(), reason="the real servers' logs are not beside the repository")
@pytest.mark.parametrize(
    "path", sorted(SHARED.glob("llama-server/*.log.gz")) + sorted(SHARED.glob("vllm/*.log.gz")), ids=lambda path: path.name
)
def test_logs_of_real_servers_are_answered(client: Client, path: Path, text_of: TextOf) -> None:
    metrics = path.with_name(path.name.replace(".log.gz", ".metrics.txt"))
    response = send(client, path.read_bytes(), **({"metrics": metrics.read_bytes()} if metrics.exists() else {}))
    page = text_of(response)
    assert response.status_code == 200
    assert not {"nan", "inf"} & set(page.lower().split())
    assert "What was read" in page


def test_the_report_is_one_file_that_asks_nobody_for_anything(client: Client, log: bytes, written: Written) -> None:
    response = send(client, log, report="html", calls=calls_of(written, "regular turn"))
    assert response["Content-Disposition"] == 'attachment; filename="diagnosis.html"'
    page = response.content.decode()
    ours = re.sub(r"<script>.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(?:src|href|action)=["'](?!#|data:)""", ours)
    assert "url(" not in "".join(re.findall(r"<style.*?</style>", page, re.DOTALL)).replace("url(#", "")
    assert "default-src 'none'" in html.unescape(ours)
    assert len(re.findall(r"'sha256-[\w+/=]{44}'", html.unescape(ours))) == page.count("<script>")
    assert "Long prompts freeze the other answers" in ours
    assert "regular turn" in ours
    assert "Plotly" in page


def test_the_report_has_no_words_that_came_with_the_log(client: Client, log: bytes, written: Written) -> None:
    named = log.replace(b"model.gguf", b"/home/ada/10.1.2.3/sk-abcdefghijklmnopqrstuvwxyz.gguf")
    other = named.replace(b"ada", b"bob")
    purpose = "/home/ada/prompts for http://10.1.2.3/ sk-abcdefghijklmnopqrstuvwxyz"
    page = send(client, named, report="html", calls=calls_of(written, purpose), before=other, name="ada-secret.log").content.decode()
    ours = re.sub(r"<script>.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    for words in ("/home", "10.1.2.3", "sk-abc", "secret", "gguf"):
        assert words not in ours
