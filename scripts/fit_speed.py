"""Fits the ranges of planner/core/speed.py to tests/truth/speed_reports.csv and prints them as that module has them.

    python scripts/fit_speed.py            the ranges, and every report with the share of the roofline it reaches
    python scripts/fit_speed.py --check    only whether the module has these ranges (exit status 1 if not)

Beside the repository, a folder shared/truth with cases.jsonl is compared too: every measured case must be a report here, or
stand in LEFT_OUT with the reason.
"""

import csv
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from planner.core import catalog, speed  # noqa: E402 - the repository is not installed
from planner.core.attention.stores import TokenStore  # noqa: E402
from planner.core.hardware import Node  # noqa: E402
from planner.core.model_shape import FeedForward, Layer, ModelShape  # noqa: E402
from planner.core.weights import Weights  # noqa: E402

# Single streams only. D003, D006, D008 and D009 print a time to first token as well, but 512 tokens in 52 ms are more than an
# RTX 3090 computes at its peak: those prompts were cached, so they say nothing about prefill.
REPORTS = ROOT / "tests/truth/speed_reports.csv"
CASES = ROOT.parent / "shared/truth/cases.jsonl"
ENOUGH, DEVICES = 4, 2

# Measured cases that say nothing about a single stream of a known model on a known device.
LEFT_OUT = {
    "D013": "the weight format is not stated",
    "D017": "the hardware is not stated",
    "D021": "neither model nor hardware is stated",
    "D023": "speculative decoding and several clients with long prompts",
    "D024": "another engine (SGLang), no rates",
    "D025": "offline throughput of many requests",
    "D027": "no rate",
    "D028": "the device is not stated",
    "D030": "the device (Apple M2) is not in the catalogue",
    "D031": "no rate",
    "D032": "speculative decoding",
    "D033": "another engine (TabbyAPI)",
    "D034": "speculative decoding, several clients",
}


@dataclass(frozen=True, slots=True)
class Report:
    """A row of the file: single-stream rates in tokens/s (None: not reported) of a model on devices.

    `read_bytes` are read per token; `attention_width` is layers × heads × (key + value dimension).
    """

    id: str
    engine: str
    node: Node
    tensor_parallel: int
    weights: Weights
    shape: ModelShape
    active_parameters: float
    cache_bytes: int
    decode_rate: float | None
    prompt_tokens: int
    prefill_rate: float | None

    @property
    def decode_floor(self) -> float:
        """Seconds that reading alone takes."""
        rate = speed.bandwidth(self.node, self.tensor_parallel)
        if rate is None:
            raise ValueError(f"{self.id}: the catalogue has no bandwidth for its device.")
        return speed.step_floor_seconds(batch=1, weights=self.weights, cache_bytes_at_context=self.cache_bytes, bytes_per_s=rate)

    @property
    def arithmetic(self) -> tuple[float, str] | None:
        return speed.dense_rate(self.node.device, engine=self.engine, weight_format=self.weights.format)

    @property
    def device_class(self) -> str:
        return speed.device_class(self.node.device)

    @property
    def density(self) -> str:
        return speed.density(self.weights)

    def decode_shares(self, rate: float) -> tuple[float, float]:
        """The lowest share that explains `rate` with the most overhead, and the highest with the least."""
        least, most = speed.OVERHEAD_SECONDS
        step = 1 / rate
        high = self.decode_floor / (step - least)
        return (self.decode_floor / (step - most) if step > most else high), high

    def prefill_share(self, rate: float, peak: float) -> float:
        """The share of `peak` operations/s that reading the prompt at `rate` takes."""
        flops = speed.flops_per_token(self.shape, active_parameters=self.active_parameters, prompt_tokens=self.prompt_tokens)
        return flops * rate / peak / self.tensor_parallel


def read_reports() -> list[Report]:
    with REPORTS.open(newline="") as file:
        return [_report(row) for row in csv.DictReader(file)]


