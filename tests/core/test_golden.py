"""Whole files as they are handed over, word for word. Rewrite them on purpose with UPDATE_GOLDEN=1, and read the diff."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.core.engines.contract import HandOver, Step
from planner.core.hardware import Node
from planner.core.units import GIB
from tests import situations
from tests.core.test_hand_over import ENGINES
from tests.situations import CPU, MI300X, RTX_4090, PrintsOneLine

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SMALL = {"slots": 2, "needed": 2, "context": 4096, "weight_bytes": 2_500_000_000, "model": "Qwen/Qwen3-4B"}
PAIR: dict[str, Any] = {"node": Node((RTX_4090, RTX_4090), 64 * GIB), "slots": 8, "host": "0.0.0.0", "port": 9000}  # noqa: S104 - what a user types
ON_CPU: dict[str, Any] = {**SMALL, "node": Node((CPU,), 8 * GIB), "weight_format": "Q4_K_M", "batch_tokens": 256}
OWN_FILE = {"model_path": "/home/ann/models/my model 50%.gguf"}
PLANS: dict[str, dict[str, dict[str, Any]]] = {
    "vllm": {
        "one-card": {},
        "two-cards": {**PAIR, "tensor_parallel": 2, "cache_type": "fp8"},
        "amd-card": {"node": Node((MI300X,)), "slots": 64, "needed": 6, "batch_tokens": 16_384},
        "older-release": {"version": "0.17.0", "model_path": "/home/ann/models/qwen3", "revision": "0" * 40},
    },
    "llama-server": {
        "one-card": {"weight_bytes": 5_027_783_488, "weight_format": "Q4_K_M"},
        "two-cards": {**PAIR, "cache_type": "q8_0", "model": "Qwen/Qwen3-8B-GGUF", "weight_format": "Q8_0"},
        "cpu-only": ON_CPU,
        "older-build": {**ON_CPU, **OWN_FILE, "version": "b9873", "bytes_per_sequence": 150 * 2**20},
    },
    "ollama": {
        "one-card": {"weight_bytes": 5_027_783_488, "weight_format": "Q4_K_M"},
        "two-cards": {**PAIR, "cache_type": "q8_0", "model": "Qwen/Qwen3-8B-GGUF"},
        "cpu-only": ON_CPU,
        "own-file": {**OWN_FILE, "weight_bytes": 40_000_000_000},
    },
}

# The files beside the unit have golden files of their own (test_pack.py): they repeat what is here in other syntaxes.
BESIDE = ("check.sh", "run.sh", "load-test.sh", "compose.yaml", "config.yaml", "nginx/conf.d")


def shown(done: HandOver) -> str:
    """The hand-over as one text: settings for systemd, and the steps."""
    parts = [f"$ {done.command}\n"]
    files = [file for file in done.files if not any(name in file.path for name in BESIDE)]
    parts += [f"==== {file.path} ({file.mode:04o}): {file.why}\n{file.content}" for file in files]
    for title, steps in (("apply", done.apply), ("verify", done.verify), ("undo", done.undo)):
        parts.append(f"==== {title}\n" + "\n".join(_step(steps)))
    return "\n".join([*parts, ""])


def _step(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        yield f"$ {step.command}\n  → {step.expect}\n  {step.why}"


@pytest.mark.parametrize(("name", "situation"), [(name, situation) for name, plans in PLANS.items() for situation in plans])
def test_what_is_handed_over_is_word_for_word_as_agreed(name: str, situation: str) -> None:
    plan, job = situations.plan(name, **PLANS[name][situation])
    done = ENGINES[name].hand_over(plan, job, PrintsOneLine(), origin="https://plans.example.org/?users=20")  # type: ignore[arg-type]
    path = GOLDEN / f"{name}-{situation}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown(done))
    assert shown(done) == path.read_text()
