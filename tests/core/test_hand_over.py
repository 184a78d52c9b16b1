"""What is handed over: every setting explained, every option known to the version, every unit accepted by systemd, nothing from outside let through."""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.engines import _systemd
from planner.core.engines.contract import HandOver
from planner.core.engines.llama_server import hand_over as llama_server
from planner.core.engines.ollama import hand_over as ollama
from planner.core.engines.vllm import hand_over as vllm
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.units import GIB
from tests import by_hand
from tests.by_hand import CPU, MI300X, NEWEST, RTX_4090, PrintsOneLine

ENGINES = {"vllm": vllm, "llama-server": llama_server, "ollama": ollama}
OLDER = {"vllm": ["0.11.0", "0.17.0", "0.28.0"], "llama-server": ["b9093", "b9873", "b10603", "b11010"], "ollama": []}
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: apt-get install systemd"
)


def handed(name: str, **changes: Any) -> HandOver:
    plan, job = by_hand.plan(name, **changes)
    return ENGINES[name].hand_over(plan, job, PrintsOneLine())  # type: ignore[arg-type]


def pairs(done: HandOver) -> dict[str, str | None]:
    return {setting.flag or setting.env or "": setting.value for setting in done.settings}


def lines(done: HandOver, ending: str) -> list[tuple[str, str, str]]:
    return [entry for file in done.files if file.path.endswith(ending) for entry in _systemd.parse_unit(file.content)]


@pytest.mark.parametrize("name", ENGINES)
def test_every_setting_has_its_reason_and_its_source(name: str) -> None:
    done = handed(
        name, host="192.0.2.7", port=9000, cache_type={"vllm": "fp8"}.get(name, "q8_0"), node=Node((RTX_4090, RTX_4090)), tensor_parallel=2
    )
    for setting in done.settings:
        assert len(setting.why) > 15, setting
        assert setting.why.endswith("."), setting
        assert not setting.breaks or setting.breaks.endswith("."), setting
        assert setting.source, setting
    assert all(step.command and step.expect and step.why.endswith((".", "?")) for step in (*done.apply, *done.verify, *done.undo))


def test_llama_server_multiplies_what_it_divides() -> None:
    done = pairs(handed("llama-server", slots=4, context=8192))
    assert done["--ctx-size"] == "32768"
    assert done["--parallel"] == "4"
    assert done["--no-kv-unified"] is None


def test_ollama_multiplies_by_itself() -> None:
    done = pairs(handed("ollama", slots=4, context=8192))
    assert done["OLLAMA_NUM_PARALLEL"] == "4"
    assert done["OLLAMA_CONTEXT_LENGTH"] == "8192"
    assert done["OLLAMA_MAX_QUEUE"] == "10"


def test_vllm_counts_running_requests_in_its_queue_limit() -> None:
    assert pairs(handed("vllm", slots=4))["--max-num-queued-reqs"] == "14"
    assert "--max-num-queued-reqs" not in pairs(handed("vllm", slots=4, version="0.28.0"))


def test_a_known_pool_leaves_vllm_s_share_of_memory_alone() -> None:
    # The whole card as the share would be refused: some of it is never free (v1/worker/utils.py, request_memory).
    plan, job = by_hand.plan("vllm")
    given_pool = replace(job, engine_args=("--kv-cache-memory-bytes", "4G"))
    done = pairs(vllm.hand_over(plan, given_pool, PrintsOneLine()))  # type: ignore[arg-type]
    assert done["--kv-cache-memory-bytes"] == "4G"
    assert "--gpu-memory-utilization" not in done


def test_vllm_gets_at_least_one_token_a_slot() -> None:
    assert pairs(handed("vllm", slots=300, batch_tokens=256))["--max-num-batched-tokens"] == "300"


