"""The situations that every engine's files are kept for, as the requests people send: catalogue models, real plans, nothing by hand."""

from functools import cache
from typing import Any, Final

from planner.core.draft import Source
from planner.core.engines import engines
from planner.core.engines.contract import HandOver
from planner.core.plan import Plan
from planner.core.planning import make_plan
from planner.core.request import read_request
from planner.sources import find_model

# Up to five versions of each engine between which its table or its rules differ, oldest first.
VERSIONS: Final = {
    "llama-server": ("b9093", "b9873", "b10603", "b11010", "b11434"),
    "ollama": engines()["ollama"].versions,
    "vllm": ("0.11.2", "0.17.0", "0.24.0", "0.28.0", "0.33.0"),
}
SITUATIONS: Final[dict[str, dict[str, Any]]] = {
    "one-card": {"model": "Qwen/Qwen3-8B", "device": "rtx-4090"},
    "two-cards": {"model": "Qwen/Qwen3-14B", "device": "2x rtx-4090", "ram": "64GiB", "host": "0.0.0.0", "port": 9000},  # noqa: S104 - what a user types
    "cpu-only": {"model": "Qwen/Qwen3-4B", "ram": "8GiB", "context": 4096, "users": 5},
    "moe-experts-in-ram": {"model": "Qwen/Qwen3-30B-A3B", "device": "rtx-3060-12gb", "ram": "128GiB", "users": 5},
    "mla-eight-cards": {"model": "deepseek-ai/DeepSeek-V3", "device": "8x h200-sxm", "context": 32_768, "users": 100},
    "hybrid": {"model": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "device": "h100-sxm", "ram": "256GiB"},
    "vlm-text-only": {"model": "Qwen/Qwen2.5-VL-7B-Instruct", "device": "rtx-4090"},
    "lora": {"model": "meta-llama/Llama-3.1-8B-Instruct", "device": "rtx-4090", "adapters": 4, "switch_seconds": 1.5, "context": 4096},
}
# What an engine needs to be asked otherwise.
_OWN: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("llama-server", "vlm-text-only"): {"model_path": "/home/ann/models/qwen 2.5 vl 50%.gguf"},
    ("ollama", "vlm-text-only"): {"model_path": "/home/ann/models/qwen 2.5 vl 50%.gguf"},
    ("vllm", "vlm-text-only"): {"model_path": "/home/ann/models/qwen 2.5 vl 50%"},
    ("llama-server", "two-cards"): {"cache_type": "q8_0"},
    ("ollama", "two-cards"): {"cache_type": "q8_0"},
    ("vllm", "two-cards"): {"cache_type": "fp8"},
    ("vllm", "moe-experts-in-ram"): {"device": "rtx-4090", "engine_args": "--cpu-offload-gb 48"},
}
# vLLM is planned for GPUs only.
CASES: Final = tuple(
    (engine, situation, version)
    for engine, versions in VERSIONS.items()
    for situation in SITUATIONS
    for version in versions
    if (engine, situation) != ("vllm", "cpu-only")
)


@cache
def _source(model: str) -> Source:
    return find_model(read_request({"model": model}), None)


@cache
def answer(engine: str, situation: str, version: str) -> tuple[Plan, HandOver]:
    asked = {**SITUATIONS[situation], **_OWN.get((engine, situation), {}), "engine": engine, "engine_version": version}
    request = read_request(asked)
    return make_plan(request, _source(request.model))
