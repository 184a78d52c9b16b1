"""Speeds: single-stream prefill and decode rates, and what follows from them by the pass model without a simulator.

A measured rate always wins. An estimate is a roofline: the physical floor of a step (bytes over bandwidth, operations over
compute) stretched by the efficiency that public reports show for this engine and class of device, and never below the floor.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from planner.core import units
from planner.core.attention.stores import TokenStore
from planner.core.hardware import Device, Node
from planner.core.model_shape import ModelShape
from planner.core.plan import Figure, Percentiles, Remark, Speed, Workload
from planner.core.weights import Weights

Group = Literal["consumer", "workstation", "datacenter", "unified", "apple", "cpu"]


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The shares of the roofline that reports show, lowest and highest, and which reports (ids of the truth records)."""

    low: float
    high: float
    reports: str


@dataclass(frozen=True, slots=True)
class Overhead:
    """Seconds of a decode step that do not depend on bytes: launching kernels, sampling, the server's own work."""

    low: float
    high: float


_WIDE: Final = "no report known: the widest range of the other classes"
_LLAMA_DECODE: Final[dict[Group, Efficiency]] = {
    "consumer": Efficiency(0.55, 0.92, "provisional"),
    "workstation": Efficiency(0.55, 0.92, "provisional"),
    "datacenter": Efficiency(0.40, 0.85, "provisional"),
    "unified": Efficiency(0.50, 0.90, "provisional"),
    "apple": Efficiency(0.45, 0.95, "provisional"),
    "cpu": Efficiency(0.40, 0.90, "provisional"),
}
_VLLM_DECODE: Final[dict[Group, Efficiency]] = {
    "consumer": Efficiency(0.55, 0.92, "provisional"),
    "workstation": Efficiency(0.50, 0.92, _WIDE),
    "datacenter": Efficiency(0.50, 0.92, "provisional"),
    "unified": Efficiency(0.50, 0.92, "provisional"),
    "apple": Efficiency(0.40, 0.92, _WIDE),
    "cpu": Efficiency(0.40, 0.92, _WIDE),
}
_LLAMA_PREFILL: Final = Efficiency(0.10, 0.90, "provisional")
_VLLM_PREFILL: Final = Efficiency(0.25, 0.90, "provisional")
_OVERHEAD: Final = Overhead(0.0, 0.002)

# What tensor parallelism keeps of the added bandwidth: all of it at best, half over PCIe.
_TENSOR_PARALLEL: Final = Efficiency(0.5, 1.0, "provisional")
# Slowdown of a step for every further sequence in it, at worst.
_BATCH_SLOPE: Final = {"llama": 0.32, "vllm": 0.12}

_UNQUANTISED: Final = frozenset({"f16", "fp16", "float16", "bf16", "bfloat16", "f32", "fp32", "float32"})


def _family(engine: str) -> Literal["llama", "vllm"]:
    """Ollama runs llama.cpp."""
    return "vllm" if engine == "vllm" else "llama"


def _group(device: Device) -> Group:
    if device.vendor == "Apple":
        return "apple"
    return "consumer" if device.device_class == "custom" else device.device_class


def measured(rate: float) -> Figure:
    """A rate in tokens/s that the user measured."""
    return Figure(rate, "measured", "your measurement")


def _estimated(low: float, high: float, source: str) -> Figure:
    return Figure((low + high) / 2, "estimated", source, low, high)


def bandwidth(node: Node, tensor_parallel: int) -> float | None:
    """Bytes/s at which a decode step can read the weights, None where a device's bandwidth is not known.

    Layers split over cards are read one card after another, each its share by memory: the mean time per byte. Tensor-parallel
    ranks read at once, and the slowest holds up the rest.
    """
    known = [d.bandwidth_bytes_per_s for d in node.devices if d.bandwidth_bytes_per_s]
    if len(known) != len(node.devices):
        return None
    if tensor_parallel > 1:
        return tensor_parallel * min(known)
    total = sum(d.memory_bytes for d in node.devices)
    return total / math.fsum(d.memory_bytes / rate for d, rate in zip(node.devices, known, strict=True))


def step_floor_seconds(*, batch: int, weights: Weights, cache_bytes_at_context: int, bytes_per_s: float) -> float:
    """The physical floor of one decode step of `batch` sequences: the weights are read once, each sequence's cache as well."""
    return (weights.active_bytes + batch * cache_bytes_at_context) / bytes_per_s