@pytest.mark.parametrize(("name", "version"), [(name, version) for name in ENGINES for version in [*OLDER[name], NEWEST[name]]])
def test_no_option_is_written_that_the_version_does_not_know(name: str, version: str) -> None:
    done = handed(
        name, version=version, cache_type={"vllm": "fp8"}.get(name, "q8_0"), node=Node((CPU,), 8 * GIB) if name != "vllm" else None
    )
    flags = __import__(f"planner.core.engines.{name.replace('-', '_')}.settings", fromlist=["FLAGS"]).FLAGS.at(version)
    for word in [setting.flag or setting.env for setting in done.settings]:
        assert flags.find(word), word
    for word in re.findall(r"(?<=\s)--[a-z-]+", done.command):
        assert flags.find(word), word


@pytest.mark.parametrize(("version", "expected"), [("b9873", "--mlock"), ("b11434", "--load-mode")])
def test_weights_are_locked_in_ram_on_a_cpu_box_under_the_version_s_own_name(version: str, expected: str) -> None:
    assert expected in pairs(handed("llama-server", version=version, node=Node((CPU,), 8 * GIB)))


def test_a_small_host_gets_a_prompt_cache_that_it_has_room_for() -> None:
    done = pairs(handed("llama-server", node=Node((CPU,), 8 * GIB), slots=1, context=4096, weight_bytes=2 * GIB))
    assert 0 <= int(done["--cache-ram"] or "") <= 2048
    assert "--cache-ram" not in pairs(handed("llama-server", node=Node((RTX_4090,), 128 * GIB)))
    assert "--cache-ram" not in pairs(handed("llama-server"))


@pytest.mark.parametrize("name", ["llama-server", "ollama"])
def test_a_quantised_cache_brings_flash_attention_with_it(name: str) -> None:
    flash = {"llama-server": "--flash-attn", "ollama": "OLLAMA_FLASH_ATTENTION"}[name]
    assert flash in pairs(handed(name, cache_type="q8_0"))
    assert flash not in pairs(handed(name))


def test_llama_server_s_variables_are_in_the_drop_in_and_the_rest_on_the_command_line() -> None:
    done = handed("llama-server", engine_args="", host="192.0.2.7")
    environment = {value.split("=")[0] for _, key, value in lines(done, ".conf") if key == "Environment"}
    command = next(value for _, key, value in lines(done, ".service") if key == "ExecStart")
    for setting in done.settings:
        assert (setting.env in environment) is (setting.env is not None)
        assert (f"{setting.flag} " in f"{command} ") is (setting.env is None)


def test_the_vllm_drop_in_takes_the_old_command_away_first() -> None:
    commands = [value for _, key, value in lines(handed("vllm"), ".conf") if key == "ExecStart"]
    assert commands[0] == ""
    assert len(commands) == 2
    assert commands[1] == next(value for _, key, value in lines(handed("vllm"), ".service") if key == "ExecStart")


@pytest.mark.parametrize("name", ENGINES)
def test_the_unit_and_the_command_say_the_same(name: str) -> None:
    done = handed(name, model_path="/srv/my models/50%$x.gguf")
    words = shlex.split(done.command)
    values = [
        word
        for _, key, value in lines(done, ".conf")
        if key in {"ExecStart", "Environment"} and value
        for word in _systemd.parse_words(value, command_line=key == "ExecStart")
    ]
    if name == "vllm":
        assert words[1:] == values[values.index("serve") :]
    if name == "ollama":
        assert words[:-2] == values
    if name == "llama-server":
        assert "LLAMA_ARG_MODEL=/srv/my models/50%$x.gguf" in values
        assert words[words.index("--model") + 1] == "/srv/my models/50%$x.gguf"


@pytest.mark.parametrize("name", ENGINES)
def test_keys_are_never_on_a_command_line_or_in_a_unit(name: str) -> None:
    done = handed(name)
    for file in done.files:
        if file.path.endswith((".service", ".conf")):
            assert not re.search(r"^[^#]*(API_KEY|HF_TOKEN)", file.content, re.MULTILINE)
        if file.path.endswith("secrets.env"):
            assert file.mode == 0o600
    assert "api-key" not in done.command


