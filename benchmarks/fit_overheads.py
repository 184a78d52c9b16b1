"""The coefficients of planner/core/engines/vllm/overheads.py, fitted again: `python -m benchmarks.fit_overheads [cases.jsonl]`.

Each report is a vLLM start-up somebody published; the figures it printed come from the file of cases, the sizes of its model
from that model's config.json. A coefficient is (lowest, median, highest) over the reports in which its term dominates.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

GIB: Final = 2**30
CASES: Final = Path(__file__).resolve().parents[2] / "shared" / "truth" / "cases.jsonl"

Cases = Mapping[str, Mapping[str, Any]]
Bounds = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Report:
    """One figure of one report: `value` reads it (bytes) from the report's numbers, `per` is what it is divided by."""

    case: str
    what: str
    value: Callable[[Mapping[str, Any]], float]
    per: float = 1.0
    minus: float = 0.0

    def coefficient(self, cases: Cases) -> float:
        return self.value(cases[self.case]) / self.per - self.minus


def gib(key: str, index: int | None = None) -> Callable[[Mapping[str, Any]], float]:
    return lambda numbers: (numbers[key] if index is None else numbers[key][index]) * GIB


def peak_over_weights(numbers: Mapping[str, Any]) -> float:
    return (numbers["peak_torch_gib"] - numbers["weights_gib"]) * GIB


def _forward(case: str, what: str, value: Callable[[Mapping[str, Any]], float], *, tokens: int, hidden: int, inner: int) -> Report:
    """Hidden vectors per token beside the feed-forward part's three inner ones, two bytes each."""
    return Report(case, what, value, per=2 * tokens * hidden, minus=3 * inner / hidden)


def light_samplers(cases: Cases) -> list[float]:
    """Bytes per sequence and entry in the two reports whose sampler does not sort, told from the pools they left.

    A054, A055: one server at two shares of a card, so that the card's size and the sum beside the weights follow.
    A084, A085: 256 profiled sequences and 8 of them (27 blocks per request, 16 layers of 3,211,264 B), beside the forward pass of
    Qwen3.8-27B (hidden size 5,120, inner size 17,408, 2,048 tokens).
    """
    quarter, half = cases["A054"], cases["A055"]
    card = (half["kv_available_gib"] - quarter["kv_available_gib"]) / 0.25
    beside = 0.25 * card - quarter["weights_gib"] - quarter["kv_available_gib"]
    blocks = [round(cases[case]["kv_tokens"] * 27 / 32_768) for case in ("A084", "A085")]
    freed = (blocks[1] - blocks[0]) * 16 * 3_211_264
    forward = 2 * 2048 * (3 * 17_408 + bounds(FORWARD, cases)[1] * 5120)
    return [
        (beside - bounds(OUTSIDE_ONE, cases)[1]) * GIB / (256 * 152_064),
        (freed + forward) / (256 * 248_320),
    ]


