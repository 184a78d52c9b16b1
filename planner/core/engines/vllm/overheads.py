"""Memory beside weights and cache, estimated from reports: the peak of a profiling pass, CUDA graphs, what PyTorch does not hold.

The coefficients are fitted on public start-up reports by benchmarks/fit_overheads.py, which prints the table behind them.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.core.engines.vllm.serving import Serving
from planner.core.units import GIB, size

SOURCE: Final = "Fit on public start-up reports of vLLM, benchmarks/fit_overheads.py."

# Each is (lowest, middle, highest).
# Bytes per profiled sequence and vocabulary entry. Reports fall into two heaps, samplers that sort (about 39) and those that do
# not (12 and 16); which one runs depends on the release and on FlashInfer, so the middle between them is planned with.
SAMPLER: Final = (11.9, 26.5, 41.2)
# Hidden vectors per token of the pass, beside gate, up and their product in the feed-forward part.
FORWARD: Final = (3.0, 3.07, 5.7)
# Bytes per token of DeepSeek-V4's pass, whose compressors and residual streams the formula does not see.
COMPRESSED_FORWARD: Final = (692_000, 710_000, 729_000)
# GiB of the vision encoder's profiling pass, of CUDA graphs, and of memory outside PyTorch on one GPU and with NCCL's buffers.
ENCODER: Final = (1.59, 2.05, 2.51)
GRAPHS: Final = (0.09, 0.49, 1.03)
OUTSIDE_ONE: Final = (0.03, 0.13, 0.35)
OUTSIDE_MANY: Final = (0.25, 0.38, 0.55)
# The plan keeps room for this many sequences unless a command line says otherwise: vLLM's own default on smaller cards.
ROOM_SEQS: Final = 256


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes on one GPU, the interval the reports lie in, and the reason in numbers."""

    size_bytes: int
    low_bytes: int
    high_bytes: int
    why: str


def _estimate(bounds: tuple[float, float, float], why: str, *, unit: int = 1) -> Estimate:
    low, middle, high = (int(bound * unit) for bound in bounds)
    return Estimate(size_bytes=middle, low_bytes=low, high_bytes=high, why=why)


@lru_cache(maxsize=1024)
def activation(serving: Serving) -> Estimate:
    """The peak of the profiling pass: the larger of the forward pass, the sampler and the vision encoder.

    forward = tokens × (3 × intermediate_size ÷ ranks + 3 × hidden_size) × bytes; sampler = sequences × vocab_size × bytes.
    """
    shape, tokens = serving.shape, serving.max_num_batched_tokens
    seqs = serving.max_num_seqs if serving.seqs_given else max(serving.max_num_seqs, ROOM_SEQS)
    seqs = min(seqs, tokens)
    feed = shape.feed_forward
    experts = feed.experts_per_token * feed.expert_intermediate_size + feed.shared_expert_intermediate_size
    inner = 3 * max(feed.intermediate_size, experts) / serving.tensor_parallel_size + feed.experts_per_token * shape.hidden_size
    parts = []
    for index in range(3):
        per_token = COMPRESSED_FORWARD[index] if serving.compressed else 2 * (inner + FORWARD[index] * shape.hidden_size)
        encoder = ENCODER[index] * GIB if serving.encodes_images else 0.0
        parts.append((tokens * per_token, seqs * shape.vocab_size * SAMPLER[index], encoder))
    forward, sampler, encoder = parts[1]
    why = (
        f"The profiling pass at start: the larger of {tokens:,} tokens through the layers ({size(forward)}) and "
        f"{seqs:,} sequences sampled from {shape.vocab_size:,} entries ({size(sampler)})"
        + (f" and the vision encoder ({size(encoder)})." if encoder else ".")
    )
    return _estimate((max(parts[0]), max(parts[1]), max(parts[2])), why)


@lru_cache(maxsize=1024)
def cuda_graphs(serving: Serving) -> Estimate:
    """Memory of the captured graphs."""
    if not serving.cuda_graphs:
        return _estimate((0, 0, 0), "No CUDA graphs: the server runs eagerly.")
    place = "inside the share" if serving.rules.graphs_inside_budget else "beside the share, in what is left to others"
    return _estimate(GRAPHS, f"CUDA graphs of the decode step, captured at start; in this release they are taken {place}.", unit=GIB)


@lru_cache(maxsize=1024)
def outside_torch(serving: Serving) -> Estimate:
    """Workspaces and communication buffers that PyTorch does not hold."""
    ranks = serving.tensor_parallel_size * serving.pipeline_parallel_size
    if ranks == 1:
        return _estimate(OUTSIDE_ONE, "Libraries' workspaces. The CUDA context itself lies outside the share.", unit=GIB)
    return _estimate(OUTSIDE_MANY, f"Libraries' workspaces and NCCL's buffers for {ranks} GPUs.", unit=GIB)
