"""Bytes of the weights: measured file sizes first, tensor headers next, a parameter formula last and marked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.core import units
from planner.core.model_shape import FeedForward, ModelShape
from planner.core.plan import Grade
from planner.core.readers.parameters import ParameterCount
from planner.core.readers.tensor_parts import TensorParts
from planner.core.weight_formats import CHECKPOINT_FORMATS, DEFAULT_GGUF_QUANT, GGUF_FORMATS, Bits, WeightFormat, find_format, weight_format

__all__ = [
    "CHOICES",
    "DEFAULT_GGUF_QUANT",
    "GGUF_FORMATS",
    "WeightLine",
    "Weights",
    "checkpoint_file_weights",
    "checkpoint_format",
    "checkpoint_weights",
    "estimate_weights",
    "measured_weights",
    "routed_bytes",
    "smaller_formats",
    "typed_weights",
    "usual_gguf",
]

# Formats that exist only as GGUF files.
GGUF_ONLY: Final = frozenset(GGUF_FORMATS) - frozenset(CHECKPOINT_FORMATS)
# What a form offers, largest first; any other known name is accepted as well.
CHOICES: Final = (
    "BF16", "FP8", "INT8", "AWQ", "GPTQ", "NVFP4", "MXFP4",
    "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_K_S", "Q4_0", "IQ4_XS", "Q3_K_M", "Q2_K", "UD-Q4_K_XL", "UD-Q2_K_XL",
)  # fmt: skip
# The step down to try when memory is short: those that keep a model usable.
_SMALLER: Final = {True: ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M"), False: ("BF16", "FP8", "AWQ")}


@dataclass(frozen=True, slots=True)
class WeightLine:
    """A part of the weights that is loaded as one: the model, a projector, a draft model."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Weights:
    """`size_bytes` over all devices; `active_bytes` are read per decoded token (mixture of experts reads a part).

    `low_bytes` and `high_bytes` bound an estimate and equal `size_bytes` otherwise. `format` is the weight format's name.
    `draft_bytes` are draft layers (MTP) that the checkpoint has beside them: loaded only for speculative decoding.
    """

    size_bytes: int
    active_bytes: int
    format: str
    grade: Grade
    source: str
    low_bytes: int
    high_bytes: int
    lines: tuple[WeightLine, ...] = ()
    draft_bytes: int = 0


