"""The review of a pasted configuration: each mistake is recognised with a replacement that works, and clean ones raise nothing."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.engines import engines
from planner.core.engines.contract import HandOver
from planner.core.errors import InputError
from planner.core.plan import Plan
from planner.core.planning import make_plan
from planner.core.request import read_request
from planner.core.review import Review, engine_in, review
from planner.sources import find_model
from tests.situations import CASES as SITUATIONS
from tests.situations import VERSIONS
from tests.situations import answer as situation_of

_RECORD = tomllib.loads((Path(__file__).resolve().parents[1] / "truth" / "pasted.toml").read_text())
PLANS, CASES = _RECORD["plans"], _RECORD["case"]
NAMES = [case["name"] for case in CASES]


@cache
def planned(name: str) -> tuple[Plan, HandOver]:
    request = read_request({"users": 20, "generate_seconds": 12, "turn_seconds": 90, **PLANS[name]})
    return make_plan(request, find_model(request, None))


def reviewed(case: dict[str, Any]) -> Review:
    return review(case["text"], *planned(case["plan"]))


def codes(done: Review) -> list[str]:
    return sorted(item.code for item in done.of("wrong"))


def test_there_are_cases_enough() -> None:
    wrong = [case for case in CASES if case["codes"]]
    assert len(wrong) >= 40
    assert all(case["source"] for case in wrong)
    assert {PLANS[case["plan"]]["engine"] for case in CASES if not case["codes"]} == set(engines())


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_mistake_is_recognised_and_nothing_else(case: dict[str, Any]) -> None:
    assert codes(reviewed(case)) == sorted(case["codes"])


@pytest.mark.parametrize("case", [case for case in CASES if case["codes"]], ids=[case["name"] for case in CASES if case["codes"]])
def test_a_complaint_has_evidence_a_reason_and_a_replacement(case: dict[str, Any]) -> None:
    for item in reviewed(case).of("wrong"):
        assert len(item.evidence) > 5, item
        assert item.reason.endswith((".", ")")), item
        assert len(item.reason) > 20, item
        assert item.replacement, item


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_replacement_works(case: dict[str, Any]) -> None:
    """Reviewed again, nothing is wrong with it, and the plan changes nothing."""
    again = review(reviewed(case).replacement, *planned(case["plan"]))
    # With fewer GPUs than before, which of them are free is the reader's to say.
    assert set(codes(again)) <= {"first_gpus"} - set(case["codes"])
    assert again.of("changed") == ()


@pytest.mark.parametrize("name", PLANS)
def test_what_a_plan_hands_over_is_kept_whole(name: str) -> None:
    plan, done = planned(name)
    for text in (
        done.command,
        *(file.content for file in done.files if file.path.endswith((".conf", ".service", "compose.yaml", "config.yaml"))),
    ):
        if "nginx" in text or "ExecStart=/usr/local/bin/ollama" in text:
            continue
        result = review(text, plan, done)
        assert set(codes(result)) <= {"first_gpus"}, result.of("wrong")  # which GPUs are free is not the plan's to know
        assert result.of("changed") == ()


@pytest.mark.parametrize(("engine", "situation", "version"), [case for case in SITUATIONS if case[2] == VERSIONS[case[0]][-1]])
def test_nothing_is_wrong_with_a_hand_over_of_any_situation(engine: str, situation: str, version: str) -> None:
    plan, done = situation_of(engine, situation, version)
    files = [
        file.content for file in done.files if file.path.endswith((".conf", "compose.yaml", "config.yaml")) and "nginx" not in file.path
    ]
    for text in (done.command, *files):
        result = review(text, plan, done)
        assert result.of("wrong") == result.of("changed") == ()


def test_options_are_kept_changed_and_added() -> None:
    plan, done = planned("llama")
    result = review("llama-server -m /srv/m.gguf -c 32768 -np 4 -b 512 --jinja --temp 0.7", plan, done)
    names = {kind: {item.name for item in result.of(kind)} for kind in ("kept", "changed", "added")}  # type: ignore[arg-type]
    assert {"--ctx-size", "--parallel", "--temp"} <= names["kept"]
    assert "--batch-size" in names["changed"]
    assert "--no-kv-unified" in names["added"] or "--kv-unified" in names["added"]
    assert "--temp 0.7" in result.replacement
    assert "--model /srv/m.gguf" in result.replacement
    changed = next(item for item in result.of("changed") if item.name == "--batch-size")
    assert "512" in changed.theirs
    assert changed.ours.startswith("--batch-size ")
    assert changed.reason


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "python3 -m vllm.entrypoints.openai.api_server --model /srv/x --max-model-len 8192",
            "python3 -m vllm.entrypoints.openai.api_server --",
        ),
        ("CUDA_VISIBLE_DEVICES=1 nohup vllm serve /srv/x --port 9000", "CUDA_VISIBLE_DEVICES=1 nohup vllm serve /srv/x "),
        ("vllm serve x --host 0.0.0.0 --chat-template 'a b'", "--host 0.0.0.0 --chat-template 'a b'"),
    ],
)
def test_where_things_are_stays_as_it_was(text: str, kept: str) -> None:
    assert kept in review(text, *planned("vllm")).replacement


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("sudo -u ollama OLLAMA_HOST=0.0.0.0 ollama serve", "ollama"),
        ("vllm serve x", "vllm"),
        ("sudo docker run -e A=b --name ollama ghcr.io/ggml-org/llama.cpp:server-cuda -m x", "llama-server"),
        ("docker run --name llama-server ollama/ollama", "ollama"),
        ("$ OLLAMA_HOST=0.0.0.0 ollama serve", "ollama"),
        ("setenv OLLAMA_HOST 0.0.0.0\nexport OLLAMA_HOST=1", "ollama"),
        ("-c 8192 -np 4 -ctk q8_0", "llama-server"),
        ("--max-model-len 8192 --max-num-seqs 4", "vllm"),
        ("environment:\n  - OLLAMA_NUM_PARALLEL=2", "ollama"),
        ("max-model-len: 8192\nmax_num_seqs: 4", "vllm"),
        ("[Service]\nExecStart=/usr/bin/docker run --rm --name vllm vllm/vllm-openai:v0.33.0 --model x", "vllm"),
        ("LLAMA_ARG_CTX_SIZE=1", "llama-server"),
    ],
)
def test_the_engine_is_found_in_the_text(text: str, engine: str) -> None:
    assert engine_in(text) == engine


@pytest.mark.parametrize("text", ["", " \n\t", "hello", "services:\n  web:\n    image: nginx", "docker run nginx", "a: [", "x" * 65_537])
def test_text_that_names_no_engine_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(InputError) as refused:
        engine_in(text)
    assert refused.value.field == "text"
    assert len(str(refused.value)) < 300


def test_text_for_another_engine_is_refused() -> None:
    with pytest.raises(InputError, match="The text is for ollama") as refused:
        review("OLLAMA_NUM_PARALLEL=2", *planned("vllm"))
    assert refused.value.field == "engine"


HOSTILE = [
    "$(id)",
    "a\nExecStartPre=/bin/x",
    "%n",
    "'",
    '"',
    "\u2028",
    "\x1b[31m",
    "\ud800",
    "x" * 60_000,
    "=",
    "--",
    "\\",
    "{{",
    "*x",
    "&x",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "frame",
    [
        "vllm serve {}",
        "vllm serve x --max-model-len {}",
        "[Service]\nEnvironment=VLLM_X={}",
        "[Service]\nExecStart=/x/vllm serve {}",
        "export VLLM_{}=1",
        "docker run {} vllm/vllm-openai --max-num-seqs {}",
        "services:\n  vllm:\n    image: vllm/vllm-openai\n    command: {}",
        "max-model-len: {}",
    ],
)
def test_hostile_text_is_answered_or_refused_in_a_sentence(frame: str, text: str) -> None:
    try:
        done = review(frame.replace("{}", text), *planned("vllm"))
    except InputError as refused:
        said = str(refused)
    else:
        said = ""
    assert not said or said.isprintable()
    for item in () if said else done.items:
        assert (item.evidence + item.theirs).isprintable()
    replacement = "" if said else done.replacement
    assert "\x1b" not in replacement
    assert not any(line.lstrip().startswith("ExecStartPre") for line in replacement.split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve " + "-a " * 21_000,
        "vllm serve " + "\n" * 65_000,
        "\n".join(["export VLLM_A=1"] * 4_000),
        "a:\n" + " \n" * 30_000 + "max-model-len: 1",
        "[Service]\n" + "Environment=A=1\n" * 4_000 + "Environment=VLLM_A=1",
        "vllm serve x \\\n" * 4_000,
        "services:\n" + "".join(f"  s{n}: {{image: x}}\n" for n in range(3_000)),
        "x: " + "[" * 5_000,
    ],
    ids=range(8),
)
def test_long_text_is_read_in_bounded_work(text: str) -> None:
    """Each is within the limit of the text; none of them may take more than a moment, which a hanging test would show."""
    try:
        done = review(text, *planned("vllm"))
    except InputError as refused:
        assert refused.field == "text"  # noqa: PT017 - either is an answer
    else:
        assert len(done.items) < 3_000


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=200), name=st.sampled_from(["vllm", "llama", "ollama"]))
def test_any_text_is_answered_or_refused(text: str, name: str) -> None:
    program = {"vllm": "vllm serve ", "llama": "llama-server ", "ollama": "OLLAMA_HOST="}[name]
    try:
        field = review(program + text, *planned(name)) and "text"
    except InputError as refused:
        field = refused.field
    assert field in {"text", "engine"}
