"""How long a log takes to be explained, and how much memory: the whole diagnosis of a dense log, its replays included, beside
reading it alone; and of a log that no server writes, in which hundreds of answers run beside every prompt."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.logs_bench import dense_log

SIZES: Final = (20, 100)

# So many slots, all busy, with a prompt of each second one after another.
_CROWD: Final = 400
_CROWD_MB: Final = 5

# Run in a process of its own; the second time with every allocation counted, which is slow, for the peak without the interpreter.
_DIAGNOSE: Final = """
import json, sys, time, tracemalloc
from planner.core.diagnosing import diagnose
from planner.core.logs.reading import read
from planner.core.logs.record import Task
def chunks(name):
    with open(name, "rb") as log:
        while chunk := log.read(1 << 20):
            yield chunk
if sys.argv[2] == "memory":
    tracemalloc.start()
began = time.process_time()
if sys.argv[2] == "read":
    tasks = sum(isinstance(item, Task) for item in read(chunks(sys.argv[1])))
else:
    tasks = diagnose(read(chunks(sys.argv[1]))).tasks
print(json.dumps([time.process_time() - began, tracemalloc.get_traced_memory()[1] / 2**20, tasks]))
"""


def _measured(path: Path, what: str) -> list[float]:
    result = subprocess.run([sys.executable, "-c", _DIAGNOSE, str(path), what], check=True, capture_output=True, text=True)  # noqa: S603 - ourselves
    values: list[float] = json.loads(result.stdout)
    return values


def figures() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        for size in SIZES:
            dense_log(path, size)
            reading, _, _ = _measured(path, "read")
            seconds, _, tasks = _measured(path, "time")
            _, peak, _ = _measured(path, "memory")
            yield (
                f"{size:,} MB, {tasks:,.0f} requests: reading alone {size / reading:,.0f} MB per second of CPU, reading and diagnosis together "
                f"{size / seconds:,.1f}: {1e6 * (seconds - reading) / tasks:,.0f} µs a request beside reading, replays included; peak {peak:,.1f} MiB beside "
                "the interpreter"
            )
        crowd(path, _CROWD_MB)
        seconds, _, tasks = _measured(path, "time")
        yield (
            f"{_CROWD_MB:,} MB with {_CROWD} answers beside every one of {tasks:,.0f} prompts, as no server writes it: reading and diagnosis "
            f"{_CROWD_MB / seconds:,.1f} MB per second of CPU"
        )


def crowd(path: Path, size_mb: int) -> None:
    """A slot a second is freed and taken again: whoever has it reads for a second, and generates until its turn has come again."""
    with path.open("w") as log:
        log.write("0.00.001.000 I srv  llama_server: initializing ...\n0.00.002.000 I srv    load_model: loading model 'model.gguf'\n")
        log.write(f"0.01.000.000 I srv    load_model: initializing, n_slots = {_CROWD}, n_ctx_slot = 16384, kv_unified = 'false'\n")
        written = number = 0
        while written < size_mb * 1_000_000:
            head, slot = f"{number // 60}.{number % 60:02}.000.000 I ", number % _CROWD
            lines = _ends(head, slot, number - _CROWD) if number >= _CROWD else ""
            lines += f"{head}slot launch_slot_: id {slot:2} | task {number} | processing task, is_child = 0\n"
            written += log.write(lines)
            number += 1


def _ends(head: str, slot: int, task: int) -> str:
    timing = f"{head}slot print_timing: id {slot:2} | task {task} | "
    return (
        f"{timing}prompt eval time = {1_000:10.2f} ms / {9_000:5} tokens (    0.11 ms per token,  9000.00 tokens per second)\n"
        f"{timing}       eval time = {(_CROWD - 1) * 1_000:10.2f} ms / {500:5} tokens (    8.00 ms per token,   125.00 tokens per second)\n"
        f"{head}slot      release: id {slot:2} | task {task} | stop processing: n_tokens = {9_499}, truncated = 0\n"
    )
