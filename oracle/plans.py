"""The plans that the engines are started with: Slotwise's own, for this machine and a model file."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oracle.server import HOST
from planner.core.engines.contract import Expectation
from planner.core.planning import make_plan
from planner.core.request import read_request
from planner.sources import source_from_config, source_from_gguf_file


@dataclass(frozen=True, slots=True)
class Start:
    """How Slotwise would start the engine: by its command line or, where it has one, by its drop-in's variables."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    expect: Expectation


def llama_server_start(model: Path, asked: Mapping[str, Any], *, port: int) -> Start:
    """Raises InputError where Slotwise refuses the plan."""
    values = {"device": "cpu-epyc-9004", "ram": "16GiB", "engine": "llama-server", "model_path": str(model), **asked}
    request = read_request({"model": model.stem, "host": HOST, "port": port, **values})
    _, hand_over = make_plan(request, source_from_gguf_file(model))
    drop_in = next(file.content for file in hand_over.files if file.path.endswith("override.conf"))
    return Start(tuple(shlex.split(hand_over.command)), _environment(drop_in), hand_over.expect)


def vllm_start(model: Path, config: Mapping[str, Any], asked: Mapping[str, Any], *, port: int) -> Start:
    """Raises InputError where Slotwise refuses the plan."""
    values = {"device": "rtx-4090", "engine": "vllm", "model_path": str(model), **asked}
    request = read_request({"model": model.name, "host": HOST, "port": port, **values})
    _, hand_over = make_plan(request, source_from_config(request, config, name=model.name, where=f"config.json in {model}"))
    return Start(tuple(shlex.split(hand_over.command)), {}, hand_over.expect)


def _environment(unit: str) -> dict[str, str]:
    """The variables of a unit's `Environment=` lines."""
    words = (word for line in unit.splitlines() if line.startswith("Environment=") for word in shlex.split(line.partition("=")[2]))
    return {name: value for name, _, value in (word.partition("=") for word in words)}
