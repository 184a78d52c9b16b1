"""Every row printed by a real llama-server, from the model's config.json and from its GGUF metadata, where the rows are at hand."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planner.core.engines.contract import Job
from planner.core.engines.llama_server import ENGINE
from planner.core.errors import InputError
from planner.core.model_shape import ModelShape
from planner.core.readers.gguf_shape import read_gguf_shape
from planner.core.readers.hf_config import read_shape
from planner.core.units import MIB
from tests.core.llama_models import cpu, job

ROWS = Path(__file__).resolve().parents[2].parent / "shared/truth/llama_cpp.jsonl"

pytestmark = pytest.mark.skipif(not ROWS.exists(), reason="the rows are not on this machine")


@cache
def rows() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in ROWS.read_text().splitlines())


def shape_of(row: dict[str, Any], reader: str) -> ModelShape | None:
    if reader == "gguf":
        return read_gguf_shape(row["gguf"])
    return read_shape(row["hf_config"]) if row["hf_config"] else None


def asked(row: dict[str, Any], reader: str) -> Job | None:
    shape = shape_of(row, reader)
    return shape and job(shape, " ".join(row["args"]), node=cpu(80), context=1024)


def misses(row: dict[str, Any], values: dict[str, Any]) -> list[str]:
    """What the row prints and the engine does not give, in words."""
    printed = [(cache["cells"], cache["layers"], cache["k_mib"], cache["v_mib"]) for cache in row["kv_caches"]]
    found = [(entry["cells"], entry["layers"], entry["k_bytes"] / MIB, entry["v_bytes"] / MIB) for entry in values["kv"]]
    same = len(printed) == len(found) and all(
        one[:2] == other[:2] and abs(one[2] - other[2]) <= 0.01 and abs(one[3] - other[3]) <= 0.01
        for one, other in zip(printed, found, strict=True)
    )
    state = sum(entry["mib"] for entry in row["rs"])
    checks = {
        f"caches {printed}, not {found}": same,
        f"recurrent {state} MiB": abs(values["recurrent_bytes"] / MIB - state) <= 0.01,
        f"n_ctx {row['ctx']['n_ctx']}": values["n_ctx"] == row["ctx"]["n_ctx"],
        f"slots {row['slots']}": (values["n_slots"], values["n_ctx_slot"], values["kv_unified"])
        == (row["slots"]["n_slots"], row["slots"]["n_ctx_slot"], row["slots"]["kv_unified"]),
        f"outputs {row['output_buffers']}": abs(values["output_bytes"] / MIB - sum(entry["mib"] for entry in row["output_buffers"]))
        <= 0.01,
    }
    return [f"{row['id']} {' '.join(row['args'])}: {text}" for text, holds in checks.items() if not holds]


@pytest.mark.parametrize("reader", ["hf_config", "gguf"])
def test_every_row_agrees(reader: str) -> None:
    found: list[str] = []
    compared = 0
    for row in rows():
        question = asked(row, reader)
        if question is None:
            continue
        compared += 1
        try:
            ENGINE.check(question)
        except InputError as refusal:
            if row["loaded"]:
                found.append(f"{row['id']}: refused: {refusal}")
            continue
        found += misses(row, dict(ENGINE.expect(question, 1).values)) if row["loaded"] else [f"{row['id']}: the engine refuses this"]
    assert found == []
    assert compared >= (113 if reader == "gguf" else 108)


def test_every_printed_line_is_expected_letter_by_letter() -> None:
    """The printed numbers put into the server's own format are the lines the engine gives."""
    for row in rows():
        if not row["loaded"] or not row["kv_caches"]:
            continue
        lines = [line.line for line in ENGINE.expect(asked(row, "gguf"), 1).lines]  # type: ignore[arg-type]
        for entry in row["kv_caches"]:
            size, k, v = (f"{entry[key]:7.2f}" for key in ("mib", "k_mib", "v_mib"))
            assert (
                f"llama_kv_cache: size = {size} MiB ({entry['cells']:6d} cells, {entry['layers']:3d} layers, "
                f"{entry['n_seq_max']:2d}/{entry['n_stream']} seqs), K ({entry['type_k']}): {k} MiB, V ({entry['type_v']}): {v} MiB"
            ) in lines


def test_compute_buffers_agree_where_they_are_called_computed_and_lie_in_the_range_elsewhere() -> None:
    outside = []
    for row in rows():
        if not row["loaded"]:
            continue
        question = asked(row, "gguf")
        compute = ENGINE.placement(question, 1).fullest.compute  # type: ignore[arg-type]
        printed = sum(entry["mib"] for entry in row["compute_buffers"])
        slack = 1 if compute.grade == "computed" else 0  # type: ignore[union-attr]
        if not compute.low_bytes / MIB - slack <= printed <= compute.high_bytes / MIB + slack:  # type: ignore[union-attr]
            outside.append(f"{row['id']} {' '.join(row['args'])}: {printed} MiB, not {compute}")
    assert outside == []
