"""Ollama: a llama-server with private slots behind a queue of its own, which refuses what does not fit in it."""

from typing import ClassVar, Final

from planner.core.simulation.policies.llama_server import LlamaServer

# OLLAMA_MAX_QUEUE where nobody sets it (envconfig/config.go); the request beyond it gets HTTP 503.
DEFAULT_MAX_QUEUE: Final = 512


class Ollama(LlamaServer):
    """OLLAMA_NUM_PARALLEL slots; requests wait in Ollama, first come, first served."""

    name: ClassVar[str] = "ollama"
    title: ClassVar[str] = "Ollama"
    default_max_queue: ClassVar[int | None] = DEFAULT_MAX_QUEUE


POLICY = Ollama
