"""The load test: the plan's users and lengths in the words of a public tool, checked as a shell would run them."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from planner.core.engines import engines
from tests.core.test_hand_over import handed

# Options of `vllm bench serve`: vllm/benchmarks/serve.py and vllm/benchmarks/datasets of 0.33, the same in the documentation of 0.11.2.
VLLM_BENCH = {
    "--backend", "--endpoint", "--base-url", "--served-model-name", "--request-rate", "--max-concurrency", "--num-prompts",
    "--percentile-metrics", "--metric-percentiles", "--model", "--dataset-name", "--random-input-len", "--random-output-len",
    "--ignore-eos", "--save-result",
}  # fmt: skip
# Options of `guidellm run`: GuideLLM 0.7.3, docs/getting-started/benchmark.md.
GUIDELLM = {"--backend", "--profile", "--constraint", "--data", "--tokenizer"}


def run(name: str, tmp_path: Path, environment: dict[str, str] | None = None, **asked: Any) -> subprocess.CompletedProcess[str]:
    script = next(file.content for file in handed(name, **asked).files if file.path.endswith("load-test.sh"))
    for tool in ("vllm", "guidellm"):
        (tmp_path / tool).write_text('#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done\n')
        (tmp_path / tool).chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    return subprocess.run(
        ["sh", "-s"], input=script, env={"PATH": path, **(environment or {})}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", sorted(engines()))
def test_lengths_of_the_plan_are_used_and_every_option_is_the_tool_s_own(name: str, tmp_path: Path) -> None:
    words = run(name, tmp_path, prompt_tokens=900, output_tokens=300).stdout.split("\n")
    options = {word for word in words if word.startswith("--")}
    assert options <= (VLLM_BENCH if name == "vllm" else GUIDELLM)
    text = " ".join(words)
    assert "0.222222" in text  # 20 users, a turn every 90 s
    if name == "vllm":
        assert "--max-concurrency 20 --num-prompts 200" in text
        assert "--random-input-len 900 --random-output-len 300" in text
    else:
        assert "kind=poisson,rate=0.222222,max_concurrency=20" in text
        assert "prompt_tokens=900,output_tokens=300" in text


@pytest.mark.parametrize("name", sorted(engines()))
def test_lengths_that_the_plan_does_not_have_are_asked_for(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path)
    assert done.returncode != 0
    assert "give the tokens of a prompt" in done.stderr
    assert run(name, tmp_path, {"PROMPT_TOKENS": "1", "OUTPUT_TOKENS": "2"}).returncode == 0


def test_a_model_without_a_tokenizer_on_the_hub_asks_for_one(tmp_path: Path) -> None:
    done = run("llama-server", tmp_path, model="mine", model_path="/srv/mine.gguf", prompt_tokens=1, output_tokens=1)
    assert "whose tokenizer" in done.stderr


def test_it_says_what_it_cannot_repeat() -> None:
    script = next(file.content for file in handed("vllm").files if file.path.endswith("load-test.sh"))
    assert "What it cannot repeat: a user who waits for the answer and then pauses for 78 s" in script.replace("\n# ", " ")