# Bytes per sequence and vocabulary entry, where the sampler sorts.
SAMPLER: Final = (
    Report("A024", "gpt-oss-20b, 1,024 sequences", gib("activation_gib"), per=1024 * 201_088),
    Report("A025", "gpt-oss-120b, 1,024 sequences", gib("activation_gib"), per=1024 * 201_088),
    Report("A026", "Llama-3.3-70B, 2 GPUs, 1,024 sequences", gib("activation_gib"), per=1024 * 128_256),
    Report("A028", "Llama-3.1-8B, 1,024 sequences", gib("activation_gib"), per=1024 * 128_256),
    Report("A033", "Llama-3-8B, 256 sequences", gib("activation_gib"), per=256 * 128_256),
    Report("A095", "Qwen2.5-7B, 256 sequences", gib("activation_gib"), per=256 * 152_064),
)
FORWARD: Final = (
    _forward("A002", "Llama-3.1-8B, 20,000 tokens", peak_over_weights, tokens=20_000, hidden=4096, inner=14_336),
    _forward("A003", "Llama-3.1-8B, 29,000 tokens", peak_over_weights, tokens=29_000, hidden=4096, inner=14_336),
    _forward("A015", "R1-Distill-Qwen-14B, 2 GPUs, 2,048 tokens", gib("activation_gib"), tokens=2048, hidden=5120, inner=13_824 // 2),
)
# Bytes per token.
COMPRESSED: Final = (
    Report("A099", "DeepSeek-V4-Flash, 8,224 tokens", gib("activation_gib_8224"), per=8224),
    Report("A099", "DeepSeek-V4-Flash, 2,048 tokens", gib("activation_gib_2048"), per=2048),
)
# GiB.
ENCODER: Final = (
    Report("A082", "Qwen3.8-27B, 2 GPUs", gib("activation_gib"), per=GIB),
    Report("A043", "Qwen2.5-VL-72B, 4 GPUs", gib("activation_gib"), per=GIB),
)
# A026 and A028 printed less than nothing, which only says that the measurement was disturbed.
GRAPHS: Final = (
    Report("A024", "gpt-oss-20b", gib("cudagraph_gib"), per=GIB),
    Report("A025", "gpt-oss-120b", gib("cudagraph_gib"), per=GIB),
    Report("A054", "Qwen2-7B, A100", gib("cuda_graph_gib"), per=GIB),
    Report("A082", "Qwen3.8-27B, RTX 5090", gib("cudagraph_gib"), per=GIB),
    Report(
        "A076",
        "Qwen3.6-27B, RTX 3090",
        lambda n: (n["util_requested"] - n["util_equivalent_without_graph_profiling"]) * 23.6 * GIB,
        per=GIB,
    ),
)
# A033 and A034 belong to a release that counted the CUDA context as well.
OUTSIDE_ONE: Final = tuple(
    Report(case, "one GPU", gib("non_torch_gib"), per=GIB) for case in ("A002", "A003", "A024", "A025", "A028", "A095")
)
OUTSIDE_MANY: Final = (
    Report("A015", "2 GPUs", gib("non_torch_gib"), per=GIB),
    Report("A026", "2 GPUs", gib("non_torch_gib"), per=GIB),
    *(Report("A043", f"4 GPUs, rank {rank}", gib("non_torch_gib", rank), per=GIB) for rank in range(3)),
)


def read_cases(path: Path) -> Cases:
    with path.open() as file:
        return {case["id"]: case["numbers"] for case in map(json.loads, file)}


def bounds(reports: Iterable[Report], cases: Cases) -> Bounds:
    found = [report.coefficient(cases) for report in reports]
    return min(found), median(found), max(found)


def fits(cases: Cases) -> dict[str, Bounds]:
    """(lowest, middle, highest) by the constant's name in overheads.py: the median, but for the sampler, whose reports fall into
    two heaps, the middle between them."""
    lightest, heaviest = min(light_samplers(cases)), bounds(SAMPLER, cases)[2]
    return {
        "SAMPLER": (lightest, (lightest + heaviest) / 2, heaviest),
        "FORWARD": bounds(FORWARD, cases),
        "COMPRESSED_FORWARD": bounds(COMPRESSED, cases),
        "ENCODER": bounds(ENCODER, cases),
        "GRAPHS": bounds(GRAPHS, cases),
        "OUTSIDE_ONE": bounds(OUTSIDE_ONE, cases),
        "OUTSIDE_MANY": bounds(OUTSIDE_MANY, cases),
    }


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else CASES
    if not path.exists():
        sys.exit(f"{path} is not there: give the file of cases as the argument.")
    cases = read_cases(path)
    for reports in (SAMPLER, FORWARD, COMPRESSED, ENCODER, GRAPHS, OUTSIDE_ONE, OUTSIDE_MANY):
        for report in reports:
            print(f"  {report.case}  {report.what:<45} {report.coefficient(cases):>12,.2f}")
    for case, coefficient in zip(("A054", "A084"), light_samplers(cases), strict=True):
        print(f"  {case}  {'sampler without sorting, from the pool':<45} {coefficient:>12,.2f}")
    print(f"{'constant':<22}{'lowest':>12}{'middle':>12}{'highest':>12}")
    for name, (low, middle, high) in fits(cases).items():
        print(f"{name:<22}{low:>12,.2f}{middle:>12,.2f}{high:>12,.2f}")


if __name__ == "__main__":
    main()