def step_seconds(
    *, batch: int, weights: Weights, cache_bytes_at_context: int, node: Node, engine: str, tensor_parallel: int
) -> Figure | None:
    """Seconds of one decode step of `batch` sequences, with its range; None where the bandwidth is not known."""
    rate = bandwidth(node, tensor_parallel)
    if rate is None:
        return None
    family, group = _family(engine), _group(node.device)
    share = (_VLLM_DECODE if family == "vllm" else _LLAMA_DECODE)[group]
    split = _TENSOR_PARALLEL if tensor_parallel > 1 else Efficiency(1.0, 1.0, "")
    alone = step_floor_seconds(batch=1, weights=weights, cache_bytes_at_context=cache_bytes_at_context, bytes_per_s=rate)
    grown = step_floor_seconds(batch=batch, weights=weights, cache_bytes_at_context=cache_bytes_at_context, bytes_per_s=rate)
    fastest = grown / (share.high * split.high) + _OVERHEAD.low
    slowest = max(alone * (1 + (batch - 1) * _BATCH_SLOPE[family]), grown) / (share.low * split.low) + _OVERHEAD.high
    read = f"{units.size(weights.active_bytes)} of weights and {units.size(batch * cache_bytes_at_context)} of cache per step"
    return _estimated(
        fastest,
        slowest,
        f"roofline: {read} at {rate / 1e9:,.0f} GB/s, {units.percent(share.low * split.low)} to {units.percent(share.high * split.high)} "
        f"of it reached ({share.reports})",
    )


def decode_rate(*, weights: Weights, cache_bytes_at_context: int, node: Node, engine: str, tensor_parallel: int) -> Figure | None:
    """Tokens/s of a single stream whose cache has `cache_bytes_at_context` bytes; None where the bandwidth is not known."""
    return batch_decode_rate(
        batch=1,
        weights=weights,
        cache_bytes_at_context=cache_bytes_at_context,
        node=node,
        engine=engine,
        tensor_parallel=tensor_parallel,
    )


def batch_decode_rate(
    *, batch: int, weights: Weights, cache_bytes_at_context: int, node: Node, engine: str, tensor_parallel: int
) -> Figure | None:
    """Tokens/s of `batch` streams together: each step gives one token to each."""
    step = step_seconds(
        batch=batch,
        weights=weights,
        cache_bytes_at_context=cache_bytes_at_context,
        node=node,
        engine=engine,
        tensor_parallel=tensor_parallel,
    )
    if step is None or step.low is None or step.high is None:
        return None
    return _estimated(batch / step.high, batch / step.low, step.source)


def flops_per_token(shape: ModelShape, *, active_parameters: float, prompt_tokens: int) -> float:
    """Operations per prompt token, averaged over a prompt: 2 × active parameters, plus attention over the tokens before it.

    Per layer 2 × heads × (key + value dimension) × tokens attended to, on average half the prompt, at most the window.
    """
    attention = 0.0
    for store in shape.stores():
        if not isinstance(store, TokenStore) or store.kind in ("cross", "indexer"):
            continue
        # A latent cache is expanded to the heads' own dimensions for prefill.
        width = 2 * shape.head_dim if store.kind == "latent" else store.key_dim + store.value_dim
        attended = min(prompt_tokens / 2, store.window or math.inf)
        attention += 2 * shape.attention_heads * width * attended
    return 2 * active_parameters + attention


def dense_rate(device: Device, *, engine: str, weight_format: str) -> tuple[float, str] | None:
    """Operations/s that prefill computes with, and which rate that is; None where it is not known."""
    name = weight_format.lower()
    half = max(device.bf16_flops or 0.0, device.fp16_flops or 0.0)
    if _family(engine) == "vllm":
        if "fp8" in name and device.fp8_flops:
            return device.fp8_flops, "FP8"
        if ("int8" in name or "w8a8" in name) and device.int8_ops:
            return device.int8_ops, "INT8"
        return (half, "16-bit") if half else None
    if name in _UNQUANTISED:
        # cuBLAS accumulates in 16 bits there, which runs at half the INT8 rate (twice the FP32-accumulate rate on GeForce).
        best = max(half, (device.int8_ops or 0.0) / 2 if device.runs_cuda else 0.0)
        return (best, "16-bit") if best else None
    best = max(half, device.int8_ops or 0.0)
    return (best, "INT8" if best > half else "16-bit") if best else None


def prefill_rate(
    *,
    weights: Weights,
    shape: ModelShape,
    active_parameters: float | None,
    prompt_tokens: int,
    node: Node,
    engine: str,
    tensor_parallel: int,
) -> Figure | None:
    """Tokens/s at which a prompt of `prompt_tokens` is read; None where the compute rate or the parameters are not known.

    With layers split over cards one card works at a time; that llama.cpp overlaps micro-batches is not counted.
    """
    rates = [dense_rate(d, engine=engine, weight_format=weights.format) for d in node.devices]
    known = [rate for rate in rates if rate is not None]
    if active_parameters is None or not known or len(known) != len(rates):
        return None
    slowest, kind = min(known)
    share = _VLLM_PREFILL if _family(engine) == "vllm" else _LLAMA_PREFILL
    split = _TENSOR_PARALLEL if tensor_parallel > 1 else Efficiency(1.0, 1.0, "")
    ceiling = tensor_parallel * slowest / flops_per_token(shape, active_parameters=active_parameters, prompt_tokens=prompt_tokens)
    low, high = share.low * split.low, share.high * split.high
    return _estimated(
        ceiling * low,
        ceiling * high,
        f"roofline: {active_parameters / 1e9:,.1f} billion active parameters at {tensor_parallel * slowest / 1e12:,.0f} trillion {kind} "
        f"operations/s, {units.percent(low)} to {units.percent(high)} of it reached ({share.reports})",
    )


