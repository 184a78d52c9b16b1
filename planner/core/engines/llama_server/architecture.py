"""llama.cpp's name for a model's architecture, which decides how its layers are stored."""

import tomllib
from functools import cache, lru_cache
from pathlib import Path

from planner.core.model_shape import ModelShape


@cache
def _by_class() -> dict[str, str]:
    table = tomllib.loads((Path(__file__).parent / "architectures.toml").read_text(encoding="utf-8"))
    return {name: architecture for architecture, names in table.items() for name in names}


@cache
def _by_word() -> dict[str, str]:
    return {_word(architecture): architecture for architecture in _by_class().values()}


def _word(name: str) -> str:
    return "".join(c for c in name.lower().removesuffix("_text") if c.isalnum())


@lru_cache(maxsize=64)
def architecture(shape: ModelShape) -> str | None:
    """`qwen3moe`, `gpt-oss` …: by the class that config.json names, else by its model type; None where llama.cpp converts no such model.

    A shape from a GGUF file has that name already.
    """
    return _by_class().get(shape.architecture) or _by_word().get(_word(shape.model_type))
