"""The files beside the unit: when each is offered, word for word once per engine, and all of them saying the same."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from planner.core.engines import engines
from planner.core.engines.contract import HandOver
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.units import GIB
from tests import by_hand
from tests.by_hand import CPU, RTX_4090, PrintsOneLine
from tests.core.test_golden import BESIDE
from tests.core.test_hand_over import ENGINES, handed
from tests.core.test_script import started

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "beside"
TWO = Node((RTX_4090, RTX_4090), 64 * GIB)
PAIR: dict[str, Any] = {"node": TWO, "slots": 8, "host": "0.0.0.0", "port": 9000, "prompt_tokens": 900, "output_tokens": 300}  # noqa: S104 - what a user types
PLANS: dict[str, dict[str, Any]] = {
    "vllm": {**PAIR, "tensor_parallel": 2, "cache_type": "fp8"},
    "llama-server": {**PAIR, "cache_type": "q8_0", "model": "Qwen/Qwen3-8B-GGUF", "weight_format": "Q8_0"},
    "ollama": {**PAIR, "cache_type": "q8_0", "model": "Qwen/Qwen3-8B-GGUF"},
}


def beside(done: HandOver) -> dict[str, str]:
    return {Path(file.path).name: file.content for file in done.files if any(name in file.path for name in BESIDE)}


@pytest.mark.parametrize("name", sorted(engines()))
def test_the_files_beside_the_unit_are_word_for_word_as_agreed(name: str) -> None:
    plan, job = by_hand.plan(name, **PLANS[name])
    done = ENGINES[name].hand_over(plan, job, PrintsOneLine(), origin="https://plans.example.org/?users=20")  # type: ignore[arg-type]
    text = "\n".join(
        f"==== {file.path} ({file.mode:04o}): {file.why}\n{file.content}" for file in done.files if Path(file.path).name in beside(done)
    )
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize(
    ("name", "changes", "offered"),
    [
        ("vllm", {"slots": 8, "needed": 6}, False),
        ("vllm", {"slots": 4, "needed": 6}, True),
        ("vllm", {"slots": 8, "needed": 6, "version": "0.28.0"}, True),  # no queue limit before 0.32
        ("llama-server", {"slots": 8, "needed": 6}, True),  # its queue never ends
        ("ollama", {"slots": 8, "needed": 6}, False),
        ("ollama", {"slots": 1, "needed": 6}, True),
    ],
)
def test_a_front_is_offered_for_several_machines_or_an_endless_queue(name: str, changes: dict[str, Any], offered: bool) -> None:  # noqa: FBT001
    found = [file for file in handed(name, **changes).files if "/nginx/" in file.path]
    assert bool(found) is offered
    assert all(file.why.startswith("Optional") for file in found)


def test_the_front_s_limit_is_running_and_waiting_together() -> None:
    text = beside(handed("llama-server", slots=4, needed=10))["llama-server.conf"]
    assert "limit_conn llama-server_open 14;" in text
    assert text.count("# server machine-") == 2


def vllm_words(config: str) -> list[str]:
    """The command line that vLLM makes of a config file. vLLM 0.32 utils/argparse_utils.py, load_config_file: `false` is dropped."""
    content = yaml.safe_load(config)
    words = ["vllm", "serve", content.pop("model")]
    for key, value in content.items():
        if value is True:
            words.append(f"--{key}")
        elif value is not False:
            words += [f"--{key}", str(value)]
    return words


@pytest.mark.parametrize(
    "changes",
    [{}, {"node": TWO, "tensor_parallel": 2, "cache_type": "fp8", "port": 9000}, {"model_path": "/srv/50% of $x", "revision": "1e3"}],
)
def test_the_config_file_means_the_same_as_the_command(changes: dict[str, Any], tmp_path: Path) -> None:
    done = handed("vllm", **changes)
    files = beside(done)
    plan_words = [word for setting in done.settings if setting.flag for word in (setting.flag, setting.value) if word is not None]
    assert vllm_words(files["config.yaml"])[3:] == plan_words
    assert started(files["run.sh"].replace("set -- vllm", "set -- stub-engine"), tmp_path)[2:-1] == plan_words


@pytest.mark.parametrize("option", ["--no-enable-prefix-caching", "--no-async-scheduling"])
def test_what_is_switched_off_stands_in_the_config_file_by_its_negative_name(option: str) -> None:
    plan, job = by_hand.plan("vllm")
    done = ENGINES["vllm"].hand_over(plan, by_hand.replace(job, engine_args=(option,)), PrintsOneLine())  # type: ignore[arg-type]
    content = yaml.safe_load(beside(done)["config.yaml"])
    assert content[option.removeprefix("--")] is True
    assert False not in content.values()


@pytest.mark.parametrize("name", sorted(engines()))
def test_the_compose_file_and_the_start_script_say_the_same(name: str, tmp_path: Path) -> None:
    files = beside(handed(name, model_path="/srv/my models/50%$x.gguf"))
    service = yaml.safe_load(files["compose.yaml"])["services"][name]
    program = service["entrypoint"][0].rsplit("/", 1)[-1]
    words = started(files["run.sh"].replace(f"set -- {program}", "set -- stub-engine"), tmp_path)[:-1]
    inside = [word.replace("$$", "$") for word in [*service["entrypoint"][1:], *service.get("command", [])]]
    assert [word for word in inside if word not in {"--host", "0.0.0.0"}] == [  # noqa: S104 - compared
        word for word in words if word not in {"--host", "127.0.0.1"}
    ]


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(ENGINES)), path=st.text(min_size=1, max_size=40))
def test_any_accepted_path_leaves_every_file_with_the_same_meaning(name: str, path: str) -> None:
    try:
        files = beside(handed(name, model_path=f"/{path}"))
    except InputError:
        return
    service = yaml.safe_load(files["compose.yaml"])["services"][name]
    assert set(service) == set(yaml.safe_load(beside(handed(name, model_path="/m"))["compose.yaml"])["services"][name])
    assert service["volumes"][0]["source"].replace("$$", "$") == f"/{path}"
    assert subprocess.run(["sh", "-n"], input=files["run.sh"].encode(), check=False).returncode == 0


@pytest.mark.parametrize("name", sorted(engines()))
@pytest.mark.parametrize("field", ["model_path", "host", "model"])
@pytest.mark.parametrize("text", ["a/b\nx", "a/b$(id)", "a/b %n", "a/b\u2028x", "x" * 100_000, "a;b {", "'a'"])
def test_hostile_text_is_refused_by_field_or_harmless(name: str, field: str, text: str) -> None:
    try:
        done = handed(name, **{field: text})
    except InputError as refused:
        named = refused.field
    except ValidationError:  # the request itself takes no text this long
        named = field
    else:
        named = field
        assert beside(done)
    assert named == field


def test_nothing_is_offered_for_devices_without_an_image() -> None:
    apple = by_hand.replace(RTX_4090, vendor="Apple", device_class="unified")
    assert "compose.yaml" not in beside(handed("llama-server", node=Node((apple,))))
    assert "compose.yaml" in beside(handed("llama-server", node=Node((CPU,), 8 * GIB)))
