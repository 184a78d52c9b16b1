"""Which engine serves which device well, in which weight formats and cache types: the combinations that are worth a row.

A table of what the engines support and people run, not of everything that starts. vLLM's part is from its documentation: devices from
0.31 “Installation, GPU” (compute capability 7.5 and up; MI200, MI300, MI350, Radeon RX 7900 and 9000, Ryzen AI MAX), formats from
0.15 “Quantization, supported hardware” and 0.32 “FP8 W8A8” (FP8 by its own arithmetic from 8.9, by weight-only kernels from 7.5;
AWQ and GPTQ from 7.5, not on AMD).
"""

from collections.abc import Iterator
from typing import Final

from planner.core.draft import Source
from planner.core.engines.contract import Engine
from planner.core.engines.vllm.defaults import ROCM_FP8, compute_capability
from planner.core.hardware import Device
from planner.core.request import PlanRequest
from planner.core.weight_formats import CHECKPOINT_FORMATS, weight_format
from planner.core.weights import checkpoint_format, usual_gguf

# NVIDIA: the compute capability from which vLLM serves a checkpoint format. What is not named here is served from _VLLM_FROM.
_VLLM_FROM: Final = (7, 5)
_FROM: Final = {"NVFP4": (10, 0), "NVFP4-experts": (10, 0), "MXFP4": (8, 0)}
# Jetson Orin is in none of vLLM's builds.
_NOT_BUILT: Final = (8, 7)
# AMD: whom vLLM's ROCm builds serve.
_ROCM: Final = frozenset({"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1200", "gfx1201", "gfx1151"})
_SIXTEEN_BIT: Final = frozenset({"BF16", "FP16", "FP32"})
# Ollama is for a machine of one's own, and serves what its library has, 4 and 8 bits mostly; it has no back end for Intel's cards.
_OLLAMA_CARDS: Final = 2
_OLLAMA_CLASSES: Final = frozenset({"consumer", "workstation", "unified", "cpu"})
_OLLAMA_VENDORS: Final = frozenset({"NVIDIA", "AMD", "Apple", "CPU"})


def suits(engine: Engine, device: Device, count: int) -> bool:
    """Whether `engine` is a sensible choice on `count` of `device`. llama-server is on all of them."""
    if engine.name == "ollama":
        return count <= _OLLAMA_CARDS and device.device_class in _OLLAMA_CLASSES and device.vendor in _OLLAMA_VENDORS
    if engine.name == "vllm":
        capability = compute_capability(device)
        if device.runs_cuda:
            return capability is not None and capability >= _VLLM_FROM and capability != _NOT_BUILT
        return device.compute_capability in _ROCM
    return True


def weight_choices(request: PlanRequest, source: Source, engine: Engine, device: Device) -> Iterator[str | None]:
    """The formats to plan with, best quality first; None leaves it to the request. Raises InputError for a format nobody knows."""
    if request.weights_size:
        yield None
    elif source.weights_format:
        if engine.serves_gguf:
            yield None
    elif request.weights_quant:
        fmt = weight_format(request.weights_quant)
        if engine.serves_gguf:
            if fmt.kind == "gguf" or fmt.name in _SIXTEEN_BIT:
                yield request.weights_quant
        elif fmt.kind == "checkpoint" and _serves(fmt.name, device):
            yield request.weights_quant
    elif engine.serves_gguf:
        yield from _gguf_formats(source, sixteen_bit=engine.name != "ollama")
    else:
        yield from (name for name in _checkpoint_formats(source) if _serves(name, device))


def _gguf_formats(source: Source, *, sixteen_bit: bool) -> Iterator[str]:
    own, usual = checkpoint_format(source.shape), usual_gguf(source.shape)
    if usual != "Q4_K_M":
        yield usual
        return
    if own in _SIXTEEN_BIT and sixteen_bit:
        yield "FP16" if own == "FP16" else "BF16"
    yield "Q8_0"
    yield "Q4_K_M"


def _checkpoint_formats(source: Source) -> Iterator[str]:
    """The checkpoint's own format and the usual smaller ones."""
    own = checkpoint_format(source.shape)
    yield own
    known = CHECKPOINT_FORMATS.get(own)
    if own in _SIXTEEN_BIT:
        yield "FP8"
    if known and min(known.body.typical, known.experts.typical) >= 8:
        yield "AWQ"


def _serves(name: str, device: Device) -> bool:
    """Whether vLLM serves checkpoints of this format on the device."""
    if name in _SIXTEEN_BIT:
        return True
    if not device.runs_cuda:
        return name in {"FP8", "MXFP4", "FP8-FP4-experts"} and device.compute_capability in ROCM_FP8
    capability = compute_capability(device)
    return capability is not None and capability >= _FROM.get(name, _VLLM_FROM)


def cache_choices(request: PlanRequest, engine: Engine, device: Device) -> tuple[str, ...]:
    """The cache types to plan with: the one asked for, else the engine's own and its 8-bit one where the device has the arithmetic."""
    if request.cache_type != "auto" or request.cache_type_k or request.cache_type_v:
        return (request.cache_type,)
    eight_bit = engine.eight_bit_cache(device)
    return ("auto", eight_bit) if eight_bit else ("auto",)
