"""Speeds: single-stream prefill and decode rates, and what follows from them by the pass model without a simulator.

A measured rate always wins. An estimate is a roofline: the physical floor of a step (bytes over bandwidth, operations over
compute) divided by the share of it that public reports reach with this engine on this class of device. The reports stand in
tests/truth/speed_reports.csv; scripts/fit_speed.py reproduces every range below from them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from planner.core import units
from planner.core.attention.stores import TokenStore
from planner.core.hardware import Device, Node
from planner.core.model_shape import ModelShape
from planner.core.plan import Figure, Percentiles, Remark, Speed, Workload
from planner.core.spill import Spill, ram_bandwidth, slowed
from planner.core.weights import Weights

Family = Literal["llama", "vllm"]


@dataclass(frozen=True, slots=True)
class Share:
    """The lowest and highest share of the roofline among some reports: how many they are, and the two at the ends."""

    low: float
    high: float
    reports: str


# Keys: engine, "dense" or "sparse" (mixture of experts), class of device. "" is every class, and engine "" every engine:
# they stand in where there are fewer than four reports, or reports of a single device.
DECODE: Final[dict[tuple[str, str, str], Share]] = {
    ("", "dense", ""): Share(0.27, 0.87, "64 reports, pk-h200-27b to xd-4080-f16"),
    ("", "sparse", ""): Share(0.10, 0.64, "19 reports, pk-h200-35b to pk-m5-oss20"),
    ("llama", "dense", ""): Share(0.27, 0.87, "55 reports, pk-h200-27b to xd-4080-f16"),
    ("llama", "dense", "apple"): Share(0.37, 0.83, "10 reports, xd-m2ultra-q4-8k to xd-m2ultra-70b-f16"),
    ("llama", "dense", "consumer"): Share(0.48, 0.87, "24 reports, D003 to xd-4080-f16"),
    ("llama", "dense", "datacenter"): Share(0.27, 0.63, "9 reports, pk-h200-27b to p40-q40"),
    ("llama", "dense", "unified"): Share(0.47, 0.78, "5 reports, gb10-7b-q4 to strix-q3-8b-4k"),
    ("llama", "dense", "workstation"): Share(0.59, 0.78, "4 reports, xd-6000ada-q4 to xd-a6000-f16"),
    ("llama", "sparse", ""): Share(0.10, 0.64, "17 reports, pk-h200-35b to pk-m5-oss20"),
    ("llama", "sparse", "consumer"): Share(0.40, 0.64, "4 reports, pk-4090-35b to pk-4080-oss20"),
    ("llama", "sparse", "datacenter"): Share(0.10, 0.21, "5 reports, pk-h200-35b to pk-a100-80-oss20"),
    ("llama", "sparse", "unified"): Share(0.40, 0.63, "6 reports, gb10-oss20 to gb10-oss20-cpp"),
    ("vllm", "dense", ""): Share(0.46, 0.76, "9 reports, D006 to v-a100-8b"),
}
# As above; dense prompts under llama.cpp by the arithmetic too, because INT8 kernels reach a smaller share of a higher peak.
PREFILL: Final[dict[tuple[str, str, str], Share]] = {
    ("", "dense", ""): Share(0.11, 0.81, "38 reports, xd-4090-q4-8k to xd-m1max-f16"),
    ("", "sparse", ""): Share(0.06, 0.48, "6 reports, gb10-oss20 to v-2x5090-35b-90k"),
    ("llama", "dense 16-bit", ""): Share(0.18, 0.81, "20 reports, strix-7b-vk to xd-m1max-f16"),
    ("llama", "dense 16-bit", "apple"): Share(0.47, 0.81, "9 reports, xd-m1max-70b-q4 to xd-m1max-f16"),
    ("llama", "dense 16-bit", "consumer"): Share(0.43, 0.61, "6 reports, hip-7900xtx-q4 to xd-4080-f16"),
    ("llama", "dense INT8", ""): Share(0.11, 0.26, "13 reports, xd-4090-q4-8k to mmq-4090-q40"),
    ("llama", "dense INT8", "consumer"): Share(0.11, 0.26, "13 reports, xd-4090-q4-8k to mmq-4090-q40"),
    ("llama", "sparse", ""): Share(0.06, 0.18, "4 reports, gb10-oss20 to strix-oss120"),
    ("llama", "sparse", "unified"): Share(0.06, 0.18, "4 reports, gb10-oss20 to strix-oss120"),
    ("vllm", "dense", ""): Share(0.42, 0.56, "5 reports, v-2x5090-27b-90k to v-a100-14b-awq"),
    ("vllm", "dense", "consumer"): Share(0.42, 0.49, "4 reports, v-2x5090-27b-90k to A089-90k"),
}

# Seconds of a decode step that no byte explains: launching its kernels, sampling, the server. The H100's step over 0.7 GB takes
# 1.3 ms of which 0.2 ms is reading (pk-h100-lfm); with 0.4 ms the smallest models stay below the highest share of large ones.
OVERHEAD_SECONDS: Final = (0.0004, 0.0011)

# By how much of a step, at most, every further sequence slows it; sparse models read other experts for each sequence.
# From D003 and D009 at 8 clients and D010 at 32 (its backend has a cliff at 10 to 16 clients, which is left out). vLLM with a
# sparse model has no report: the largest of the others.
BATCH_SLOPE: Final = {("llama", "dense"): 0.20, ("vllm", "dense"): 0.12, ("llama", "sparse"): 0.41, ("vllm", "sparse"): 0.41}

_UNQUANTISED: Final = frozenset({"f16", "fp16", "float16", "bf16", "bfloat16", "f32", "fp32", "float32"})


def family(engine: str) -> Family:
    """Whose kernels compute: Ollama runs llama.cpp."""
    return "vllm" if engine == "vllm" else "llama"


def device_class(device: Device) -> str:
    """The class whose reports apply. Memory typed by hand is taken for a consumer card."""
    if device.vendor == "Apple":
        return "apple"
    return "consumer" if device.device_class == "custom" else device.device_class


def density(weights: Weights) -> str:
    """“sparse” where a token reads well under all of the weights: a mixture of experts, or embeddings for every layer."""
    return "sparse" if weights.active_bytes < 0.7 * weights.size_bytes else "dense"


def _share(table: dict[tuple[str, str, str], Share], engine: str, kind: str, group: str) -> Share:
    keys = ((engine, kind, group), (engine, kind, ""), ("", kind, ""))
    return next(table[key] for key in keys if key in table)


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
    if len(set(known)) == 1:
        return known[0]
    return node.memory_bytes / math.fsum(d.memory_bytes / rate for d, rate in zip(node.devices, known, strict=True))


def step_floor_seconds(*, batch: int, weights: Weights, cache_bytes_at_context: int, bytes_per_s: float) -> float:
    """The physical floor of one decode step of `batch` sequences: the weights are read once, and each sequence's cache."""
    return (weights.active_bytes + batch * cache_bytes_at_context) / bytes_per_s


