"""Ollama: a llama-server under it, its own way of choosing the settings, and what an operator installs."""

from planner.core.engines.ollama.policy import Ollama

ENGINE = Ollama()
