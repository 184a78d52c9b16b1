"""A snapshot of a server's /metrics page: counters, gauges and histograms of vLLM and llama-server as typed figures.

Source of the format: Prometheus text exposition format 0.0.4. Of the names: vLLM 0.32 vllm/v1/metrics/loggers.py (older names
beside them), llama.cpp b11434 tools/server/server-context.cpp.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from planner.core.errors import InputError

MAX_LINES: Final = 200_000
MAX_LINE: Final = 65_536
_MAX_NAMES: Final = 10_000
_MAX_LABELS: Final = 100
_MAX_BUCKETS: Final = 500

_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]{0,200}")
_LABEL: Final = re.compile(r'\s{0,4}([A-Za-z_]\w{0,100})\s{0,4}=\s{0,4}"((?:[^"\\]|\\.){0,4000})"\s{0,4},?')
_VALUE: Final = re.compile(r"\}?\s{1,4}([+-]?[\w.+-]{1,40})(?:\s{1,4}-?\d{1,20})?\s{0,40}")

# Counters of which the parts matter, and the label that tells them apart.
_PARTED: Final = {
    "vllm:request_success_total": "finished_reason",
    "vllm:admission_rejections_total": "reason",
    "vllm:num_requests_waiting_by_reason": "reason",
    "vllm:prompt_tokens_by_source_total": "source",
}
# What several engines report is added up, but not shares.
_SHARES: Final = ("_perc", "_ratio", "_per_decode")
_CONFIGURATION: Final = "vllm:cache_config_info"
# Labels of the configuration by the names that a log's facts have.
_FACTS: Final = {
    "block_size": "block_size", "num_gpu_blocks": "num_blocks", "kv_cache_size_tokens": "kv_cache_tokens",
    "kv_cache_max_concurrency": "max_concurrency", "gpu_memory_utilization": "gpu_memory_utilization",
    "enable_prefix_caching": "enable_prefix_caching", "cache_dtype": "kv_cache_dtype",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Histogram:
    """`steps` are bounds with the number of values up to each, the last of them infinite; `total` adds the values up."""

    steps: tuple[tuple[float, float], ...]
    total: float | None = None

    @property
    def count(self) -> int:
        return int(self.steps[-1][1])

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.total is not None and self.count else None

    def between(self, share: float) -> tuple[float, float | None] | None:
        """The bounds between which the quantile surely lies, the upper one None where there is none; None without values."""
        if not self.count:
            return None
        low = 0.0
        for top, below in self.steps:
            if below >= share * self.count and below > 0:
                return low, top if math.isfinite(top) else None
            low = top
        return None

    def quantile(self, share: float) -> float | None:
        """The quantile as Prometheus estimates it, straight between the bounds; the lower bound where there is no upper one."""
        bounds = self.between(share)
        if bounds is None:
            return None
        low, high = bounds
        if high is None:
            return low
        before = max((below for top, below in self.steps if top <= low), default=0.0)
        inside = next(below for top, below in self.steps if top == high) - before
        return low + (high - low) * min(1.0, max(0.0, (share * self.count - before) / inside))

    def above(self, bound: float) -> int:
        """How many values lie in buckets that begin at or above `bound`."""
        below = next(count for top, count in self.steps if top >= bound)
        return self.count - int(below)


@dataclass(frozen=True, slots=True)
class Metrics:
    """`values` by name, added up over labels; `parts` of those whose label matters; histograms by name without suffix.

    `configuration` are the labels of vLLM's cache_config_info. `skipped` lines were no metric.
    """

    values: Mapping[str, float]
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=dict)
    skipped: int = 0

    def first(self, *names: str) -> float | None:
        """The first of these that was there."""
        return next((self.values[name] for name in names if name in self.values), None)

    def count(self, *names: str) -> int | None:
        value = self.first(*names)
        return None if value is None else int(value)

    @property
    def engine(self) -> str:
        """vllm, llama-server or nothing known."""
        engines = {"vllm:": "vllm", "llamacpp:": "llama-server"}
        return next((engine for start, engine in engines.items() for name in self.values if name.startswith(start)), "")

    @property
    def preemptions(self) -> int | None:
        return self.count("vllm:num_preemptions_total", "vllm:num_preemptions")

    @property
    def running(self) -> int | None:
        return self.count("vllm:num_requests_running", "llamacpp:requests_processing")

    @property
    def waiting(self) -> int | None:
        """Requests without a slot. llama-server counts those only that its loop has seen: not who came during the running pass."""
        return self.count("vllm:num_requests_waiting", "llamacpp:requests_deferred")

    @property
    def finished(self) -> int | None:
        return self.count("vllm:request_success_total")

    @property
    def rejections(self) -> int | None:
        return self.count("vllm:admission_rejections_total")

    @property
    def prompt_tokens(self) -> int | None:
        return self.count("vllm:prompt_tokens_total", "llamacpp:prompt_tokens_total")

    @property
    def output_tokens(self) -> int | None:
        return self.count("vllm:generation_tokens_total", "llamacpp:tokens_predicted_total")

    @property
    def cache_share(self) -> float | None:
        """How full the cache is now, 0 to 1."""
        return self.first("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "llamacpp:kv_cache_usage_ratio")

    @property
    def prefix_hit_share(self) -> float | None:
        """Prompt tokens found in the prefix cache, of all that were looked up."""
        return _ratio(
            self.first("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
            self.first("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
        )

    @property
    def prefill_rate(self) -> float | None:
        """Prompt tokens per second of reading them (llama-server)."""
        return _ratio(self.first("llamacpp:prompt_tokens_total"), self.first("llamacpp:prompt_seconds_total"))

    @property
    def decode_rate(self) -> float | None:
        """Tokens per second of one stream (llama-server)."""
        return _ratio(self.first("llamacpp:tokens_predicted_total"), self.first("llamacpp:tokens_predicted_seconds_total"))

    @property
    def ttft(self) -> Histogram | None:
        return self.histograms.get("vllm:time_to_first_token_seconds")

    @property
    def itl(self) -> Histogram | None:
        """Gaps between tokens; releases before 0.11 call them time per output token."""
        return self.histograms.get("vllm:inter_token_latency_seconds") or self.histograms.get("vllm:time_per_output_token_seconds")

    @property
    def queue_time(self) -> Histogram | None:
        return self.histograms.get("vllm:request_queue_time_seconds")

    @property
    def facts(self) -> dict[str, float | bool | str]:
        """The configuration by the names of a log's start-up facts."""
        return {
            name: _typed(self.configuration[label]) for label, name in _FACTS.items() if self.configuration.get(label, "None") != "None"
        }


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _typed(text: str) -> float | bool | str:
    if text in {"True", "False"}:
        return text == "True"
    number = _number(text)
    if number is None:
        return text[:100]
    return int(number) if number.is_integer() else number