@pytest.mark.parametrize("name", ENGINES)
def test_every_file_begins_with_engine_version_and_plan(name: str) -> None:
    plan, job = by_hand.plan(name)
    done = ENGINES[name].hand_over(plan, job, PrintsOneLine(), origin="https://plans.example.org/?users=20")  # type: ignore[arg-type]
    for file in done.files:
        first = file.content.removeprefix("#!/bin/sh\n").split("\n\n")[0]
        assert first.startswith(f"# {plan.engine.title} {plan.engine.version}")
        assert "https://plans.example.org/?users=20" in first
        assert "20 users" in first


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/home/ann/m.gguf", "ProtectHome=read-only"),
        ("/srv/m.gguf", "ProtectHome=yes"),
        ("/tmp/m.gguf", "PrivateTmp=no"),  # noqa: S108 - what a user types
        ("/srv/m.gguf", "PrivateTmp=yes"),
    ],
)
@pytest.mark.parametrize("name", ENGINES)
def test_hardening_leaves_the_model_readable(name: str, path: str, line: str) -> None:
    assert line in next(file.content for file in handed(name, model_path=path).files if file.path.endswith(".service")).split("\n")


@pytest.mark.parametrize("name", ENGINES)
def test_no_unit_closes_the_gpu_s_device_files(name: str) -> None:
    keys = {key for _, key, _ in lines(handed(name, node=Node((MI300X,))), ".service")}
    assert not keys & {"PrivateDevices", "DevicePolicy", "DeviceAllow", "ProtectClock", "MemoryDenyWriteExecute"}
    assert "SupplementaryGroups" in keys


@pytest.mark.parametrize("name", ["vllm", "llama-server"])
@pytest.mark.parametrize(("weight_bytes", "least"), [(16 * 10**9, 160), (671 * 10**9, 6710)])
def test_a_start_may_take_as_long_as_a_slow_disk_needs(name: str, weight_bytes: int, least: int) -> None:
    entries = dict((key, value) for _, key, value in lines(handed(name, weight_bytes=weight_bytes), ".service"))  # noqa: C402
    seconds = int(entries["TimeoutStartSec"])
    assert least < seconds < least + 400
    assert int(entries["StartLimitIntervalSec"]) > int(entries["StartLimitBurst"]) * seconds


def test_a_start_that_downloads_may_take_as_long_as_a_slow_line_needs() -> None:
    done = handed("llama-server", model="Qwen/Qwen3-8B-GGUF", weight_bytes=5 * 10**9, weight_format="Q4_K_M")
    assert pairs(done)["--hf-repo"] == "Qwen/Qwen3-8B-GGUF:Q4_K_M"
    assert "--model" not in pairs(done)
    assert next(int(value) for _, key, value in lines(done, ".service") if key == "TimeoutStartSec") > 500


def test_vllm_s_api_server_waits_for_a_large_model() -> None:
    done = handed("vllm", weight_bytes=671 * 10**9)
    assert int(pairs(done)["VLLM_ENGINE_READY_TIMEOUT_S"] or "") > 6710
    assert done.command.startswith("VLLM_ENGINE_READY_TIMEOUT_S=")
    assert "VLLM_ENGINE_READY_TIMEOUT_S" not in pairs(handed("vllm"))
    assert "VLLM_ENGINE_READY_TIMEOUT_S" not in pairs(handed("vllm", weight_bytes=671 * 10**9, version="0.11.2"))


@pytest.mark.parametrize("path", ['/srv/a"b.gguf', "/srv/a.gguf "])
def test_a_path_that_a_modelfile_cannot_hold_is_refused_for_ollama_only(path: str) -> None:
    with pytest.raises(InputError) as refused:
        handed("ollama", model_path=path)
    assert refused.value.field == "model_path"
    assert handed("llama-server", model_path=path)


@pytest.mark.parametrize("name", ENGINES)
def test_the_completion_asks_for_the_served_name_and_must_return_choices(name: str) -> None:
    done = handed(name, model_path="/srv/m.gguf", host="::", port=9000)
    step = next(step for step in done.verify if step.expect == 'JSON that contains "choices"')
    words = shlex.split(step.command)
    assert "http://[::1]:9000/v1/chat/completions" in words
    model = json.loads(words[words.index("-d") + 1])["model"]
    assert model == ("qwen3-8b" if name == "ollama" else "Qwen/Qwen3-8B")


