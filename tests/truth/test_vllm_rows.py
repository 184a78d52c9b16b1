"""Every row of vLLM's own planner, where the folder of truth lies beside the repository; and the coefficients fitted on its cases."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fit_overheads import fits, read_cases
from planner.core.accuracy.vllm import row_comparison
from planner.core.engines.vllm import overheads

TRUTH = Path(__file__).resolve().parents[2].parent / "shared" / "truth"

pytestmark = pytest.mark.skipif(not TRUTH.exists(), reason="the folder of truth is not there")


def rows() -> list[dict[str, Any]]:
    if not TRUTH.exists():
        return []
    with (TRUTH / "vllm.jsonl").open() as file:
        return list(map(json.loads, file))


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['label']} tp{row['tp']} {row['kv_cache_dtype_arg']} {row['max_model_len']}")
def test_a_row_of_vllms_planner_comes_out_equal(row: dict[str, Any]) -> None:
    found = row_comparison(row)
    assert found.misses == []
    assert found.figures


@pytest.mark.parametrize(
    "name", ["SAMPLER", "FORWARD", "COMPRESSED_FORWARD", "ENCODER", "GRAPHS", "OUTSIDE_ONE", "OUTSIDE_MANY"]
)  # fmt: skip
def test_the_overheads_are_those_of_the_fit(name: str) -> None:
    assert getattr(overheads, name) == pytest.approx(fits(read_cases(TRUTH / "cases.jsonl"))[name], rel=0.015)
