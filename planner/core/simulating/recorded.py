"""Requests as a real server or application recorded them, to be sent again: when, how long, and how much was in the cache."""

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from planner.core.errors import InputError
from planner.core.simulation.sequence import Sequence
from planner.core.simulation.traffic import Replay

MAX_REQUESTS: Final = 200_000
MAX_LINE: Final = 65_536
_MAX_TOKENS: Final = 10_000_000

# llama.cpp b9247 to b11549: minutes, seconds, milliseconds and microseconds since the start; then the slot's header.
_SLOT_LINE: Final = re.compile(
    r"(?:(\d{1,9})\.(\d\d)\.(\d{3})\.(\d{3})\s+)?(?:[IWED]\s+)?slot\s+[\w()]+:\s+id\s+\d+\s\|\stask\s(\d+)\s\|\s(.*)"
)
_EVALUATED: Final = re.compile(r"\s*(prompt )?eval time =\s+[\d.]+ ms /\s+(\d+) tokens")
_RELEASED: Final = re.compile(r"stop processing: n_tokens = (\d+)")
_COLUMNS: Final = ("time", "prompt_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request: seconds from the first one, tokens of prompt and answer, and how many of the prompt's were in the cache."""

    at_s: float
    prompt: int
    output: int
    cached: int = 0


def replay_of(requests: Iterable[Recorded]) -> Replay:
    """The requests as a source, all of them unsent. Each is a conversation of its own: what was cached is taken as given."""
    return Replay(
        Sequence(
            arrival_s=request.at_s,
            prompt=request.prompt,
            output=request.output,
            conversation=number,
            # The middle of the token, so that rounding a share of the prompt gives the count again.
            cached_share=(request.cached + 0.5) / request.prompt if request.cached else 0.0,
        )
        for number, request in enumerate(requests)
    )


def read_recorded(lines: Iterable[str]) -> tuple[Recorded, ...]:
    """The requests in a llama-server log with timestamps, or in a CSV or JSON-lines file with time (s), prompt_tokens and output_tokens.

    Raises InputError where there are none, or too many to simulate. In a log a request's time is when it got its slot: that
    it waited before is not printed.
    """
    bounded = (line[:MAX_LINE] for line in lines)
    first = next((line for line in bounded if line.strip()), "")
    whole = chain([first], bounded)
    if first.lstrip().startswith("{") and '"prompt_tokens"' in first:
        found = _from_rows(_json_rows(whole))
    elif all(column in first for column in _COLUMNS):
        found = _from_rows(csv.DictReader(whole))
    else:
        found = _from_llama_log(whole)
    requests = []
    for request in found:
        requests.append(request)
        if len(requests) > MAX_REQUESTS:
            raise InputError(f"More than {MAX_REQUESTS:,} requests are too many to simulate: cut the file.", field="replay")
    if not requests:
        raise InputError(
            "No request with its time and tokens was found: give a llama-server log with timestamps, or a CSV with the columns "
            "time, prompt_tokens and output_tokens.",
            field="replay",
        )
    start = min(request.at_s for request in requests)
    return tuple(Recorded(r.at_s - start, r.prompt, r.output, r.cached) for r in sorted(requests, key=lambda r: r.at_s))


def _json_rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(f"“{line[:60].strip()}” is no JSON object.", field="replay") from None
            yield row if isinstance(row, dict) else {}


def _from_rows(rows: Iterable[dict[str, Any]]) -> Iterator[Recorded]:
    for number, row in enumerate(rows, 1):
        try:
            at_s, prompt, output = float(row["time"]), int(row["prompt_tokens"]), int(row["output_tokens"])
            cached = int(row.get("cached_tokens") or 0)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError(f"Request {number} needs time, prompt_tokens and output_tokens as numbers.", field="replay") from None
        if not (math.isfinite(at_s) and 1 <= prompt <= _MAX_TOKENS and 1 <= output <= _MAX_TOKENS and 0 <= cached <= prompt):
            raise InputError(f"Request {number} has a time or a number of tokens that cannot be.", field="replay")
        yield Recorded(at_s, prompt, output, cached)


@dataclass(slots=True)
class _Task:
    at_s: float
    computed: int = 0
    generated: int = 0


def _from_llama_log(lines: Iterable[str]) -> Iterator[Recorded]:
    """Source of the formats: llama.cpp b11434 tools/server/server-context.cpp (launch_slot_with_task, print_timings, release).

    A slot ends with the prompt and all but the last generated token in it; what was not evaluated of the prompt was in the cache.
    """
    tasks: dict[int, _Task] = {}
    for line in lines:
        found = _SLOT_LINE.search(line)
        if not found:
            continue
        minutes, seconds, millis, micros, number, said = found.groups()
        task = tasks.get(int(number))
        if said.startswith("processing task") and minutes:
            tasks[int(number)] = _Task(int(minutes) * 60 + int(seconds) + int(millis) / 1e3 + int(micros) / 1e6)
        elif task and (evaluated := _EVALUATED.match(said)):
            if evaluated[1]:
                task.computed = int(evaluated[2])
            else:
                task.generated = int(evaluated[2])
        elif task and (released := _RELEASED.match(said)):
            del tasks[int(number)]
            prompt = int(released[1]) - task.generated + 1
            if task.generated and 1 <= task.computed <= prompt <= _MAX_TOKENS:
                yield Recorded(task.at_s, prompt, task.generated, prompt - task.computed)
