"""llama-server: which models and arguments are tried, and its start-up log against what Slotwise expects."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from oracle import tiny_gguf
from oracle.asking import ask, last_words, nearest, told
from oracle.checks import Run
from oracle.install import LlamaBuild
from oracle.plans import Start, llama_server_start
from oracle.server import free_port, serving
from planner.core.engines.contract import Expectation
from planner.core.errors import InputError
from planner.core.units import MIB

# A shape of each kind: grouped and single KV heads, windows (with sinks, chunked, shared), latent, indexed and compressed attention,
# every kind of recurrent state, alone and beside attention.
MODELS: Final = (
    "llama-dense", "qwen3-dense", "gemma3-dense", "gpt-oss-moe", "llama4-moe",
    "deepseek2-moe", "deepseek32-moe", "deepseek4-moe",
    "mamba2-dense", "granitehybrid-dense", "falcon-h1-dense", "lfm2-dense", "qwen35-dense", "kimi-linear-moe",
)  # fmt: skip
# What is asked of Slotwise for each model.
ARGUMENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "3 slots": {"context": 2048, "slots": 3},
    "q8_0 cache": {"context": 2048, "slots": 2, "cache_type": "q8_0"},
    "shared pool": {"engine_args": "-c 4096 -np 4 -kvu"},
    "automatic slots": {"engine_args": "-c 2500 -ub 128"},
    "no flash attention": {"engine_args": "-c 3000 -np 2 -b 256 -fa off"},
    "whole windows": {"engine_args": "-c 4096 -np 2 --swa-full"},
}
# Started from the drop-in's variables instead of the command line.
BY_VARIABLES: Final = frozenset({"q8_0 cache", "automatic slots"})
START_SECONDS: Final = 60

_SLOTS = re.compile(r"initializing, n_slots = (\d+), n_ctx_slot = (\d+), kv_unified = '(true|false)'$")
_CONTEXT = re.compile(r"llama_context: n_ctx +=\s+(\d+)$")
_CACHE = re.compile(
    r"llama_kv_cache: size = +([\d.]+) MiB \( *(\d+) cells, +(\d+) layers, +\d+/(\d+) seqs\), K .*: +([\d.]+) MiB, V .*: +([\d.]+) MiB"
)
_STATE = re.compile(r"llama_memory_recurrent: size = +([\d.]+) MiB")
_OUTPUT = re.compile(r"output buffer size = +([\d.]+) MiB$")
_COMPUTE = re.compile(r"CPU compute buffer size = +([\d.]+) MiB$")


def runs(build: LlamaBuild, folder: Path, models: Collection[str]) -> Iterator[Run]:
    """Every set of arguments on each of `models` that there is, or on all that llama.cpp can make where none are named."""
    for model in tiny_gguf.make(build.generator, folder / "models"):
        if models and model not in models:
            continue
        for label, asked in ARGUMENTS.items():
            run = Run("llama-server", model, label)
            try:
                port = free_port()
                start = llama_server_start(folder / "models" / f"{model}.gguf", asked, port=port)
            except InputError as refusal:
                run.refused = str(refusal)
            else:
                _try(run, build, start, port=port, log=folder / f"{model}, {label}.log")
            yield run


def _try(run: Run, build: LlamaBuild, start: Start, *, port: int, log: Path) -> None:
    by_variables = run.arguments in BY_VARIABLES
    command = [str(build.server), *(() if by_variables else start.command[1:])]
    environment = {"PATH": os.environ["PATH"], "HOME": str(log.parent), **(start.variables if by_variables else {})}
    properties: dict[str, Any] = {}
    with serving(command, environment, port=port, log=log) as server:
        healthy = server.wait_until_healthy(START_SECONDS)
        run.expect("starts", "the process", passed=server.process.poll() is None, detail=last_words(server.lines()))
        if run.expect("health", "/health", passed=healthy, detail="no answer"):
            properties = told(server, "/props") or {}
            ask(run, server)
            run.expect("answers", "still runs", passed=server.process.poll() is None, detail=last_words(server.lines()))
    # Only now has the server's own thread written the whole log.
    if properties:
        _lines(run, server.lines(), start.expect)
        _values(run, server.lines(), start.expect, properties)


def _lines(run: Run, lines: list[str], expect: Expectation) -> None:
    """Each expected line is the whole of a printed one after its prefix; the compute buffer's is a fit on models of usual proportions."""
    for each in expect.lines:
        if "compute buffer size" in each.line:
            continue
        found = any(line.endswith(each.line) for line in lines)
        run.expect("lines", each.line, passed=found, detail=f"printed: {nearest(lines, each.line)}")


def _values(run: Run, lines: list[str], expect: Expectation, properties: Mapping[str, Any]) -> None:
    printed, values = printed_values(lines), expect.values
    for name in ("n_ctx", "n_ctx_slot", "n_slots", "kv_unified"):
        _equal(run, name, values[name], printed[name])
    caches = [(each["cells"], each["layers"], each["streams"], _mib(each["k_bytes"]), _mib(each["v_bytes"])) for each in values["kv"]]
    _equal(run, "kv (cells, layers, streams, K, V)", caches, printed["kv"])
    for name in ("recurrent_bytes", "output_bytes"):
        _equal(run, f"{name} in MiB", _mib(values[name]), printed[name])
    run.compute = f"{_mib(values['compute_bytes'])} / {printed['compute_bytes']}"
    _equal(run, "/props total_slots", values["n_slots"], properties["total_slots"])
    _equal(run, "/props n_ctx", values["n_ctx_slot"], properties["default_generation_settings"]["n_ctx"])


def _equal(run: Run, name: str, expected: object, printed: object) -> None:
    run.expect("values", name, passed=expected == printed, detail=f"{expected} expected, {printed} printed")


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:.2f}"


def printed_values(lines: list[str]) -> dict[str, Any]:
    """The figures of the log under the keys of `expect.values`; sizes as printed, in MiB."""
    slots = next((match for line in lines if (match := _SLOTS.search(line))), None)
    caches = [match for line in lines if (match := _CACHE.search(line))]
    return {
        "n_ctx": next((int(match[1]) for line in lines if (match := _CONTEXT.search(line))), None),
        "n_slots": int(slots[1]) if slots else None,
        "n_ctx_slot": int(slots[2]) if slots else None,
        "kv_unified": slots[3] == "true" if slots else None,
        "kv": [(int(match[2]), int(match[3]), int(match[4]), match[5], match[6]) for match in caches],
        "recurrent_bytes": _first(_STATE, lines),
        "output_bytes": _first(_OUTPUT, lines),
        "compute_bytes": _first(_COMPUTE, lines),
    }


def _first(pattern: re.Pattern[str], lines: list[str]) -> str:
    return next((match[1] for line in lines if (match := pattern.search(line))), "0.00")