def read_metrics(lines: Iterable[str]) -> Metrics:
    """Raises InputError where there is no metric in them, or far too many lines. What is no number, or below 0, is skipped."""
    values: dict[str, float] = {}
    buckets: dict[str, dict[float, float]] = {}
    parts: dict[str, dict[str, float]] = {}
    configuration: dict[str, str] = {}
    skipped = 0
    for number, line in enumerate(lines):
        if number >= MAX_LINES:
            raise InputError(f"More than {MAX_LINES:,} lines are no snapshot of /metrics: give one scrape.", field="metrics")
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        found = _metric(text)
        if found is None:
            skipped += 1
            continue
        name, labels, value = found
        if name.endswith("_bucket") and "le" in labels:
            _add_bucket(buckets, name.removesuffix("_bucket"), labels["le"], value)
        elif name in values or len(values) < _MAX_NAMES:
            values[name] = max(values.get(name, 0.0), value) if name.endswith(_SHARES) else values.get(name, 0.0) + value
        if (label := _PARTED.get(name)) and label in labels:
            held = parts.setdefault(name, {})
            held[labels[label][:60]] = held.get(labels[label][:60], 0.0) + value
        if name == _CONFIGURATION:
            configuration |= labels
    if not values:
        raise InputError("No metric was found: give what the server answers at /metrics.", field="metrics")
    histograms = {name: Histogram(steps, values.get(f"{name}_sum")) for name, held in buckets.items() if (steps := _steps(held))}
    return Metrics(values, histograms, parts, configuration, skipped)


def _metric(text: str) -> tuple[str, dict[str, str], float] | None:
    """A line's name, labels and value."""
    name = _NAME.match(text)
    if name is None or len(text) > MAX_LINE:
        return None
    end = name.end()
    labels: dict[str, str] = {}
    if text[end : end + 1] == "{":
        end += 1
        while len(labels) < _MAX_LABELS and (label := _LABEL.match(text, end)):
            labels[label[1]] = label[2]
            end = label.end()
    value = _VALUE.fullmatch(text, end)
    number = _number(value[1]) if value else None
    return None if number is None or number < 0 else (name[0], labels, number)


def _number(text: str, *, infinite: bool = False) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) or (infinite and value == math.inf) else None


def _add_bucket(buckets: dict[str, dict[float, float]], name: str, bound: str, value: float) -> None:
    top = _number(bound, infinite=True)
    if top is None or (name not in buckets and len(buckets) >= _MAX_NAMES):
        return
    held = buckets.setdefault(name, {})
    if top in held or len(held) < _MAX_BUCKETS:
        held[top] = held.get(top, 0.0) + value


def _steps(held: dict[float, float]) -> tuple[tuple[float, float], ...]:
    """Nothing where the last bound is not infinite or the counts fall: that is no histogram."""
    steps = tuple(sorted(held.items()))
    falls = any(later < earlier for (_, earlier), (_, later) in pairwise(steps))
    return () if falls or not math.isinf(steps[-1][0]) else steps
