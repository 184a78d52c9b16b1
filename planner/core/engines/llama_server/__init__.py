"""llama-server (llama.cpp): its memory policy, its flags by version, and what an operator installs."""

from planner.core.engines.llama_server.policy import LlamaServer

ENGINE = LlamaServer()
