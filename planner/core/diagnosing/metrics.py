"""A snapshot of a server's /metrics page (Prometheus text): counters and histograms, summed over labels.

Source of the format: Prometheus exposition format 0.0.4; of the names: vLLM 0.32 vllm/v1/metrics/loggers.py, llama.cpp b11434
tools/server/server.cpp.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from planner.core.diagnosing.diagnosis import Spread
from planner.core.errors import InputError

MAX_LINES: Final = 200_000
MAX_LINE: Final = 65_536
_LINE: Final = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(\{[^\n]*\})?\s+(\S+)(?:\s+-?\d+)?\s*")
_BOUND: Final = re.compile(r'[{,]le="([^"]*)"')
_VALUE: Final = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_SHARES: Final = (0.5, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Metrics:
    """`values` by name, summed over labels; `buckets` of histograms: upper bound → values up to it; `labels` of *_info lines."""

    values: Mapping[str, float]
    buckets: Mapping[str, Mapping[float, float]]
    labels: Mapping[str, str] = field(default_factory=dict)

    def count(self, name: str) -> int | None:
        value = self.values.get(name)
        return None if value is None else int(value)

    def spread(self, name: str) -> Spread | None:
        """Quantiles of a histogram, straight inside its buckets; `max` is the bound of the last one that has a value."""
        steps = sorted(self.buckets.get(name, {}).items())
        total = steps[-1][1] if steps else 0.0
        if total < 1:
            return None
        return Spread(int(total), *(_quantile(steps, share * total) for share in (*_SHARES, 1.0)))

    def above(self, name: str, bound: float) -> int:
        """How many values of a histogram lie in buckets that begin at or above `bound`."""
        steps = sorted(self.buckets.get(name, {}).items())
        below = next((count for top, count in steps if top >= bound), steps[-1][1] if steps else 0.0)
        return int(steps[-1][1] - below) if steps else 0


def _quantile(steps: list[tuple[float, float]], rank: float) -> float:
    low, before = 0.0, 0.0
    for top, count in steps:
        if count >= rank:
            if math.isinf(top):
                return low
            if count == before or rank == steps[-1][1]:
                return top
            return low + (top - low) * (rank - before) / (count - before)
        low, before = top, count
    return low


def read_metrics(lines: Iterable[str]) -> Metrics:
    """Raises InputError where there is no metric in them, or far too many."""
    values: dict[str, float] = {}
    buckets: dict[str, dict[float, float]] = {}
    labels: dict[str, str] = {}
    for number, line in enumerate(lines):
        if number >= MAX_LINES:
            raise InputError(f"More than {MAX_LINES:,} lines are no snapshot of /metrics: give one scrape.", field="metrics")
        found = _LINE.fullmatch(line[:MAX_LINE].strip())
        value = _number(found[3]) if found else None
        if found is None or value is None:
            continue
        name = found[1]
        if name.endswith("_bucket"):
            bound = _BOUND.search(found[2] or "")
            top = _number(bound[1], infinite=True) if bound else None
            if top is not None:
                held = buckets.setdefault(name.removesuffix("_bucket"), {})
                held[top] = held.get(top, 0.0) + value
        else:
            values[name] = values.get(name, 0.0) + value
            if name.endswith("_info"):
                labels.update(_VALUE.findall(found[2] or ""))
    if not values and not buckets:
        raise InputError("No metric was found: give what the server answers at /metrics.", field="metrics")
    return Metrics(values, buckets, labels)


def _number(text: str, *, infinite: bool = False) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) or (infinite and value == math.inf) else None
