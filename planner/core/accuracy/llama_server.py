"""llama-server's figures: start-ups that people published, and real servers started for the purpose, beside ours."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from planner.core.accuracy.comparison import Comparison, Figure
from planner.core.accuracy.shapes import metadata
from planner.core.engines.contract import Job
from planner.core.engines.llama_server import ENGINE
from planner.core.errors import InputError
from planner.core.hardware import Device, Node
from planner.core.model_shape import ModelShape
from planner.core.readers.gguf_shape import read_gguf_shape
from planner.core.readers.hf_config import read_shape
from planner.core.units import GIB, MIB
from planner.core.weights import Weights

# Half of the last digit of a printed MiB, and a little for the reports' own rounding.
_PRINTED: Final = 0.0051
_ROW_PRINTED: Final = 0.01
_BUILD: Final = "b11434"
_WEIGHTS: Final = Weights(GIB, GIB, "Q4_K_M", "measured", "given", GIB, GIB)
_CARD: Final = Node((Device("card", "card", "NVIDIA", "custom", 80 * GIB, "user"),))
_CPU: Final = Node((Device("cpu", "CPU", "CPU", "cpu", 80 * GIB, "user"),), 80 * GIB)
_CACHES: Final = ("full", "swa", "draft", "cache", "state", "output", "cells", "swa_cells", "n_ctx_slot")


def job(shape: ModelShape, args: str, *, version: str = _BUILD, node: Node = _CARD, context: int = 8192) -> Job:
    return Job(
        shape=shape, weights=_WEIGHTS, node=node, context_tokens=context, version=version,
        cache_type_k="auto", cache_type_v="auto", engine_args=tuple(args.split()),
    )  # fmt: skip


def _report_values(report: Mapping[str, Any]) -> dict[str, float]:
    """Our figures under the names of a report, in MiB, cells and tokens."""
    asked = job(read_gguf_shape(metadata(report["model"])), report["args"], version=report.get("version", _BUILD))
    values = ENGINE.expect(asked, 1).values
    low, high = values["estimates"].get("compute_bytes", (0, 0))
    found = {
        "state": values["recurrent_bytes"] / MIB, "output": values["output_bytes"] / MIB, "n_ctx_slot": values["n_ctx_slot"],
        "compute": values["compute_bytes"] / MIB, "compute_low": low / MIB, "compute_high": high / MIB,
    }  # fmt: skip
    found["cache"] = sum(entry["k_bytes"] + entry["v_bytes"] for entry in values["kv"]) / MIB
    for entry in values["kv"]:
        kind = {"latent": "full"}.get(entry["kind"], entry["kind"])
        found[kind] = (entry["k_bytes"] + entry["v_bytes"]) / MIB
        found[{"full": "cells", "swa": "swa_cells"}.get(kind, "")] = entry["cells"]
    return found


def _reported(report: Mapping[str, Any], figures: tuple[Figure, ...], *, within: float = 0.0) -> Comparison:
    return Comparison(
        name=report["name"], source=report["source"], version=report.get("version", _BUILD), figures=figures,
        cause=report.get("cause", ""), case=report.get("case", ""), within=within,
    )  # fmt: skip


def report_comparison(report: Mapping[str, Any]) -> Comparison:
    """Caches, states, outputs and cells of a published start-up: exact to the printed digits."""
    ours = _report_values(report)
    figures = [Figure(key, report[key], ours[key], _PRINTED) for key in _CACHES if key in report]
    if "share" in report:
        layers, printed = report["share"]
        figures.append(Figure(f"{layers} layers", printed, ours["full"] * layers / report["model"]["layers"], _PRINTED))
    return _reported(report, tuple(figures))


def compute_comparison(report: Mapping[str, Any]) -> Comparison:
    """The compute buffer of a published start-up: on a GPU an estimate with its range."""
    ours = _report_values(report)
    buffer = Figure("compute", report["compute"], ours["compute"], _PRINTED, ours["compute_low"], ours["compute_high"], estimate=True)
    return _reported(report, (buffer,), within=report["within"])


def cache_comparison(record: Mapping[str, Any]) -> Comparison:
    """Every cache a server started for the purpose printed, as [cells, layers, MiB], and the MiB of its recurrent state."""
    values = ENGINE.expect(job(read_gguf_shape(record["model"]), f"{record['args']} -fit off"), 1).values
    figures = []
    if "caches" in record:
        found = [(entry["cells"], entry["layers"], (entry["k_bytes"] + entry["v_bytes"]) / MIB) for entry in values["kv"]]
        figures += [Figure("caches", len(record["caches"]), len(found))]
        for index, (printed, ours) in enumerate(zip(record["caches"], found, strict=False), 1):
            names = (f"cells of cache {index}", f"layers of cache {index}", f"MiB of cache {index}")
            figures += [Figure(name, one, other) for name, one, other in zip(names, printed, ours, strict=True)]
    if "state" in record:
        figures += [Figure("recurrent MiB", record["state"], values["recurrent_bytes"] / MIB)]
    return Comparison(record["name"], record["source"], _BUILD, tuple(figures))


Reader = Literal["hf_config", "gguf"]


def row_comparison(row: Mapping[str, Any], reader: Reader) -> Comparison | None:
    """A start of a real llama-server, read from the model's config.json or its GGUF metadata; None where the row has no config.json.

    Where the server refuses, agreement is to refuse too.
    """
    name, source = f"{row['id']} {' '.join(row['args'])}", "llama-server b11434 on a CPU"
    if row[reader] is None:
        return None
    try:
        shape = read_gguf_shape(row["gguf"]) if reader == "gguf" else read_shape(row["hf_config"])
        asked = job(shape, " ".join(row["args"]), node=_CPU, context=1024)
        ENGINE.check(asked)
    except InputError as refusal:
        return Comparison(name, source, _BUILD, (), refused=str(refusal) if row["loaded"] else "")
    if not row["loaded"]:
        return Comparison(name, source, _BUILD, (), refused="The server refuses this, and the plan does not.")
    return Comparison(name, source, _BUILD, tuple(_row_figures(row, dict(ENGINE.expect(asked, 1).values))))


def _row_figures(row: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Figure]:
    yield Figure("caches", len(row["kv_caches"]), len(values["kv"]))
    for index, (printed, ours) in enumerate(zip(row["kv_caches"], values["kv"], strict=False), 1):
        yield Figure(f"cells of cache {index}", printed["cells"], ours["cells"])
        yield Figure(f"layers of cache {index}", printed["layers"], ours["layers"])
        yield Figure(f"keys of cache {index}", printed["k_mib"], ours["k_bytes"] / MIB, _ROW_PRINTED)
        yield Figure(f"values of cache {index}", printed["v_mib"], ours["v_bytes"] / MIB, _ROW_PRINTED)
    yield Figure("recurrent MiB", sum(entry["mib"] for entry in row["rs"]), values["recurrent_bytes"] / MIB, _ROW_PRINTED)
    yield Figure("output MiB", sum(entry["mib"] for entry in row["output_buffers"]), values["output_bytes"] / MIB, _ROW_PRINTED)
    yield Figure("n_ctx", row["ctx"]["n_ctx"], values["n_ctx"])
    for key in ("n_slots", "n_ctx_slot", "kv_unified"):
        yield Figure(key, row["slots"][key], values[key])