def step_seconds(
    *,
    batch: int,
    weights: Weights,
    cache_bytes_at_context: int,
    node: Node,
    engine: str,
    tensor_parallel: int,
    measured_rate: float | None = None,
    spill: Spill | None = None,
) -> Figure | None:
    """Seconds of one decode step of `batch` sequences, with its range; None where neither bandwidth nor a measured rate is known.

    At best a further sequence costs the reading of its cache, at worst `BATCH_SLOPE` of a step. With the user's single-stream
    `measured_rate` the step of one is exact. That a very large batch is bound by compute instead is not counted.
    What `spill` names is read from main memory, one memory after the other; the same share of the peak is taken for both.
    """
    rate = bandwidth(node, tensor_parallel)
    kind = density(weights)
    slowdown = 1 + (batch - 1) * BATCH_SLOPE[family(engine), kind]
    further = (batch - 1) * cache_bytes_at_context / rate if rate else 0.0
    if measured_rate is not None:
        alone = 1 / measured_rate
        if batch == 1:
            return Figure(alone, "measured", "your measurement")
        grown = alone + further
        return _estimated(grown, max(grown, alone * slowdown), f"your measurement of one stream, for {batch:,} at a time")
    if rate is None:
        return None
    share = _share(DECODE, family(engine), kind, device_class(node.device))
    fixed, each, ram = weights.active_bytes, cache_bytes_at_context, ""
    beside = slow_beside = one_beside = 0.0
    if spill:
        memory = ram_bandwidth(node, over_bus=spill.over_bus)
        cache = round(each * spill.cache_share)
        fixed, each = fixed - spill.weights_bytes, each - cache
        read = spill.weights_bytes + batch * cache
        beside, slow_beside, one_beside = read / memory.high, read / memory.low, (spill.weights_bytes + cache) / memory.low
        ram = f", and {units.size(read)} from RAM at {memory.words}"
    own = (fixed + batch * each) / rate
    fastest = (own + beside) / share.high + OVERHEAD_SECONDS[0]
    slowest = max(own + slow_beside, ((fixed + each) / rate + one_beside) * slowdown) / share.low + OVERHEAD_SECONDS[1]
    return _estimated(
        fastest,
        slowest,
        f"Roofline: a step reads {units.size(fixed)} of weights and {units.size(batch * each)} of cache at "
        f"{rate / 1e9:,.0f} GB/s{ram}, of which {units.percent(share.low)} to {units.percent(share.high)} is reached ({share.reports}).",
    )