@pytest.mark.parametrize(("node", "processor"), [(Node((RTX_4090,)), "100% GPU"), (Node((CPU,), 8 * GIB), "100% CPU")])
def test_ollama_ps_must_show_the_whole_model_on_one_processor(node: Node, processor: str) -> None:
    step = next(step for step in handed("ollama", node=node).verify if step.command == "ollama ps")
    assert processor in step.expect


def test_your_own_command_line_wins_over_the_plan() -> None:
    plan, job = by_hand.plan("llama-server", engine_args="-c 8192 -np 2 -ctk q8_0 --no-mmap --swap-space 4")
    job = by_hand.replace(job, engine_args=tuple(shlex.split(plan.request.engine_args)))
    done = llama_server.hand_over(plan, job, PrintsOneLine())  # type: ignore[arg-type]
    assert {"--ctx-size": "8192", "--parallel": "2", "--cache-type-k": "q8_0", "--load-mode": "none"}.items() <= pairs(done).items()
    assert "--swap-space of your command line is left out" in re.sub(r"\n# ", " ", done.files[0].content)


def test_what_your_command_line_leaves_out_of_the_division_is_the_server_s_default() -> None:
    plan, job = by_hand.plan("llama-server")
    done = llama_server.hand_over(plan, by_hand.replace(job, engine_args=("-c", "8192")), PrintsOneLine())  # type: ignore[arg-type]
    assert pairs(done)["--ctx-size"] == "8192"
    assert not {"--parallel", "--no-kv-unified"} & set(pairs(done))


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("field", ["model_path", "host", "model"])
@pytest.mark.parametrize(
    "text", ["a/b\nExecStartPre=/bin/touch x", "a/b$(id)", "a/b %n", "-rf/x", "a/b\u2028x", "a/b;id", "../../etc/passwd"]
)
def test_hostile_text_never_reaches_a_file(name: str, field: str, text: str) -> None:
    with pytest.raises(InputError) as refused:
        handed(name, **{field: text})
    assert refused.value.field == field


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(ENGINES)), path=st.text(min_size=1, max_size=40))
def test_any_accepted_path_leaves_the_keys_of_every_unit_as_they_were(name: str, path: str) -> None:
    plain = handed(name, model_path="/m")
    try:
        done = handed(name, model_path=f"/{path}")
    except InputError:
        return
    for ending in (".service", ".conf"):
        assert {key for _, key, _ in lines(done, ending)} == {key for _, key, _ in lines(plain, ending)}
        assert len(lines(done, ending)) == len(lines(plain, ending))
    assert f"/{path}" in shlex.split(done.command) or name == "ollama"


@needs_systemd
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("node", [Node((RTX_4090, RTX_4090)), Node((MI300X,)), Node((CPU,), 8 * GIB)], ids=["nvidia", "amd", "cpu"])
def test_systemd_accepts_every_unit_with_its_drop_in(name: str, node: Node, tmp_path: Path) -> None:
    done = handed(name, node=node, model_path="/srv/m 50%$x ü.gguf")
    for file in done.files:
        target = tmp_path / file.path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.content)
    (unit,) = tmp_path.rglob("*.service")
    said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False).stderr
    assert [line for line in said.splitlines() if line.strip() and "not executable" not in line] == []


@needs_systemd
@pytest.mark.parametrize("name", ENGINES)
def test_systemd_rates_the_hardening_as_ok(name: str, tmp_path: Path) -> None:
    """`systemd-analyze security` from 0 (locked down) to 10; a bare unit has 9.6, PrivateDevices alone would be another 0.4."""
    content = next(file.content for file in handed(name).files if file.path.endswith(".service"))
    (tmp_path / "x.service").write_text(content)
    said = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", tmp_path / "x.service"], capture_output=True, text=True, check=False
    ).stdout
    exposure = re.search(r"exposure level for x.service: ([\d.]+)", said)
    assert exposure
    assert float(exposure[1]) < 4.0
