"""vLLM's figures: start-ups that people published, and what its own planner computes, beside ours."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from planner.core import catalog
from planner.core.accuracy.comparison import Comparison, Figure
from planner.core.accuracy.shapes import dense, shape
from planner.core.engines.contract import Job
from planner.core.engines.vllm import ENGINE
from planner.core.errors import InputError
from planner.core.hardware import Device, Node
from planner.core.readers.hf_config import read_shape
from planner.core.units import GIB
from planner.core.weights import Weights

# Weights are beside the point where the pool is known.
_WEIGHTS: Final = Weights(GIB, GIB, "BF16", "computed", "given", GIB, GIB)
# The source of records that vLLM's own code computed, without a GPU: nothing in them is rounded.
PLANNER: Final = "planner"
_ROUNDING: Final = {"need_gib": 0.0051, "max_concurrency": 0.0051, "pool_gib": 0.0051}
_DEVICES: Final = {"H100": "h100-sxm", "A100": "a100-sxm4-80gb", "B200": "b200", "L40S": "l40s", "RTX4090": "rtx-4090", "T4": "t4"}


def report_job(report: Mapping[str, Any], models: Mapping[str, Any], *, shift_gib: float = 0.0) -> Job:
    """The server of a record, with its pool `shift_gib` larger than printed."""
    facts = {"name": "H100", "gib": 80, "capability": "9.0", **report.get("device", {})}
    device = Device("gpu", facts["name"], "NVIDIA", "datacenter", int(facts["gib"] * GIB), "user", compute_capability=facts["capability"])
    tensor, stages = report.get("tp", 1), report.get("pp", 1)
    return Job(
        shape=dense(*report["dense"]) if "dense" in report else shape(models[report["model"]]),
        weights=_WEIGHTS,
        node=Node((device,) * (tensor * stages * report.get("dp", 1))),
        context_tokens=448,
        version=report["version"],
        cache_type_k=report.get("cache", "auto"),
        cache_type_v=report.get("cache", "auto"),
        tensor_parallel=tensor,
        pipeline_parallel=stages,
        cache_memory_bytes=int((report["pool_gib"] + shift_gib) * GIB),
        engine_args=tuple(report.get("args", "").split()),
    )


def _values(job: Job) -> Mapping[str, float]:
    ENGINE.check(job)
    values = ENGINE.expect(job, 1).values
    return {**values, "need_gib": values["needed_bytes"] / GIB, "estimated_length": values["longest_request"]}


def _answers(report: Mapping[str, Any], models: Mapping[str, Any], shift_gib: float) -> Mapping[str, float]:
    """Our figures under the names of a report; `pool_gib` is what its tokens take."""
    values = _values(report_job(report, models, shift_gib=shift_gib))
    tokens = report["printed"].get("kv_cache_tokens", 0)
    return {**values, "pool_gib": tokens / values["block_size"] * values["bytes_per_block"] / GIB}


def report_comparison(report: Mapping[str, Any], models: Mapping[str, Any]) -> Comparison:
    """The figures of a published start-up, or of a record of vLLM's own planner."""
    computed = report["source"] == PLANNER
    half_digit = 0.0 if computed else 0.005
    ours, low, high = (_answers(report, models, shift) for shift in (0.0, -half_digit, half_digit))
    figures = tuple(
        Figure(
            name, printed, float(ours[name]), 5e-7 if computed else _ROUNDING.get(name, 0.0),
            None if computed else float(low[name]), None if computed else float(high[name]),
        )
        for name, printed in report["printed"].items()
    )  # fmt: skip
    return Comparison(
        name=report["name"],
        source="vLLM's own planner" if computed else report["source"],
        version=report["version"],
        figures=figures,
        cause=report.get("cause", ""),
        case=report.get("case", ""),
        within=report.get("percent", 0.0) / 100,
    )


def _row_arguments(row: Mapping[str, Any]) -> Iterator[str]:
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


def _row_job(row: Mapping[str, Any]) -> Job:
    stages = row.get("pp") or 1
    device = catalog.device(_DEVICES[row["platform"].split(":")[1].split("-")[0]])
    return Job(
        shape=read_shape(row["hf_config"]),
        weights=_WEIGHTS,
        node=Node((device,) * (row["tp"] * stages)),
        context_tokens=min(row["max_model_len"], 2048),
        version="0.32.0",
        cache_type_k=row["kv_cache_dtype_arg"],
        cache_type_v=row["kv_cache_dtype_arg"],
        tensor_parallel=row["tp"],
        pipeline_parallel=stages,
        cache_memory_bytes=row["kv_memory_bytes"],
        engine_args=tuple(_row_arguments(row)),
    )


_ROW: Final = {
    "num_blocks": "num_blocks",
    "block_size": "block_size_reported_in_cache_config",
    "kv_cache_tokens": "reported_kv_cache_tokens",
    "bytes_per_block": "pool_bytes_per_block",
    "max_concurrency": "reported_max_concurrency",
}


def row_comparison(row: Mapping[str, Any]) -> Comparison:
    """A row of vLLM 0.32's own planner on a real config.json."""
    name = f"{row['label']} tp{row['tp']} {row['kv_cache_dtype_arg']} {row['max_model_len']}"
    try:
        ours = _values(_row_job(row))
    except InputError as refusal:
        return Comparison(name, "vLLM's own planner", "0.32.0", (), refused=str(refusal))
    figures = tuple(Figure(key, row[printed], float(ours[key]), 5e-7 if key == "max_concurrency" else 0.0) for key, printed in _ROW.items())
    return Comparison(name, "vLLM's own planner", "0.32.0", figures)
