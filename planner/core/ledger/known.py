"""Sizes of what people run beside a language model, with their sources: all estimates, since batch sizes and runtimes differ."""

from dataclasses import dataclass
from typing import Final

from planner.core.units import GIB, MIB

# What a process on a card takes before its weights: the CUDA context and its libraries. Judgement.
_PROCESS: Final = (200 * MIB, 400 * MIB, 800 * MIB)


@dataclass(frozen=True, slots=True)
class Known:
    """Bytes on the card: low, usual, high."""

    title: str
    low: int
    usual: int
    high: int
    source: str


def _weights(title: str, parameters: int, source: str) -> Known:
    """16-bit weights, at most 32-bit ones, and a process around them."""
    low, usual, high = _PROCESS
    why = f"{source}: {parameters:,} parameters × 2 B (× 4 B at most), and 0.2 to 0.8 GiB for its process (judgement)"
    return Known(title, 2 * parameters + low, 2 * parameters + usual, 4 * parameters + high, why)


def _whisper(title: str, disk: float, memory: float) -> Known:
    source = "huggingface.co/ggerganov/whisper.cpp: size of the file, and the memory its card gave for it; a fifth more at most (judgement)"
    return Known(title, round(disk * 1e9), round(memory * 1e9), round(memory * 1.2e9), source)


KNOWN: Final = {
    # The parameters are those of the reranker (Hub card of Symato/bge-reranker-v2-m3__trimm_vocab__bf16); the embedder is the same network.
    "bge-m3": _weights("Embedder bge-m3", 566_705_152, "as bge-reranker-v2-m3"),
    "bge-reranker-v2-m3": _weights("Reranker bge-reranker-v2-m3", 566_705_152, "Hub card of a copy of it"),
    "whisper-small": _whisper("Whisper small", 0.466, 1.0),
    "whisper-medium": _whisper("Whisper medium", 1.5, 2.6),
    "whisper-large-v3": _whisper("Whisper large-v3", 2.9, 4.7),
    "desktop": Known("A desktop", 200 * MIB, 600 * MIB, 3 * GIB // 2, "Judgement: a compositor, a browser, one or two screens"),
}
