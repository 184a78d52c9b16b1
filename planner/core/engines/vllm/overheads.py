"""Memory beside weights and cache, estimated: the peak of a forward pass, CUDA graphs, and what lies outside PyTorch."""

from dataclasses import dataclass

from planner.core.engines.vllm.serving import Serving
from planner.core.units import GIB


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes on one GPU with the interval the reports lie in."""

    size_bytes: int
    low_bytes: int
    high_bytes: int
    why: str
    source: str


def activation(serving: Serving) -> Estimate:
    size = int(1.2 * GIB * serving.max_num_batched_tokens / 2048)
    return Estimate(size, size, size, "", "")


def cuda_graphs(serving: Serving) -> Estimate:
    size = int(0.3 * GIB) if serving.cuda_graphs else 0
    return Estimate(size, size, size, "", "")
