"""The model families that Ollama serves one request at a time, whatever OLLAMA_NUM_PARALLEL says."""

from typing import Final

from planner.core.engines.llama_server.architecture import architecture
from planner.core.model_shape import ModelShape

# Source: Ollama v0.30.0 and fb30760 server/sched.go, the architectures whose parallelism is set to 1.
ONE_AT_A_TIME: Final = frozenset((
    "mllama", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen3next", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "nemotron_h_omni",
))  # fmt: skip


def family(shape: ModelShape) -> str:
    return architecture(shape) or shape.model_type


def one_at_a_time(shape: ModelShape) -> bool:
    return architecture(shape) in ONE_AT_A_TIME or shape.model_type.startswith("mllama")