def batch_decode_rate(
    *,
    batch: int,
    weights: Weights,
    cache_bytes_at_context: int,
    node: Node,
    engine: str,
    tensor_parallel: int,
    measured_rate: float | None = None,
    spill: Spill | None = None,
) -> Figure | None:
    """Tokens/s of `batch` streams together: each step gives one token to each."""
    step = step_seconds(
        batch=batch,
        weights=weights,
        cache_bytes_at_context=cache_bytes_at_context,
        node=node,
        engine=engine,
        tensor_parallel=tensor_parallel,
        measured_rate=measured_rate,
        spill=spill,
    )
    if step is None:
        return None
    if step.low is None or step.high is None:
        return replace(step, value=batch / step.value)
    return _estimated(batch / step.high, batch / step.low, step.source)


def decode_rate(
    *, weights: Weights, cache_bytes_at_context: int, node: Node, engine: str, tensor_parallel: int, spill: Spill | None = None
) -> Figure | None:
    """Tokens/s of a single stream whose cache has `cache_bytes_at_context` bytes; None where the bandwidth is not known."""
    return batch_decode_rate(
        batch=1,
        weights=weights,
        cache_bytes_at_context=cache_bytes_at_context,
        node=node,
        engine=engine,
        tensor_parallel=tensor_parallel,
        spill=spill,
    )


@lru_cache(maxsize=256)
def flops_per_token(shape: ModelShape, *, active_parameters: float, prompt_tokens: int) -> float:
    """Operations per prompt token, averaged over a prompt: 2 × active parameters, plus attention to the tokens before it.

    Per layer 2 × heads × (key + value dimension) × tokens attended to: on average half the prompt, at most the window.
    """
    attention = 0.0
    for store in shape.stores():
        if not isinstance(store, TokenStore) or store.kind in ("cross", "indexer"):
            continue
        # Prefill expands a latent vector to the heads' own dimensions.
        width = 2 * shape.head_dim if store.kind == "latent" else store.key_dim + store.value_dim
        attended = min(prompt_tokens / 2, store.window or math.inf)
        attention += 2 * shape.attention_heads * width * attended
    return 2 * active_parameters + attention


def dense_rate(device: Device, *, engine: str, weight_format: str) -> tuple[float, str] | None:
    """Operations/s of the arithmetic that prefill uses, and its name; None where the rate is not known.

    llama.cpp multiplies quantised blocks in INT8 (ggml-cuda/mmq.cuh) where the device has INT8 matrix units, and hands 16-bit
    weights to cuBLAS with 16-bit accumulation: half the INT8 rate, which is twice the 16-bit rate of GeForce cards.
    vLLM computes FP8 and W8A8 checkpoints natively and expands 4-bit weights to 16 bits (Marlin), but NVFP4 on Blackwell: its
    FP4 rate is not in the catalogue and the FP8 rate stands in for it.
    """
    name = weight_format.lower()
    half = max(device.bf16_flops or 0.0, device.fp16_flops or 0.0)
    int8 = device.int8_ops or 0.0
    if family(engine) == "vllm":
        blackwell = device.runs_cuda and device.compute_capability.startswith(("10", "12"))
        if device.fp8_flops and ("fp8" in name or ("nvfp4" in name and blackwell)):
            return device.fp8_flops, "FP8"
        if int8 and ("w8a8" in name or "int8" in name):
            return int8, "INT8"
    elif name in _UNQUANTISED:
        half = max(half, int8 / 2 if device.runs_cuda else 0.0)
    elif int8 > half:
        return int8, "INT8"
    return (half, "16-bit") if half else None


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
    if active_parameters is None or len(known) != len(rates):
        return None
    slowest, arithmetic = min(known)
    share = prefill_share(engine=engine, weights=weights, arithmetic=arithmetic, device=node.device)
    ceiling = tensor_parallel * slowest / flops_per_token(shape, active_parameters=active_parameters, prompt_tokens=prompt_tokens)
    return _estimated(
        ceiling * share.low,
        ceiling * share.high,
        f"Roofline: {active_parameters / 1e9:,.1f} billion active parameters and attention over {prompt_tokens:,} tokens at "
        f"{tensor_parallel * slowest / 1e12:,.0f} TFLOPS ({arithmetic}), of which {units.percent(share.low)} to "
        f"{units.percent(share.high)} is reached ({share.reports}).",
    )


