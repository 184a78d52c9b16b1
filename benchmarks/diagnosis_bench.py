"""How long a log takes to be explained, and how much memory: the whole diagnosis of a dense log, its replays included."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.logs_bench import dense_log

SIZES: Final = (10, 50)

# Run in a process of its own; the second time with every allocation counted, which is slow, for the peak without the interpreter.
_DIAGNOSE: Final = """
import json, sys, time, tracemalloc
from planner.core.diagnosing import diagnose
from planner.core.logs.reading import read
def chunks(name):
    with open(name, "rb") as log:
        while chunk := log.read(1 << 20):
            yield chunk
if sys.argv[2] == "memory":
    tracemalloc.start()
began = time.process_time()
found = diagnose(read(chunks(sys.argv[1])))
print(json.dumps([time.process_time() - began, tracemalloc.get_traced_memory()[1] / 2**20, found.tasks]))
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
            seconds, _, tasks = _measured(path, "time")
            _, peak, _ = _measured(path, "memory")
            yield (
                f"{size:,} MB, {tasks:,.0f} requests: {size / seconds:,.0f} MB per second of CPU, {1e6 * seconds / tasks:,.0f} µs a request, "
                f"peak {peak:,.1f} MiB beside the interpreter"
            )
