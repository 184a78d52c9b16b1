"""Every row of vLLM's own planner, where the folder of truth lies beside the repository; and the coefficients fitted on its cases."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fit_overheads import fits, read_cases
from planner.core import catalog
from planner.core.engines.contract import Job
from planner.core.engines.vllm import ENGINE, overheads
from planner.core.hardware import Node
from planner.core.readers.hf_config import read_shape
from planner.core.weights import Weights

TRUTH = Path(__file__).resolve().parents[2].parent / "shared" / "truth"
DEVICES = {"H100": "h100-sxm", "A100": "a100-sxm4-80gb", "B200": "b200", "L40S": "l40s", "RTX4090": "rtx-4090", "T4": "t4"}
GIB = 2**30

pytestmark = pytest.mark.skipif(not TRUTH.exists(), reason="the folder of truth is not there")


def rows() -> list[dict[str, Any]]:
    if not TRUTH.exists():
        return []
    with (TRUTH / "vllm.jsonl").open() as file:
        return list(map(json.loads, file))


def arguments(row: dict[str, Any]) -> Iterator[str]:
    yield from ("--max-model-len", str(row["max_model_len"]))
    yield from ("--max-num-batched-tokens", str(row["max_num_batched_tokens"]), "--max-num-seqs", str(row["max_num_seqs"]))
    yield "--enable-prefix-caching" if row["enable_prefix_caching"] else "--no-enable-prefix-caching"
    if row["hybrid_kv_cache_manager_disabled"]:
        yield "--disable-hybrid-kv-cache-manager"
    if not row["async_scheduling"]:
        yield "--no-async-scheduling"
    if row["user_block_size"]:
        yield from ("--block-size", str(row["user_block_size"]))
    if row["model_dtype"] in {"float16", "float32"}:
        yield from ("--dtype", row["model_dtype"])
    extra = row["extra_args"] or {}
    for key in ("num_gpu_blocks_override", "mamba_ssm_cache_dtype"):
        if key in extra:
            yield from (f"--{key.replace('_', '-')}", str(extra[key]))
    if "speculative_config" in extra:
        yield from ("--speculative-config", json.dumps(extra["speculative_config"]))


def job_of(row: dict[str, Any]) -> Job:
    stages = row.get("pp") or 1
    device = catalog.device(DEVICES[row["platform"].split(":")[1].split("-")[0]])
    return Job(
        shape=read_shape(row["hf_config"]),
        weights=Weights(GIB, GIB, "BF16", "computed", "typed", GIB, GIB),
        node=Node((device,) * (row["tp"] * stages)),
        context_tokens=min(row["max_model_len"], 2048),
        version="0.32.0",
        cache_type_k=row["kv_cache_dtype_arg"],
        cache_type_v=row["kv_cache_dtype_arg"],
        tensor_parallel=row["tp"],
        pipeline_parallel=stages,
        cache_memory_bytes=row["kv_memory_bytes"],
        engine_args=tuple(arguments(row)),
    )


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['label']} tp{row['tp']} {row['kv_cache_dtype_arg']} {row['max_model_len']}")
def test_a_row_of_vllms_planner_comes_out_equal(row: dict[str, Any]) -> None:
    job = job_of(row)
    ENGINE.check(job)
    values = ENGINE.expect(job, 1).values
    assert values["num_blocks"] == row["num_blocks"]
    assert values["block_size"] == row["block_size_reported_in_cache_config"]
    assert values["kv_cache_tokens"] == row["reported_kv_cache_tokens"]
    assert values["bytes_per_block"] == row["pool_bytes_per_block"]
    assert values["max_concurrency"] == pytest.approx(row["reported_max_concurrency"], abs=5e-7)


@pytest.mark.parametrize(
    "name", ["SAMPLER", "FORWARD", "COMPRESSED_FORWARD", "ENCODER", "GRAPHS", "OUTSIDE_ONE", "OUTSIDE_MANY"]
)  # fmt: skip
def test_the_overheads_are_those_of_the_fit(name: str) -> None:
    assert getattr(overheads, name) == pytest.approx(fits(read_cases(TRUTH / "cases.jsonl"))[name], rel=0.015)
