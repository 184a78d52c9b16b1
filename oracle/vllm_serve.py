"""vLLM's CPU build: which models and arguments are tried, and its start-up log and metrics against what Slotwise expects.

The plan is one for a GPU, since Slotwise plans vLLM for GPUs only. What the CPU backend does otherwise is said on the command line, so
that both compute with the same: a known pool instead of a profiled one, no overlap of scheduling, blocks that its kernels take.
"""

import json
import os
import re
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from oracle.asking import ask, last_words, nearest, told
from oracle.checks import Run
from oracle.plans import Start, vllm_start
from oracle.server import Server, free_port, serving
from planner.core.engines.contract import Expectation
from planner.core.errors import InputError

CONFIGS: Final = Path(__file__).with_name("tiny_configs.json")
WRITER: Final = Path(__file__).with_name("write_checkpoint.py")
# Compiling would take minutes and changes no figure.
_ON_A_CPU: Final = "--no-async-scheduling --enforce-eager --kv-cache-memory-bytes 64M"
# The CPU's attention takes blocks of a multiple of 32; its latent attention takes 16, vLLM's default.
_BLOCKS: Final[Mapping[str, str]] = {"deepseek_v2": ""}
# With AVX512-BF16 the CPU backend keeps recurrent states in float32, whatever the model asks for.
_STATES: Final[Mapping[str, str]] = {"qwen3_next": "--mamba-ssm-cache-dtype float32", "granitemoehybrid": "--mamba-ssm-cache-dtype float32"}
ARGUMENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "4 slots": {"context": 2048, "slots": 4},
    "long context, small batch": {"context": 8000, "slots": 2, "engine_args": "--max-num-batched-tokens 512"},
}
START_SECONDS: Final = 400
_BLOCK_METRIC: Final = re.compile(r'vllm:cache_config_info\{.*?\bblock_size="(\d+)".*?\bnum_gpu_blocks="(\d+)"')


@dataclass(frozen=True, slots=True)
class Environment:
    """The Python that has vLLM, and a folder for models, logs and vLLM's own files."""

    python: Path
    folder: Path

    def variables(self) -> dict[str, str]:
        """No hub, no usage report, nothing written outside the folder."""
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        home = {"HOME": str(self.folder), "HF_HOME": str(self.folder / "hub"), "VLLM_CACHE_ROOT": str(self.folder / "cache")}
        return {"PATH": path, **home, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


def runs(environment: Environment, models: Collection[str]) -> Iterator[Run]:
    """Every set of arguments on each of `models` that is in tiny_configs.json, or on all of them where none are named."""
    for model, small in json.loads(CONFIGS.read_text()).items():
        if models and model not in models:
            continue
        path = _checkpoint(environment, model, small)
        config = json.loads((path / "config.json").read_text())
        for label, asked in ARGUMENTS.items():
            run = Run("vLLM", model, label)
            port = free_port()
            words = " ".join((asked.get("engine_args", ""), _ON_A_CPU, _BLOCKS.get(model, "--block-size 32"), _STATES.get(model, "")))
            try:
                start = vllm_start(path, config, {**asked, "engine_args": words}, port=port)
            except InputError as refusal:
                run.refused = str(refusal)
            else:
                _try(run, environment, start, port=port)
            yield run


def _checkpoint(environment: Environment, model: str, config: Mapping[str, Any]) -> Path:
    path = environment.folder / "models" / model
    if not path.exists():
        command = [str(environment.python), str(WRITER), str(path)]
        variables = environment.variables()
        subprocess.run(command, check=True, input=json.dumps(config).encode(), env=variables, capture_output=True, timeout=300)  # noqa: S603
    return path


def _try(run: Run, environment: Environment, start: Start, *, port: int) -> None:
    log = environment.folder / f"{run.model}, {run.arguments}.log"
    command = [str(environment.python.parent / "vllm"), *start.command[1:]]
    with serving(command, environment.variables(), port=port, log=log) as server:
        healthy = server.wait_until_healthy(START_SECONDS)
        run.expect("starts", "the process", passed=server.process.poll() is None, detail=last_words(server.lines()))
        if run.expect("health", "/health", passed=healthy, detail="no answer"):
            ask(run, server)
            _values(run, server, start.expect)
    # What it printed before it ended is held against the plan even where it did not start.
    _lines(run, server.lines(), start.expect)


def _lines(run: Run, lines: list[str], expect: Expectation) -> None:
    for each in expect.lines:
        # vLLM names the kind of device here.
        wanted = each.line.replace("GPU KV cache size", "CPU KV cache size")
        run.expect("lines", wanted, passed=any(line.endswith(wanted) for line in lines), detail=f"printed: {nearest(lines, wanted)}")


def _values(run: Run, server: Server, expect: Expectation) -> None:
    match = _BLOCK_METRIC.search(str(told(server, "/metrics")))
    printed = (int(match[1]), int(match[2])) if match else None
    wanted = (expect.values["block_size"], expect.values["num_blocks"])
    run.expect("values", "block_size, num_blocks", passed=wanted == printed, detail=f"{wanted} expected, {printed} in /metrics")
