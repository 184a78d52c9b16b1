"""The values vLLM takes when nobody sets them: batch sizes by the card, element types by its generation."""

from functools import lru_cache
from typing import Final

from planner.core.engines.vllm.versions import Rules
from planner.core.hardware import Device
from planner.core.model_shape import ModelShape
from planner.core.units import GIB

_FP8_CACHE_FROM: Final = (8, 9)
# AMD's with FP8 arithmetic: MI300 and MI350.
ROCM_FP8: Final = frozenset({"gfx942", "gfx950"})
# Models that vLLM does not run in float16. Source: vLLM 0.32 config/model.py, _FLOAT16_NOT_SUPPORTED_MODELS.
_NO_FLOAT16: Final = frozenset({"gemma2", "gemma3", "gemma3_text", "glm4"})


def compute_capability(device: Device) -> tuple[int, int] | None:
    """(9, 0) for `9.0`; None for what is no CUDA device or not known."""
    return _capability(device.compute_capability)


def has_fp8_cache(device: Device) -> bool:
    """Whether vLLM's usual attention reads an FP8 (e4m3) cache on `device`: from compute capability 8.9, on CDNA 3 and 4.

    Below it stops with “type fp8e4nv not supported in this architecture” (vLLM 0.32, Triton attention). True where a CUDA device's
    capability is not known: memory that was typed in.
    """
    capability = compute_capability(device)
    if device.runs_cuda:
        return capability is None or capability >= _FP8_CACHE_FROM
    return device.compute_capability in ROCM_FP8


@lru_cache(maxsize=256)
def _capability(text: str) -> tuple[int, int] | None:
    major, _, minor = text.partition(".")
    return (int(major), int(minor or 0)) if major.isdecimal() and (minor or "0").isdecimal() else None


def batch_defaults(device: Device, rules: Rules) -> tuple[int, int]:
    """(max_num_seqs, max_num_batched_tokens) of `vllm serve` on this card.

    Source: vLLM 0.32 engine/arg_utils.py, EngineArgs.get_batch_defaults (0.33 for GB10).
    """
    small = (256, 2048)
    if rules.since(0, 33) and compute_capability(device) == (12, 1):
        return small
    if rules.large_gpu_tier and device.memory_bytes >= 160 * GIB:
        return 1024, 16384
    if device.memory_bytes >= 70 * GIB and "a100" not in device.name.lower():
        return 1024, 8192
    return small


def model_dtype(shape: ModelShape, device: Device, given: str | None) -> str:
    """The element type the model computes in, `--dtype auto` resolved.

    Source: vLLM 0.32 config/model.py, _resolve_auto_dtype, and platforms/cuda.py, supported_dtypes: float32 checkpoints are
    narrowed to bfloat16; that needs compute capability 8.0, below it float16 (float32 for models that cannot run in float16).
    """
    if given not in {None, "auto"}:
        return {"half": "float16", "float": "float32"}.get(given or "", given or "")
    dtype = "bfloat16" if shape.dtype == "float32" else shape.dtype
    if shape.model_type in _NO_FLOAT16 and dtype == "float16":
        dtype = "bfloat16"
    capability = compute_capability(device)
    if dtype == "bfloat16" and device.runs_cuda and capability is not None and capability < (8, 0):
        return "float32" if shape.model_type in _NO_FLOAT16 else "float16"
    return dtype
