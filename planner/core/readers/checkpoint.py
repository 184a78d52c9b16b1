"""What a config.json says about its weights: their type, their quantisation, and the cache type they ask for."""

from collections.abc import Mapping
from typing import Final

from planner.core.attention.config import HfConfig, plain

_TYPES: Final = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32", "float": "float32"}
_KNOWN: Final = frozenset(("bfloat16", "float16", "float32"))
_FP8_CACHES: Final = frozenset(("fp8", "float8", "fp8_e4m3", "fp8_e5m2"))


def dtype(view: HfConfig) -> str:
    """`bfloat16`, `float16` or `float32`; bfloat16 where the file says nothing or names a storage type."""
    named = (view.text("torch_dtype", "dtype") or "bfloat16").removeprefix("torch.").lower()
    named = _TYPES.get(named, named)
    return named if named in _KNOWN else "bfloat16"


def quantization(view: HfConfig) -> str | None:
    """The method of an already quantised checkpoint: `awq`, `gptq`, `fp8`, `mxfp4`, `modelopt` …, None otherwise."""
    section = _quantization(view)
    for key in ("quant_method", "quant_type", "quantization_method"):
        method = section.get(key)
        if isinstance(method, str) and method:
            return plain(method[:40]).lower()
    if isinstance(section.get("quant_algo"), str) or isinstance(section.get("quantization"), Mapping):
        return "modelopt"
    return "mlx" if "bits" in section and "group_size" in section else None


def cache_dtype(view: HfConfig) -> str | None:
    """The cache type that the checkpoint itself asks for: `fp8`, or None.

    Source: vLLM 0.32 vllm/utils/torch_utils.py, the reading of kv_cache_quant_algo and kv_cache_scheme.
    """
    section = _quantization(view)
    inner = section.get("quantization")
    algorithm = section.get("kv_cache_quant_algo") or (inner.get("kv_cache_quant_algo") if isinstance(inner, Mapping) else None)
    if isinstance(algorithm, str):
        return "fp8" if algorithm.lower() in _FP8_CACHES else None
    scheme = section.get("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        return "fp8" if scheme.get("num_bits") == 8 and scheme.get("type", "float") == "float" else None
    return "fp8" if isinstance(scheme, str) and scheme.lower() in _FP8_CACHES else None


def _quantization(view: HfConfig) -> Mapping[str, object]:
    for source in (view.root, view.values):
        for key in ("quantization_config", "compression_config", "quantization"):
            section = source.get(key)
            if isinstance(section, Mapping):
                return section
    return {}