def pass_pause_seconds(pass_tokens: int, prefill_rate: float) -> float:
    """How long a pass of `pass_tokens` takes, and so how long everyone who is generating waits for a token: tokens / rate."""
    return pass_tokens / prefill_rate


def batch_tokens_for(pause_target_seconds: float, prefill_rate: float, *, choices: Sequence[int]) -> int:
    """The largest of `choices` whose pass stays within the target, the smallest where none does."""
    fitting = [tokens for tokens in choices if pass_pause_seconds(tokens, prefill_rate) <= pause_target_seconds]
    return max(fitting, default=min(choices))


def speed(
    *,
    measured_prefill: float | None,
    measured_decode: float | None,
    weights: Weights,
    shape: ModelShape,
    active_parameters: float | None,
    cache_bytes_at_context: int,
    prompt_tokens: int,
    node: Node,
    engine: str,
    tensor_parallel: int,
) -> Speed:
    """The single-stream rates of a plan: measured ones win. What people feel comes from `felt`, once the load is known."""
    prefill = (
        measured(measured_prefill)
        if measured_prefill
        else prefill_rate(
            weights=weights,
            shape=shape,
            active_parameters=active_parameters,
            prompt_tokens=prompt_tokens,
            node=node,
            engine=engine,
            tensor_parallel=tensor_parallel,
        )
    )
    decode = (
        measured(measured_decode)
        if measured_decode
        else decode_rate(
            weights=weights, cache_bytes_at_context=cache_bytes_at_context, node=node, engine=engine, tensor_parallel=tensor_parallel
        )
    )
    return Speed(prefill, decode, measured_prefill is not None and measured_decode is not None, None, None, None)


def felt(rates: Speed, *, load: Workload, prompt_tokens: int, batch_tokens: int, context_tokens: int, step: float | None) -> Speed:
    """`rates` with the gaps between tokens and the longest pause of a reply, as far as they have a closed form.

    `step` is the seconds of one decode step at the mean number in flight. Every prompt has `prompt_tokens` tokens. Of the
    N − 1 others each starts a turn during a reply with probability generate / turn, in any phase, and then its prompt takes
    passes of at most `batch_tokens`; the longest gap of a reply is one pass or none. Time to first token needs the queue in
    front of it and the prefills of others: that has no closed form worth printing, so it stays None.
    """
    prefill = rates.prefill_rate
    if prefill is None or step is None:
        return rates
    duty = load.generate_seconds / load.turn_seconds
    pause = pass_pause_seconds(min(batch_tokens, prompt_tokens), prefill.value)
    worst = pass_pause_seconds(min(batch_tokens, context_tokens), prefill.value)
    undisturbed = (1 - duty) ** (load.users - 1)
    stalls = (load.users - 1) * duty * -(-prompt_tokens // batch_tokens)
    stalled_gaps = min(1.0, stalls * step / load.generate_seconds)
    gaps = [step + (pause if stalled_gaps > 1 - p else 0.0) for p in (0.50, 0.95, 0.99)]
    pauses = [step + (pause if 1 - undisturbed > 1 - p else 0.0) for p in (0.50, 0.95, 0.99)]
    longest = step + (worst if load.users > 1 else 0.0)
    return replace(rates, itl_seconds=Percentiles(*gaps, longest), pause_seconds=Percentiles(*pauses, longest))


def remarks(rates: Speed, *, node: Node, active_parameters: float | None) -> tuple[Remark, ...]:
    """Why a rate is missing or only estimated, and what to do about it."""
    said = []
    if rates.decode_rate is None:
        said.append(
            Remark(
                "decode_rate_unknown",
                f"How fast {node.device.name} generates is not known: its memory bandwidth is not in the catalogue. "
                "Measure it (llama-bench or vllm bench) and enter the rate.",
                "decode_rate",
            )
        )
    if rates.prefill_rate is None:
        why = (
            "the model's parameter count is not known" if active_parameters is None else f"no compute rate is known for {node.device.name}"
        )
        said.append(
            Remark(
                "prefill_rate_unknown",
                f"How fast prompts are read is not known: {why}. Measure it (llama-bench or vllm bench) and enter the rate.",
                "prefill_rate",
            )
        )
    if any(rate and rate.grade == "estimated" for rate in (rates.prefill_rate, rates.decode_rate)):
        said.append(
            Remark(
                "speed_estimated",
                "Speeds are roofline estimates with a wide range: measure prefill and decode once and every figure here follows yours.",
                "decode_rate",
            )
        )
    return tuple(said)
