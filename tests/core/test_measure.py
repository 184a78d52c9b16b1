"""The command that measures a machine's speeds: one for each engine, for the plan's own model and lengths, and none once they are known."""

import json
import shlex
import subprocess
from typing import Any

import pytest

from planner.answer import Answer, answer
from planner.core.report import plan_json
from planner.core.report_text import plan_text
from planner.core.request import read_request


def planned(**inputs: Any) -> Answer:
    return answer(read_request({"model": "Qwen/Qwen3-8B", "device": "rtx-4090", **inputs}), hub=None)


def words(**inputs: Any) -> list[str]:
    measure = planned(**inputs).hand_over.measure
    assert measure is not None
    return shlex.split(measure.command)


def test_llama_bench_runs_with_the_plan_s_file_passes_and_lengths() -> None:
    given = words(engine="llama-server", prompt_tokens=3000, output_tokens=200, context=8192)
    assert given[:3] == ["llama-bench", "-m", "/var/lib/llama-server/models/Qwen3-8B-Q4_K_M.gguf"]
    assert given[3:] == ["-b", "2048", "-ub", "512", "-p", "3000", "-n", "128", "-d", "0,4096"]


def test_llama_bench_leaves_in_ram_what_the_plan_does() -> None:
    given = words(model="Qwen/Qwen3-30B-A3B", engine="llama-server", gpu_memory="12GiB", ram="64GiB")
    assert "-ncmoe" in given or "-ngl" in given


def test_a_prompt_leaves_room_for_an_answer() -> None:
    assert "512" in words(engine="llama-server", context=1024, prompt_tokens=1000)


def test_vllm_is_asked_one_request_at_a_time() -> None:
    given = words(engine="vllm", port=9000, model_path="/models/qwen")
    assert given[:3] == ["vllm", "bench", "serve"]
    assert given[given.index("--base-url") :][:2] == ["--base-url", "http://127.0.0.1:9000"]
    assert given[given.index("--model") :][:4] == ["--model", "/models/qwen", "--served-model-name", "Qwen/Qwen3-8B"]
    assert given[-2:] == ["--max-concurrency", "1"]


def test_what_ollama_is_sent_is_json_with_the_plan_s_length() -> None:
    measure = planned(engine="ollama").hand_over.measure
    assert measure is not None
    shown = subprocess.run(["sh", "-c", f"printf %s {measure.command.partition(' -d ')[2]}"], capture_output=True, text=True, check=True)
    body = json.loads(shown.stdout)
    assert (body["model"], body["stream"], body["options"]) == ("qwen3-8b", False, {"num_predict": 128})
    assert body["prompt"].partition(": ")[2].split() == [str(number) for number in range(1, 257)]


@pytest.mark.parametrize("engine", ["vllm", "llama-server", "ollama"])
def test_it_is_shown_wherever_the_plan_is_and_not_once_both_speeds_are_measured(engine: str) -> None:
    made = planned(engine=engine)
    assert made.hand_over.measure is not None
    assert plan_json(made.plan, made.hand_over)["engine"]["measure"]["command"] == made.hand_over.measure.command
    assert made.hand_over.measure.command in plan_text(made.plan, made.hand_over)
    known = planned(engine=engine, prefill_rate=800, decode_rate=50)
    assert known.hand_over.measure is None
    assert plan_json(known.plan, known.hand_over)["engine"]["measure"] is None
