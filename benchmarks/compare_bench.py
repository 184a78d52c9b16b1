"""How fast the hardware table is: all of it, a row of it and one whole plan, against kvfit's command for one plan in the same run.

kvfit (PyPI, 0.3.0) is installed into build/bench on the first run. Its command is timed as a process, its start and imports included, with the
Hub's answers at hand; where it cannot be had, the same number of whole plans is the alternative.
"""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from planner.core import catalog
from planner.core.comparing import compare
from planner.core.draft import draft
from planner.core.engines import engines
from planner.core.planning import make_plan
from planner.core.request import read_request
from planner.sources import find_model

ROOT = Path(__file__).resolve().parent.parent
KVFIT = ROOT / "build/bench/kvfit-0.3.0"
MODEL = "Qwen/Qwen3-8B"
ARGUMENTS = (MODEL, "--hardware", "h100-80", "--gpus", "1", "--tp", "1", "--context", "8192", "--kv-dtype", "bf16", "--json")
# What the Hub lists of the checkpoint: its weights as one file.
FILES = {"id": MODEL, "sha": "a" * 40, "siblings": [{"rfilename": "model.safetensors", "size": 16_381_516_816}]}


def _cpu_s(work: Callable[[], Any], *, times: int) -> float:
    """CPU seconds of the fastest of `times`."""
    best = float("inf")
    for _ in range(times):
        gc.collect()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def _kvfit_s(*, times: int) -> tuple[float, float] | None:
    """CPU seconds of kvfit's command and its peak memory in MiB; None where it cannot be installed."""
    if not (KVFIT / "kvfit").is_dir():
        install = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
            "--target",
            str(KVFIT),
            "kvfit==0.3.0",
        ]
        if subprocess.run(install, check=False, capture_output=True).returncode:  # noqa: S603 - ourselves
            return None
    answers = KVFIT.parent / "hub_answers.json"
    answers.write_text(json.dumps({"config": dict(catalog.models()[MODEL].config), "files": FILES}), encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks/kvfit_command.py"), str(KVFIT), str(answers), *ARGUMENTS]
    runs = [_run(command) for _ in range(times)]
    return min(seconds for seconds, _ in runs), max(peak for _, peak in runs)


def _run(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak memory in MiB of one process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
    assert process.stderr is not None  # noqa: S101 - asked for
    with process.stderr as said:
        peak_kib = float(said.read().splitlines()[-1])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, peak_kib / 1024


def figures() -> Iterator[str]:
    request = read_request({"model": MODEL})
    source = find_model(request, None)
    start = time.process_time()
    rows = len(compare(request, source))
    first = time.process_time() - start
    table = _cpu_s(lambda: compare(request, source), times=5)
    yield f"the table, {rows:,} plans: {first:.2f} s of CPU the first time, {table:.2f} s again ({1000 * table / rows:.2f} ms a plan)"
    own = request.model_copy(update={"device": "h100-sxm", "engine": "vllm"})
    one_draft = _cpu_s(lambda: draft(own, source, engines()["vllm"]), times=20)
    whole = _cpu_s(lambda: make_plan(own, source), times=5)
    yield f"one draft {1000 * one_draft:.2f} ms; one whole plan, tried out and with its files, {1000 * whole:.0f} ms"
    yield f"the table takes as long as {table / whole:.0f} whole plans, a plan in it 1/{whole * rows / table:,.0f} of one"
    timed = _kvfit_s(times=5)
    if timed is None:
        yield "kvfit is not to be had here: the whole plan above is the alternative"
        return
    command, peak = timed
    yield f"kvfit 0.3.0's command for one plan: {command:.2f} s of CPU, peak memory {peak:,.0f} MiB"
    yield f"against it: the table {table / command:.1f} times, one whole plan 1/{command / whole:,.1f}, a plan in the table 1/{command * rows / table:,.0f}"