def routed_bytes(weights: Weights, feed_forward: FeedForward) -> int:
    """Bytes of all routed experts: what a token leaves unread is all of them but its own. 0 for a dense model."""
    if not feed_forward.experts:
        return 0
    unread = max(0, weights.size_bytes - weights.active_bytes)
    return min(weights.size_bytes, unread * feed_forward.experts // max(1, feed_forward.experts - feed_forward.experts_per_token))


def typed_weights(size_bytes: int, *, quant: str | None = None, parameters: ParameterCount | None = None) -> Weights:
    """Weights of a size the user gave. A mixture of experts reads the share of its parameters that a token uses."""
    share = _active_share(parameters) if parameters else 1.0
    name = weight_format(quant).name if quant else "as given"
    source = f"{units.gib(size_bytes)}, the size you gave"
    return Weights(size_bytes, round(size_bytes * share), name, "measured", source, size_bytes, size_bytes)


def checkpoint_file_weights(parts: TensorParts, *, quant: str, source: str, shape: ModelShape) -> Weights:
    """Weights whose tensors are known from the headers of the checkpoint's own files. Draft layers are not loaded."""
    lines = [WeightLine("model", parts.loaded - parts.towers)]
    if parts.towers:
        lines.append(WeightLine("vision and audio encoder", parts.towers))
    routing = shape.feed_forward
    share = routing.experts_per_token / routing.experts if 0 < routing.experts_per_token <= routing.experts else 1.0
    active = parts.rest + round(parts.experts * share)
    return Weights(parts.loaded, active, quant, "exact", source, parts.loaded, parts.loaded, tuple(lines), parts.draft)


def measured_weights(
    lines: Sequence[WeightLine],
    *,
    quant: str,
    source: str,
    parameters: ParameterCount | None = None,
    active_bytes: int | None = None,
    grade: Grade = "measured",
) -> Weights:
    """Weights whose files' sizes are known, their few megabytes of header counted with them; `exact` where tensor tables were read.

    `active_bytes` where those tables tell it; else a token reads the share of the bytes that it uses of the parameters.
    """
    size = sum(line.size_bytes for line in lines)
    share = _active_share(parameters) if parameters else 1.0
    active = round(size * share) if active_bytes is None else active_bytes
    return Weights(size, active, quant, grade, source, size, size, tuple(lines))


@lru_cache(maxsize=512)
def estimate_weights(*, parameters: ParameterCount, quant: str) -> Weights:
    """Parameters × bits for every part of the model. Raises InputError (field "weights_quant") for an unknown format.

    The result is computed where the count is exact and every weight takes the same bits; else estimated: the range has
    the count's own range and that of the format's bits in it.
    """
    fmt = weight_format(quant)
    size, low, high = (round(_bits(parameters, fmt, end) / 8) for end in ("typical", "low", "high"))
    low = min(size, round(low * parameters.low / max(1, parameters.total)))
    high = max(size, round(high * parameters.high / max(1, parameters.total)))
    tower = round(parameters.towers * fmt.towers / 8)
    lines = (WeightLine("model", size - tower), WeightLine("vision and audio encoder", tower)) if tower else (WeightLine("model", size),)
    exact = fmt.uniform and parameters.exact
    return Weights(
        size_bytes=size,
        active_bytes=round(_active_bits(parameters, fmt) / 8),
        format=fmt.name,
        grade="computed" if exact else "estimated",
        source=_source(parameters, fmt),
        low_bytes=size if exact else low,
        high_bytes=size if exact else high,
        lines=lines,
        draft_bytes=round(parameters.draft * fmt.body.typical / 8) if fmt.kind == "checkpoint" else 0,
    )


def usual_gguf(shape: ModelShape) -> str:
    """The GGUF format people run where they name none: a checkpoint published in MXFP4 (gpt-oss) keeps its experts as they are."""
    return "MXFP4_MOE" if shape.quantization == "mxfp4" else DEFAULT_GGUF_QUANT


def checkpoint_format(shape: ModelShape) -> str:
    """The format that the checkpoint itself is in: its quantisation (its own name for one that is not known here), else its dtype.

    An engine loads a float32 checkpoint in 16 bits: vLLM 0.33 vllm/config/model.py, _get_and_verify_dtype.
    """
    if shape.weight_format:
        known = find_format(shape.weight_format)
        return known.name if known else shape.weight_format
    return "FP16" if shape.dtype == "float16" else "BF16"


def checkpoint_weights(*, shape: ModelShape, parameters: ParameterCount) -> Weights:
    """An estimate in the checkpoint's own format. Raises InputError for a quantisation that is not known."""
    return estimate_weights(parameters=parameters, quant=checkpoint_format(shape))


def smaller_formats(name: str, *, gguf: bool) -> Iterator[str]:
    """The common formats with fewer bits than `name`, largest first."""
    known = GGUF_FORMATS | CHECKPOINT_FORMATS
    bits = known[name].body.typical if name in known else 16.0
    for smaller in _SMALLER[gguf]:
        if known[smaller].body.typical < bits - 0.1:
            yield smaller


def _end(bits: Bits, end: str) -> float:
    return {"typical": bits.typical, "low": bits.low, "high": bits.high}[end]


def _bits(count: ParameterCount, fmt: WeightFormat, end: str) -> float:
    """Bits of the whole model: Σ parts × bits of the part."""
    return (
        count.body * _end(fmt.body, end)
        + count.experts * _end(fmt.experts, end)
        + count.embedding * (fmt.table if count.output else fmt.output)
        + count.output * fmt.output
        + count.towers * fmt.towers
    )


def _active_bits(count: ParameterCount, fmt: WeightFormat) -> float:
    """Bits read for one token: the layers, the token's own experts and the output table. Of the input table only a row is read."""
    return count.body * fmt.body.typical + count.active_experts * fmt.experts.typical + (count.output or count.embedding) * fmt.output


def _active_share(count: ParameterCount) -> float:
    read = count.body + count.active_experts + (count.output or count.embedding)
    return min(1.0, read / count.total) if count.total else 1.0


def _source(count: ParameterCount, fmt: WeightFormat) -> str:
    parts = f"{count.total:,} parameters" + ("" if count.exact else " (estimated)")
    if fmt.uniform:
        return f"{parts} × {fmt.output:g} bits"
    inside = f"{fmt.body.typical:g} bits in the layers"
    if count.experts and fmt.experts != fmt.body:
        inside += f", {fmt.experts.typical:g} in the experts"
    return f"{parts}: {inside}, {fmt.output:g} in the output table ({fmt.name})"
