"""Requests as a real server or application recorded them, to be sent again: when, how long, and how much was in the cache."""

import csv
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from planner.core.errors import InputError
from planner.core.logs.reading import read
from planner.core.logs.record import Task
from planner.core.simulation.sequence import Sequence
from planner.core.simulation.traffic import Replay

MAX_REQUESTS: Final = 200_000
MAX_LINE: Final = 65_536
_MAX_TOKENS: Final = 10_000_000
# Spreadsheets begin their CSV files with it.
_BYTE_ORDER_MARK: Final = "\ufeff"
_LONGEST_S: Final = 366 * 86_400.0

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
    """The requests in a llama-server or Ollama log with timestamps, or in a CSV or JSON-lines file with time (s), prompt_tokens and output_tokens.

    Raises InputError where there are none, or too many to simulate. In a log a request's time is when it got its slot: that
    it waited before is not printed.
    """
    bounded = (line[:MAX_LINE] for line in lines)
    first = next((line for line in bounded if line.strip()), "").removeprefix(_BYTE_ORDER_MARK)
    whole = chain([first], bounded)
    if first.lstrip().startswith("{") and '"prompt_tokens"' in first:
        found = _from_rows(_json_rows(whole))
    elif all(column in first for column in _COLUMNS):
        found = _from_rows(csv.DictReader(whole, delimiter=";" if ";" in first else ","))
    else:
        found = _from_log(whole)
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
    if not max(request.at_s for request in requests) - start <= _LONGEST_S:
        raise InputError(
            "The first and the last request are more than a year apart: cut the file, or give the times in seconds.", field="replay"
        )
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


def _from_log(lines: Iterable[str]) -> Iterator[Recorded]:
    """Requests that were answered; none where no line is of an engine known here."""
    try:
        for item in read(line.encode() for line in lines):
            if isinstance(item, Task) and item.ending == "finished" and item.launched_s is not None:
                prompt, output, cached = item.prompt_tokens or 0, item.output_tokens or 0, item.cached_tokens or 0
                if output and 1 <= prompt <= _MAX_TOKENS and 0 <= cached < prompt:
                    yield Recorded(item.launched_s, prompt, output, cached)
    except InputError as problem:
        # Where the lines come from has its own refusals; that nothing is known in them is said of any file.
        if problem.field is not None:
            raise
