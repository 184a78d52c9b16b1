"""Bytes that one cached token takes in one layer, for every `--kv-cache-dtype`."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from planner.core.engines.vllm.versions import Release, Rules
from planner.core.errors import InputError

DTYPE_BYTES: Final[Mapping[str, int]] = {"float32": 4, "float16": 2, "bfloat16": 2}
LATENT_ONLY: Final = frozenset({"fp8_ds_mla", "nvfp4_ds_mla"})
FP8: Final = frozenset({"fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc"})

# One fp32 scale per token, head and side. Source: vLLM 0.32 v1/attention/backends/triton_attn.py, customize_spec.
_SCALES: Final = 2 * 4


def _nvfp4(dim: int) -> int:
    """Two elements a byte and an fp8 scale per 16. Source: vLLM 0.32 utils/torch_utils.py, nvfp4_kv_cache_full_dim."""
    return dim // 2 + dim // 16


def _turboquant(key_bits: int, value_bits: int) -> Callable[[int, int], int]:
    """Packed keys (fp8, or codes and a 2-byte norm) and values (codes, 2-byte scale and zero), made even.

    Source: vLLM 0.32 model_executor/layers/quantization/turboquant/config.py, slot_size_aligned.
    """

    def bytes_per_head(key_dim: int, _value_dim: int) -> int:
        keys = key_dim if key_bits == 8 else math.ceil(key_dim * key_bits / 8) + 2
        slot = keys + math.ceil(key_dim * value_bits / 8) + 4
        return slot + slot % 2

    return bytes_per_head


# Bytes per token and KV head, from the head dimensions of keys and values.
_PER_HEAD: Final[Mapping[str, Callable[[int, int], int]]] = {
    "int8_per_token_head": lambda key, value: key + value + _SCALES,
    "fp8_per_token_head": lambda key, value: key + value + _SCALES,
    "int4_per_token_head": lambda key, value: key // 2 + value // 2 + _SCALES,
    "nvfp4": lambda key, value: _nvfp4(key) + _nvfp4(value),
    "nvfp4_4over6": lambda key, value: _nvfp4(key) + _nvfp4(value),
    "turboquant_k8v4": _turboquant(8, 4),
    "turboquant_4bit_nc": _turboquant(4, 4),
    "turboquant_k3v4_nc": _turboquant(3, 4),
    "turboquant_3bit_nc": _turboquant(3, 3),
}
# The release whose --kv-cache-dtype first lists the name. Source: config/cache.py, CacheDType, of the releases' wheels.
_SINCE: Final[Mapping[str, Release]] = {
    "auto": (0, 11, 0), "bfloat16": (0, 11, 0), "fp8": (0, 11, 0), "fp8_e4m3": (0, 11, 0), "fp8_e5m2": (0, 11, 0), "fp8_inc": (0, 11, 0),
    "fp8_ds_mla": (0, 11, 0), "float16": (0, 20, 0), "turboquant_k8v4": (0, 20, 0), "turboquant_4bit_nc": (0, 20, 0),
    "turboquant_k3v4_nc": (0, 20, 0), "turboquant_3bit_nc": (0, 20, 0), "int8_per_token_head": (0, 20, 0),
    "fp8_per_token_head": (0, 20, 0), "nvfp4": (0, 20, 0), "int4_per_token_head": (0, 28, 0), "nvfp4_4over6": (0, 28, 0),
    "nvfp4_ds_mla": (0, 32, 0),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CacheType:
    """A resolved cache dtype: its name and the element type of whatever it leaves unquantised."""

    name: str
    model_dtype: str

    @property
    def turboquant(self) -> bool:
        return self.name.startswith("turboquant_")

    @property
    def element_bytes(self) -> int:
        """Bytes per element where the type is a plain one (model dtype or fp8)."""
        if self.name in FP8:
            return 1
        return DTYPE_BYTES[self.name if self.name in DTYPE_BYTES else self.model_dtype]

    def head_bytes(self, key_dim: int, value_dim: int) -> int:
        """Bytes of one token of one KV head, keys and values together, with their scales."""
        packed = _PER_HEAD.get(self.name)
        return packed(key_dim, value_dim) if packed else (key_dim + value_dim) * self.element_bytes

    def latent_bytes(self, dim: int) -> int:
        """Bytes of one token's latent vector; the packed MLA formats are opaque blobs.

        Source: vLLM 0.32 v1/attention/backends/mla/flashmla_sparse.py (656) and flashinfer_mla_sparse.py (352).
        """
        return {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}.get(self.name) or dim * self.element_bytes


def resolve(name: str, rules: Rules) -> str:
    """`name` if this release accepts it. Raises InputError otherwise."""
    since = _SINCE.get(name)
    if since is None or rules.release < since:
        known = ", ".join(known for known, first in _SINCE.items() if rules.release >= first)
        raise InputError(
            f"vLLM {'.'.join(map(str, rules.release))} has no cache type “{name[:40]}” that is computed here: {known}.",
            field="cache_type",
        )
    return name
