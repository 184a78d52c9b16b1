"""Every row printed by a real llama-server, from the model's config.json and from its GGUF metadata, where the rows are at hand."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planner.core.accuracy.llama_server import Reader, row_comparison

ROWS = Path(__file__).resolve().parents[2].parent / "shared/truth/llama_cpp.jsonl"

pytestmark = pytest.mark.skipif(not ROWS.exists(), reason="the rows are not on this machine")


@cache
def rows() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in ROWS.read_text().splitlines())


@pytest.mark.parametrize("reader", ["hf_config", "gguf"])
def test_every_row_agrees(reader: Reader) -> None:
    found = [comparison for row in rows() if (comparison := row_comparison(row, reader)) is not None]
    assert [(each.name, each.misses) for each in found if each.misses] == []
    assert len(found) >= (113 if reader == "gguf" else 108)
