"""Bytes of the weights: measured file sizes first, tensor headers next, a parameter formula last and marked."""

from dataclasses import dataclass

from planner.core.plan import Grade


@dataclass(frozen=True, slots=True)
class WeightLine:
    """A part of the weights that is loaded as one: the model, a projector, a draft model."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Weights:
    """`size_bytes` over all devices; `active_bytes` are read per decoded token (mixture of experts reads a part).

    `low_bytes` and `high_bytes` bound an estimate and equal `size_bytes` otherwise. `format` is the weight format's name.
    """

    size_bytes: int
    active_bytes: int
    format: str
    grade: Grade
    source: str
    low_bytes: int
    high_bytes: int
    lines: tuple[WeightLine, ...] = ()