def prefill_share(*, engine: str, weights: Weights, arithmetic: str, device: Device) -> Share:
    """The share of the compute peak that reports reach."""
    kind = density(weights)
    if kind == "dense" and family(engine) == "llama":
        kind = f"dense {arithmetic}"
    return _share(PREFILL, family(engine), kind, device_class(device))


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
    spill: Spill | None = None,
) -> Speed:
    """The single-stream rates of a plan: measured ones win. What people feel comes from `felt`, once the load is known.

    How fast prompts are read with weights in RAM is not estimated: they are copied to the card for every pass, or the CPU
    computes, and no report here says how fast.
    """
    prefill, decode = (measured(rate) if rate else None for rate in (measured_prefill, measured_decode))
    if prefill is None and spill is None:
        prefill = prefill_rate(
            weights=weights,
            shape=shape,
            active_parameters=active_parameters,
            prompt_tokens=prompt_tokens,
            node=node,
            engine=engine,
            tensor_parallel=tensor_parallel,
        )
    decode = decode or decode_rate(
        weights=weights,
        cache_bytes_at_context=cache_bytes_at_context,
        node=node,
        engine=engine,
        tensor_parallel=tensor_parallel,
        spill=spill,
    )
    return Speed(prefill, decode, bool(measured_prefill and measured_decode), None, None, None)


def felt(
    rates: Speed,
    *,
    load: Workload,
    prompt_tokens: int,
    batch_tokens: int,
    context_tokens: int,
    step: float | None,
    slots: int | None = None,
) -> Speed:
    """`rates` with the gaps between tokens and the longest pause of a reply, as far as they have a closed form.

    `step` is the seconds of one decode step at the mean number in flight, `slots` how many run at once (None: everyone).
    Every prompt has `prompt_tokens` tokens. Each of the N − 1 others starts a turn during a reply with probability
    generate / turn, whatever their phase, but no more than the other slots can take up meanwhile. Its prompt takes passes of at
    most `batch_tokens`, and each is one long gap for everyone among the generate / step gaps of a reply; `max` is a full pass of
    a prompt as long as the context.
    Time to first token needs the queue and the prompts in front of it: a simulation finds it; `latency.ttft_p95` is a rough closed form.
    """
    prefill = rates.prefill_rate
    if prefill is None or step is None:
        return rates
    duty, others = load.generate_seconds / load.turn_seconds, others_in_reply(load, slots)
    one_pass = pass_pause_seconds(min(batch_tokens, prompt_tokens), prefill.value)
    longest = step + (pass_pause_seconds(min(batch_tokens, context_tokens), prefill.value) if others else 0.0)
    stalled_replies = 1 - (1 - duty) ** others
    stalled_gaps = others * duty * math.ceil(prompt_tokens / batch_tokens) * step / load.generate_seconds

    def percentiles(stalled: float) -> Percentiles:
        p50, p95, p99 = (step + (one_pass if stalled > 1 - share else 0.0) for share in (0.50, 0.95, 0.99))
        return Percentiles(p50, p95, p99, longest)

    return replace(rates, itl_seconds=percentiles(stalled_gaps), pause_seconds=percentiles(stalled_replies))


def others_in_reply(load: Workload, slots: int | None) -> int:
    """The others who may start a turn during a reply: no more than the other slots can take up meanwhile."""
    if slots is None:
        return load.users - 1
    return min(load.users - 1, math.floor((slots - 1) / (load.generate_seconds / load.turn_seconds)))


def remarks(
    rates: Speed, *, node: Node, active_parameters: float | None, spill: Spill | None = None, unspilled: Figure | None = None
) -> tuple[Remark, ...]:
    """Why a rate is missing or only estimated, and what to do about it. `unspilled` is the decode rate if the cards held everything."""
    said = []
    if spill and unspilled and rates.decode_rate and rates.decode_rate.grade == "estimated":
        said.append(slowed(rates.decode_rate, unspilled, node=node, spill=spill))
    measure = "Measure it (llama-bench or vllm bench) and enter the rate."
    if rates.decode_rate is None:
        why = f"the memory bandwidth of {node.device.name} is not known"
        if not node.has_gpu:
            why += " (name its platform as the device, for example cpu-ddr5-2ch-5600, or give the bandwidth of its RAM)"
        said.append(Remark("decode_rate_unknown", f"How fast tokens are generated cannot be estimated: {why}. {measure}", "decode_rate"))
    if rates.prefill_rate is None:
        why = f"no compute rate of {node.device.name} is known" if active_parameters else "the number of parameters is not known"
        if spill:
            why = "weights in RAM go through the bus or the CPU for every pass, and no report here says how fast"
        said.append(Remark("prefill_rate_unknown", f"How fast prompts are read cannot be estimated: {why}. {measure}", "prefill_rate"))
    if any(rate and rate.grade == "estimated" for rate in (rates.prefill_rate, rates.decode_rate)):
        message = (
            "Speeds are estimates with a wide range. Measure prefill and decode once: every figure that depends on them then follows yours."
        )
        said.append(Remark("speed_estimated", message, "decode_rate"))
    return tuple(said)
