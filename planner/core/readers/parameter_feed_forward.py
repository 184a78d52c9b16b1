"""Parameters of the feed-forward part of a layer: dense, or routed experts with what stands beside them."""

from dataclasses import dataclass
from typing import Final

from planner.core.attention.config import HfConfig
from planner.core.readers.parameter_traits import Traits, says

WIDTH: Final = ("intermediate_size", "ffn_hidden_size", "ff_intermediate_size", "ffn_dim", "n_inner")
EXPERTS: Final = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
EXPERTS_PER_TOKEN: Final = (
    "num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_topk", "top_k_experts", "experts_per_token",
)  # fmt: skip
SHARED: Final = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
SHARED_WIDTH: Final = (
    "shared_expert_intermediate_size", "shared_experts_intermediate_size", "moe_shared_expert_intermediate_size",
    "shared_intermediate_size", "share_expert_dim",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FeedForwardCount:
    """`fixed` serves every token; `experts` are routed, and `active` of them serve one token."""

    fixed: int
    experts: int = 0
    active: int = 0


def matrices(*, hidden: int, width: int, gated: bool, bias: bool = False) -> int:
    """Up and down projection, and the gate where there is one."""
    up = 2 if gated else 1
    return (up + 1) * hidden * width + (up * width + hidden if bias else 0)


def dense_width(config: HfConfig, layer: int) -> int:
    """Width of a dense feed-forward part, under the rules by which some families derive it."""
    kind = config.model_type
    factor = config.block(layer).section("ffn").values.get("ffn_mult")
    if isinstance(factor, int | float) and 0 < factor < 1024:
        return _searched_width(config.hidden_size, factor)
    if config.flag("use_double_wide_mlp") and layer >= config.layers - (config.integer("num_kv_shared_layers", low=0) or 0):
        return 2 * config.required(*WIDTH)
    width = config.for_layer(layer, "dense_intermediate_size", "intermediate_size_mlp", *WIDTH)
    if kind.startswith("lfm2"):
        return _lfm2_width(config)
    if width is None:
        return (config.integer("expansion_ratio") or 4) * config.hidden_size
    return width // 2 if kind in {"qwen", "recurrent_gemma", "molmo"} else width


def _searched_width(hidden: int, factor: float) -> int:
    """Source: Llama-3_3-Nemotron-Super-49B modeling_decilm.py, _ffn_mult_to_intermediate_size."""
    return -(-int(2 * factor * hidden / 3) // 256) * 256


def _lfm2_width(config: HfConfig) -> int:
    """Source: transformers 5 models/lfm2/modeling_lfm2.py, Lfm2MLP."""
    width = config.required("block_ff_dim", "intermediate_size")
    if config.flag("block_auto_adjust_ff_dim") is False:
        return width
    multiple = config.integer("block_multiple_of") or 256
    return -(-(2 * width // 3) // multiple) * multiple


def is_routed(config: HfConfig, layer: int) -> bool:
    """Whether a layer's feed-forward part is routed experts, in the many ways that configurations say it."""
    if not _experts(config, layer):
        return False
    if layer in (config.integers("mlp_only_layers") or ()):
        return False
    names = config.values.get("mlp_layer_types")
    if isinstance(names, list) and layer < len(names):
        return str(names[layer]) != "dense"
    frequency = config.values.get("moe_layer_freq")
    if isinstance(frequency, list):
        return bool(frequency[layer]) if layer < len(frequency) else False
    if layer < (config.integer("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index", low=0) or 0):
        return False
    for name, shift in (("moe_layer_freq", 0), ("decoder_sparse_step", 1), ("interleave_moe_layer_step", 1)):
        step = config.integer(name)
        if step is not None and (layer + shift) % step:
            return False
    period = config.integer("expert_layer_period")
    return period is None or layer % period == (config.integer("expert_layer_offset", low=0) or 0)


def _experts(config: HfConfig, layer: int) -> int:
    return config.for_layer(layer, *EXPERTS, low=0) or 0


# Letters and words of a pattern in which every layer is one thing only (Nemotron-H).
_ONE_THING: Final = {"M": "", "*": "", "-": "dense", "E": "experts", "mamba": "", "attention": "", "mlp": "dense", "moe": "experts"}


def _only(config: HfConfig, layer: int) -> str | None:
    """What the layer is where every layer is one thing only: dense, experts or neither; None where layers are whole."""
    pattern = config.values.get("hybrid_override_pattern") or config.values.get("layers_block_type")
    if config.model_type != "nemotron_h" or not isinstance(pattern, str | list) or layer >= len(pattern):
        return None
    return _ONE_THING.get(str(pattern[layer]))


def feed_forward(config: HfConfig, traits: Traits, layer: int) -> FeedForwardCount:
    """Parameters of the feed-forward part of a layer, none where the layer has none."""
    hidden, bias = config.hidden_size, says(config, traits.mlp_bias)
    only = _only(config, layer)
    if only == "" or config.block(layer).section("ffn").flag("no_op"):
        return FeedForwardCount(0)
    if only == "dense" or (only is None and not is_routed(config, layer)):
        return FeedForwardCount(matrices(hidden=hidden, width=dense_width(config, layer), gated=traits.gated, bias=bias))
    count = _experts(config, layer)
    per_token = config.for_layer(layer, *EXPERTS_PER_TOKEN) or 1
    width = config.for_layer(layer, "moe_intermediate_size", "expert_ffn_hidden_size", *WIDTH) or 4 * hidden
    latent = config.integer("moe_latent_size", "routed_expert_hidden_size")
    expert = matrices(hidden=latent or hidden, width=width, gated=traits.gated, bias=bias)
    fixed = hidden * count + (count if traits.router_bias else 0) + (2 * hidden * latent if latent else 0)
    shared = _shared_width(config, layer, width)
    if shared:
        fixed += matrices(hidden=hidden, width=shared, gated=traits.gated) + (hidden if traits.shared_gate else 0)
    return FeedForwardCount(fixed, count * expert, min(per_token, count) * expert)


def _shared_width(config: HfConfig, layer: int, width: int) -> int:
    stated = config.for_layer(layer, *SHARED_WIDTH, low=0)
    if config.model_type == "llama4_text":
        return width
    if config.has(*SHARED):
        return (config.for_layer(layer, *SHARED, low=0) or 0) * (stated or width)
    return stated or 0
