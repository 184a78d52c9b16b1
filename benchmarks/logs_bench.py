"""How fast a server's log is read: megabytes per second of CPU and peak memory, beside a streaming regular expression over its lines."""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SIZES: Final = (20, 200, 1000)
YARDSTICK_MB: Final = 200
_MB: Final = 1_000_000

# Run in a process of its own, so that its CPU seconds and its peak memory are its own.
_READ: Final = """
import json, resource, sys, time
from planner.core.logs.reading import read
from planner.core.logs.record import Task
def chunks(name):
    with open(name, "rb") as log:
        while chunk := log.read(1 << 20):
            yield chunk
began = time.process_time()
reading = read(chunks(sys.argv[1]))
tasks = sum(1 for item in reading if isinstance(item, Task))
spent = time.process_time() - began
print(json.dumps([spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, tasks, reading.counts.lines, reading.counts.other_lines]))
"""
_POLARS: Final = r"""
import json, resource, sys, time
import polars as pl
began = time.process_time()
lines = pl.scan_csv(sys.argv[1], has_header=False, new_columns=["line"], separator="\x01", quote_char=None, infer_schema=False)
pattern = (
    r"^(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) I slot .{12}: id +(\d+) \| task (\d+) \| (?:n_gen = +(\d+), tg|prompt processing, n_tokens = +(\d+)"
    r"|prompt eval time = +([\d.]+) ms / +(\d+)| +eval time = +([\d.]+) ms / +(\d+)|processing task|stop processing: n_tokens = (\d+))"
)
found = lines.select(pl.col("line").str.extract_groups(pattern).alias("found")).filter(pl.col("found").struct.field("1").is_not_null())
rows = found.select(pl.len()).collect(engine="streaming").item()
print(json.dumps([time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, rows]))
"""
# One such line follows each of the others.
_UNWANTED: Final = (
    "srv  update_slots: all slots are idle, which is not wanted here\n",
    "srv  params_from_: Chat format: Content-only, which every request to the chat address says\n",
    "que    start_loop: waiting for new tasks, as the debug level says between two passes of the server\n",
    "llama_context: graph of 2186 nodes and 2 splits was reserved again for 512 tokens in 8 sequences\n",
)


def dense_log(path: Path, size_mb: int) -> None:
    """A busy server's log: every second line is one of a slot, as at default verbosity, the others say nothing that is wanted."""
    with path.open("wb") as log:
        log.write(b"0.00.001.000 I srv  llama_server: initializing ...\n0.00.002.000 I srv    load_model: loading model 'model.gguf'\n")
        log.write(b"0.01.000.000 I srv    load_model: initializing, n_slots = 8, n_ctx_slot = 16384, kv_unified = 'false'\n")
        for round_of_lines in _rounds(random.Random(1)):  # noqa: S311 - no secret
            unwanted = (_stamp(line) + _UNWANTED[number % len(_UNWANTED)] for number, line in enumerate(round_of_lines))
            log.write("".join(line for pair in zip(round_of_lines, unwanted, strict=True) for line in pair).encode())
            if log.tell() >= size_mb * _MB:
                return


def _stamp(line: str) -> str:
    return line[: line.index("I ") + 2]


def _rounds(dice: random.Random) -> Iterator[list[str]]:
    """Eight slots, each with one request after another: every three seconds each of them says something."""
    now_us, number = 2_000_000, 0
    left, generated, tasks = [0] * 8, [0] * 8, [0] * 8
    while True:
        lines: list[str] = []
        now_us += 3_000_000
        for slot in range(8):
            now_us += dice.randrange(900)
            head = f"{now_us // 60_000_000}.{now_us // 1_000_000 % 60:02}.{now_us // 1000 % 1000:03}.{now_us % 1000:03} I "
            timing = f"{head}slot print_timing: id {slot:2} | task {tasks[slot]} | "
            if left[slot] == 0:
                if tasks[slot]:
                    lines += _end(head, timing, slot, tasks[slot], generated[slot])
                number += dice.randrange(1, 400)
                tasks[slot], left[slot], generated[slot] = number, dice.randrange(4, 16), 0
                lines.append(f"{head}slot get_availabl: id {slot:2} | task -1 | selected slot by LRU, t_last = {now_us}\n")
                lines.append(f"{head}slot launch_slot_: id {slot:2} | task {number} | processing task, is_child = 0\n")
            elif generated[slot] == 0 and dice.random() < 0.5:
                lines.append(
                    f"{timing}prompt processing, n_tokens = {2048:6}, progress = 0.41, t = {6.21:6.2f} s / 329.79 tokens per second\n"
                )
            else:
                generated[slot] += dice.randrange(60, 140)
                lines.append(f"{timing}n_gen = {generated[slot]:6}, tg = {33.65:6.2f} t/s, tg_3s = {33.98:6.2f} t/s\n")
            left[slot] -= 1
        yield lines


def _end(head: str, timing: str, slot: int, task: int, tokens: int) -> list[str]:
    return [
        f"{timing}prompt eval time = {12_226.28:10.2f} ms / {4000:5} tokens ({3.06:8.2f} ms per token, {327.16:8.2f} tokens per second)\n",
        f"{timing}       eval time = {13_322.58:10.2f} ms / {tokens:5} tokens ({27.92:8.2f} ms per token, {35.82:8.2f} tokens per second)\n",
        f"{timing}      total time = {25_548.86:10.2f} ms / {4000 + tokens:5} tokens\n",
        f"{timing}   graphs reused = {tokens:10}\n",
        f"{head}slot      release: id {slot:2} | task {task} | stop processing: n_tokens = {3999 + tokens}, truncated = 0\n",
    ]


def _measured(program: str, path: Path, *, python: str = sys.executable) -> list[float]:
    result = subprocess.run([python, "-c", program, str(path)], check=True, capture_output=True, text=True)  # noqa: S603 - ourselves
    values: list[float] = json.loads(result.stdout)
    return values


def figures() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        for size in SIZES:
            dense_log(path, size)
            seconds, peak, tasks, lines, _ = _measured(_READ, path)
            yield f"{size:,} MB, {lines:,.0f} lines, {tasks:,.0f} requests: reading alone {size / seconds:,.0f} MB per second of CPU, peak memory {peak:,.0f} MiB"
            if size == YARDSTICK_MB:
                yield _yardstick(path, size)


def _yardstick(path: Path, size: int) -> str:
    """polars has an environment of its own, as nothing of Slotwise needs it: POLARS_PYTHON names its interpreter."""
    python = os.environ.get("POLARS_PYTHON", sys.executable)
    try:
        seconds, peak, rows = _measured(_POLARS, path, python=python)
    except (OSError, subprocess.CalledProcessError):
        return "no yardstick: polars is not here (pip install polars into an environment, and POLARS_PYTHON=its/bin/python)"
    return (
        f"the same, one pattern extracted by polars' streaming engine, nothing put in order: {rows:,.0f} lines, {size / seconds:,.0f} MB per second "
        f"of CPU, peak memory {peak:,.0f} MiB"
    )
