"""The one command that measures a machine's two speeds under an engine, for a plan that had to estimate them.

Sources: llama.cpp tools/llama-bench/README.md (b11434); `vllm bench serve` (vLLM 0.33 vllm/benchmarks/serve.py);
Ollama docs/api.md, the durations of /api/generate.
"""

import json
from collections.abc import Iterable
from typing import Final

from planner.core.engines import _shell
from planner.core.engines.contract import Setting, Step
from planner.core.plan import Plan

# The prompt that is read where the plan has no length of its own, and the answer: long enough for a steady rate.
_PROMPT_TOKENS: Final = 1024
_ANSWER_TOKENS: Final = 128
_PROMPTS: Final = 8
# llama-server's options that change a speed, as llama-bench spells them.
_BENCH: Final = {"--batch-size": "-b", "--ubatch-size": "-ub", "--n-gpu-layers": "-ngl", "--n-cpu-moe": "-ncmoe"}


def prompt_tokens(plan: Plan) -> int:
    """The plan's prompt, within half of its context so that an answer has room."""
    return max(1, min(plan.request.prompt_tokens or _PROMPT_TOKENS, plan.fit.context_per_slot // 2))


def llama_bench(plan: Plan, model: tuple[str, str], chosen: Iterable[Setting]) -> Step:
    """`model` is how llama-bench is told the model: an option and its value."""
    tokens, depth = prompt_tokens(plan), plan.fit.context_per_slot // 2
    speeds = [word for setting in chosen if setting.value and setting.flag in _BENCH for word in (_BENCH[setting.flag], setting.value)]
    command = ["llama-bench", *model, *speeds, "-p", str(tokens), "-n", str(_ANSWER_TOKENS), "-d", f"0,{depth}"]
    return Step(
        _shell.command(command),
        f"t/s of pp{tokens} is the prefill rate, t/s of tg{_ANSWER_TOKENS} @ d{depth} the decode rate",
        "It loads the model itself: run it while the service is stopped.",
    )


def vllm_bench(plan: Plan, *, address: str, name: str, tokenizer: str) -> Step:
    """One request at a time at a running server."""
    tokens = prompt_tokens(plan)
    command = [
        "vllm", "bench", "serve", "--backend", "openai", "--base-url", f"http://{address}", "--model", tokenizer, "--served-model-name", name,
        "--dataset-name", "random", "--random-input-len", str(tokens), "--random-output-len", str(_ANSWER_TOKENS), "--ignore-eos",
        "--num-prompts", str(_PROMPTS), "--max-concurrency", "1",
    ]  # fmt: skip
    return Step(
        _shell.command(command),
        f"{tokens:,} ÷ the median TTFT in seconds is the prefill rate, 1,000 ÷ the median TPOT in ms the decode rate",
        "One request at a time, at the running server and while nobody else uses it.",
    )


def ollama_timings(plan: Plan, *, address: str, name: str) -> Step:
    """One request whose answer has its own timings. The time in front keeps the prompt out of the cache when it is sent again."""
    tokens = prompt_tokens(plan)
    body = {"model": name, "prompt": "\n", "stream": False, "options": {"num_predict": _ANSWER_TOKENS}}
    before, after = json.dumps(body).split("\\n")
    # A number and its space are about four tokens.
    counting = f"\"$(date +%s): $(seq -s ' ' {max(1, tokens // 4)})\""
    return Step(
        f"curl --silent http://{address}/api/generate -d {_shell.quote(before)}{counting}{_shell.quote(after)}",
        "prompt_eval_count ÷ prompt_eval_duration is the prefill rate, eval_count ÷ eval_duration the decode rate; durations are in ns",
        "One request at the running server, while nobody else uses it.",
    )