def _report(row: Mapping[str, str]) -> Report:
    number = {name: float(row[name] or 0) for name in row if name not in ("id", "engine", "device", "model", "format", "source")}
    slug, _, count = row["device"].partition(" x")
    size, read = int(number["size_bytes"]), int(number["read_bytes"])
    store = TokenStore("full", heads=1, key_dim=int(number["attention_width"]), value_dim=0)
    return Report(
        id=row["id"],
        engine=row["engine"],
        node=Node((catalog.device(slug),) * int(count or 1)),
        tensor_parallel=int(number["tensor_parallel"]),
        weights=Weights(size, read, row["format"], "measured", row["source"], size, size),
        shape=ModelShape("", "", (Layer("full", (store,)),), 0, 0, 1, None, "float16", FeedForward(0)),
        active_parameters=number["active_parameters"],
        cache_bytes=int(number["cache_bytes_per_token"] * number["cached_tokens"]),
        decode_rate=number["decode_rate"] or None,
        prompt_tokens=int(number["prompt_tokens"]),
        prefill_rate=number["prefill_rate"] or None,
    )


Sample = tuple[float, float, Report]


def _ranges(samples: Iterable[tuple[str, Sample]]) -> dict[tuple[str, str, str], speed.Share]:
    """One range per engine, kind of model and class of device; per engine, and over all, to stand in for those with few reports."""
    cells: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    for kind, sample in samples:
        report = sample[2]
        engine = speed.family(report.engine)
        for key in ((engine, kind, report.device_class), (engine, kind, ""), ("", kind.split()[0], "")):
            cells[key].append(sample)
    return {key: _range(found) for key, found in sorted(cells.items()) if key[0] == "" or _enough(found)}


def _enough(found: list[Sample]) -> bool:
    return len(found) >= ENOUGH and len({report.node.device.slug for *_, report in found}) >= DEVICES


def _range(found: list[Sample]) -> speed.Share:
    low, _, lowest = min(found, key=lambda sample: sample[0])
    _, high, highest = max(found, key=lambda sample: sample[1])
    return speed.Share(
        math.floor(min(low, high) * 100) / 100, math.ceil(high * 100) / 100, f"{len(found)} reports, {lowest.id} to {highest.id}"
    )


def decode_ranges(reports: Iterable[Report]) -> dict[tuple[str, str, str], speed.Share]:
    return _ranges((r.density, (*r.decode_shares(r.decode_rate), r)) for r in reports if r.decode_rate)


def prefill_ranges(reports: Iterable[Report]) -> dict[tuple[str, str, str], speed.Share]:
    samples = []
    for report in reports:
        if report.prefill_rate and report.arithmetic:
            by_arithmetic = report.density == "dense" and speed.family(report.engine) == "llama"
            kind = f"dense {report.arithmetic[1]}" if by_arithmetic else report.density
            share = report.prefill_share(report.prefill_rate, report.arithmetic[0])
            samples.append((kind, (share, share, report)))
    return _ranges(samples)


def measured_cases() -> dict[str, str]:
    """Ids and sources of the measured cases beside the repository, empty where there are none."""
    if not CASES.exists():
        return {}
    cases = map(json.loads, CASES.read_text().splitlines())
    return {case["id"]: case["source"] for case in cases if case["kind"] == "D"}


def _print(reports: list[Report]) -> None:
    for name, ranges in (("DECODE", decode_ranges(reports)), ("PREFILL", prefill_ranges(reports))):
        print(name)
        for key, share in ranges.items():
            words = ", ".join(f'"{word}"' for word in key)
            print(f'    ({words}): Share({share.low:.2f}, {share.high:.2f}, "{share.reports}"),')
    print("\nreport                 class        decode: t/s    of roofline    prefill: t/s  of roofline")
    for r in reports:
        decode = f"{r.decode_rate:12,.1f} {r.decode_rate * r.decode_floor:11.0%}" if r.decode_rate else " " * 24
        prefill = ""
        if r.prefill_rate and r.arithmetic:
            peak, name = r.arithmetic
            prefill = f"{r.prefill_rate:16,.0f} {r.prefill_share(r.prefill_rate, peak):11.0%} {name}"
        print(f"{r.id:22} {r.device_class:12} {decode}{prefill}")


def main() -> int:
    reports = read_reports()
    if "--check" not in sys.argv[1:]:
        _print(reports)
    missing = measured_cases().keys() - {report.id for report in reports} - LEFT_OUT.keys()
    same = decode_ranges(reports) == speed.DECODE and prefill_ranges(reports) == speed.PREFILL
    if missing:
        print(f"Neither used nor left out with a reason: {', '.join(sorted(missing))}")
    if not same:
        print("The ranges in planner/core/speed.py are not these.")
    return 0 if same and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
