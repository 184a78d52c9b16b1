"""Start-up reports from other people's machines against what the engine expects for the same model and settings."""

import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from planner.core.engines.llama_server import ENGINE
from planner.core.units import MIB
from tests.core.llama_models import gguf, job

TABLE: Final = tomllib.loads((Path(__file__).parent / "llama_reports.toml").read_text(encoding="utf-8"))
REPORTS: Final[list[dict[str, Any]]] = TABLE["report"]
# Half of the last digit that is printed.
PRINTED: Final = 0.0051


def _heads(model: dict[str, Any]) -> dict[str, object]:
    key, value = model.get("key", model.get("head")), model.get("value", model.get("head"))
    if "latent" in model:
        return {
            "attention.key_length": model["latent"], "attention.value_length": 512,
            "attention.key_length_mla": 192, "attention.value_length_mla": 128,
        }  # fmt: skip
    return {"attention.key_length": key, "attention.value_length": value} if key else {}


def _windows(model: dict[str, Any], layers: int) -> dict[str, object]:
    keys: dict[str, object] = {}
    if "window" in model:
        keys["attention.sliding_window"] = model["window"]
    if "pattern" in model:
        keys["attention.sliding_window_pattern"] = [(layer + 1) % model["pattern"] != 0 for layer in range(layers)]
    if "head_swa" in model:
        keys |= {"attention.key_length_swa": model["head_swa"], "attention.value_length_swa": model["head_swa"]}
    return keys


def _state(model: dict[str, Any]) -> dict[str, object]:
    if "delta" in model:
        groups, rank, size = model["delta"]
        inner = rank * size
    elif "mamba" in model:
        inner, groups, size, rank = model["mamba"]
    else:
        return {}
    return {"ssm.conv_kernel": 4, "ssm.inner_size": inner, "ssm.state_size": size, "ssm.time_step_rank": rank, "ssm.group_count": groups}


def _key_value_heads(model: dict[str, Any], layers: int) -> int | list[int]:
    kv = model["kv"]
    if isinstance(kv, list):
        return [kv[0] if (layer + 1) % model["pattern"] else kv[1] for layer in range(layers)]
    if "attending" in model:
        return [kv if layer < model["attending"] else 0 for layer in range(layers)]
    return int(kv)


def metadata(model: dict[str, Any]) -> dict[str, object]:
    """The GGUF keys behind the record's short ones."""
    layers = model["layers"] + model.get("drafts", 0)
    more: dict[str, object] = {
        "feed_forward_length": model.get("ff", 0), "vocab_size": model["vocab"], "context_length": 2**20,
        "attention.shared_kv_layers": model.get("shared", 0), "nextn_predict_layers": model.get("drafts", 0),
        **_heads(model), **_windows(model, layers), **_state(model),
    }  # fmt: skip
    if "experts" in model:
        more |= dict(zip(("expert_count", "expert_used_count", "expert_feed_forward_length"), model["experts"], strict=True))
    return gguf(model["arch"], layers, model["hidden"], model["heads"], _key_value_heads(model, layers), **more)


def figures(report: dict[str, Any]) -> dict[str, float]:
    values = ENGINE.expect(job(metadata(report["model"]), report["args"], version=report.get("version", "b11434")), 1).values
    found = {"state": values["recurrent_bytes"] / MIB, "output": values["output_bytes"] / MIB, "compute": values["compute_bytes"] / MIB}
    for entry in values["kv"]:
        kind = {"latent": "full"}.get(entry["kind"], entry["kind"])
        found[kind] = (entry["k_bytes"] + entry["v_bytes"]) / MIB
        found[{"full": "cells", "swa": "swa_cells"}.get(kind, "")] = entry["cells"]
    return found


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report["name"])
def test_caches_states_and_outputs_are_those_that_were_printed(report: dict[str, Any]) -> None:
    found = figures(report)
    for key in ("full", "swa", "draft", "state", "output", "cells", "swa_cells"):
        if key in report:
            assert found[key] == pytest.approx(report[key], abs=PRINTED), key


@pytest.mark.parametrize("report", [report for report in REPORTS if "compute" in report], ids=lambda report: report["name"])
def test_compute_buffers_are_near_those_that_were_printed(report: dict[str, Any]) -> None:
    assert figures(report)["compute"] == pytest.approx(report["compute"], rel=report["within"])


def test_every_exception_has_its_source_and_its_cause() -> None:
    assert all(entry["source"] and entry["cause"].endswith(".") for entry in TABLE["exception"])
