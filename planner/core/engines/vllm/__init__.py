"""vLLM: paged cache in one pool per GPU, memory policy by release, to the byte."""

from planner.core.engines.vllm.engine import ENGINE

__all__ = ["ENGINE"]
