"""The version table of every engine by its name: each engine's package has one, `flags.toml`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from planner.core.engines._flags import FlagTable, load_flags


@cache
def flag_tables() -> Mapping[str, FlagTable]:
    """`vllm`, `llama-server` … → its table."""
    found = sorted(Path(__file__).parent.glob("*/flags.toml"))
    return MappingProxyType({path.parent.name.replace("_", "-"): load_flags(path) for path in found})
