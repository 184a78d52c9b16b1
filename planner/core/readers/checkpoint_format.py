"""The format a quantised checkpoint's weights are in, by the names of `weight_formats`, from its config.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from planner.core.attention.config import HfConfig

_SECTIONS: Final = ("quantization_config", "compression_config", "quantization")
_SKIPPED: Final = ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers")


@dataclass(frozen=True, slots=True)
class Width:
    """Bits of a quantised weight, 0 where the file does not say."""

    bits: int
    is_float: bool = False


def weight_format_of(view: HfConfig) -> str | None:
    """The format's name, None where the file says nothing of quantised weights; the method's own name where it is not known here.

    A name ending in “-experts” says that only the routed experts are quantised, because attention is left out by name.
    """
    section = _section(view)
    method = _text(section, "quant_method", "quant_type", "quantization_method")
    bits = _width(section)
    name = _by_algorithm(section, bits) or _by_method(method, section, bits)
    if name == "FP8" and view.text("expert_dtype") == "fp4":
        return "FP8-FP4-experts"
    if name in {"W4A16", "NVFP4"} and _skips_attention(section):
        return f"{name}-experts"
    return name or method


def _section(view: HfConfig) -> Mapping[str, object]:
    for source in (view.root, view.values):
        for key in _SECTIONS:
            section = source.get(key)
            if isinstance(section, Mapping):
                inner = section.get("quantization")
                return inner if isinstance(inner, Mapping) else section
    return {}


def _text(section: Mapping[str, object], *names: str) -> str | None:
    for name in names:
        value = section.get(name)
        if isinstance(value, str) and value:
            return value[:40].lower()
    return None


def _width(section: Mapping[str, object]) -> Width:
    """The width of a weight as it is stated. Groups go first (compressed-tensors, ModelOpt)."""
    groups = section.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping) and type(weights.get("num_bits")) is int:
            return Width(weights["num_bits"], is_float=weights.get("type") == "float")
    bits = section.get("bits", section.get("w_bit"))
    return Width(bits if type(bits) is int else 0)


def _by_algorithm(section: Mapping[str, object], bits: Width) -> str | None:
    """ModelOpt's quant_algo. A mixed file is mostly of its smallest type."""
    algorithm = _text(section, "quant_algo") or ""
    if "nvfp4" in algorithm or "fp4" in algorithm:
        return "NVFP4"
    if algorithm == "mixed_precision":
        return "FP8" if bits == Width(8, is_float=True) else "NVFP4"
    return "FP8" if algorithm.startswith("fp8") else None


def _by_method(method: str | None, section: Mapping[str, object], bits: Width) -> str | None:
    match method:
        case "fp8" | "fbgemm_fp8" | "ptpc_fp8":
            return "FP8"
        case "mxfp4" | "nvfp4":
            return method.upper()
        case "awq":
            return "AWQ"
        case "gptq" | "auto-round" | "autoround":
            return {8: "GPTQ-8bit", 3: "GPTQ-3bit", 2: "GPTQ-2bit"}.get(bits.bits, "GPTQ")
        case "bitsandbytes":
            return _bits_and_bytes(section)
        case "compressed-tensors":
            return _compressed(_text(section, "format") or "", bits)
        case None if bits.bits and "group_size" in section:
            return f"MLX-{bits.bits}bit"
    return None


def _bits_and_bytes(section: Mapping[str, object]) -> str | None:
    if section.get("load_in_4bit") or section.get("_load_in_4bit"):
        return "NF4"
    return "INT8" if section.get("load_in_8bit") or section.get("_load_in_8bit") else "BF16"


def _compressed(layout: str, bits: Width) -> str | None:
    if "mxfp4" in layout:
        return "MXFP4"
    if bits.is_float:
        return "FP8" if bits.bits == 8 else "NVFP4"
    return {8: "INT8", 4: "W4A16"}.get(bits.bits)


def _skips_attention(section: Mapping[str, object]) -> bool:
    return any("self_attn" in str(entry) for name in _SKIPPED for entry in _entries(section.get(name)))


def _entries(value: object) -> list[object]:
    return value[:10_000] if isinstance(value, list) else []
