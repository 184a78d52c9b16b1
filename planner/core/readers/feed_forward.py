"""The feed-forward part of a model: sizes of dense layers and of experts, under all the names configurations give them."""

from typing import Final

from planner.core.attention.config import MAX_LAYERS, HfConfig
from planner.core.model_shape import FeedForward

_DENSE: Final = (
    "dense_intermediate_size", "intermediate_size_mlp", "decoder_ffn_dim", "ffn_hidden_size", "ffn_dim", "n_inner", "d_ff", "block_ff_dim",
    "intermediate_size", "hidden_dim",
)  # fmt: skip
_EXPERTS: Final = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_CHOSEN: Final = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "moe_k",
    "moe_topk",
    "moe_top_k",
    "top_k_experts",
    "num_selected_experts",
)
_SHARED_SIZE: Final = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
    "share_expert_dim",
)
_SHARED_COUNT: Final = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
MAX_EXPERTS: Final = 65_536


def feed_forward(view: HfConfig) -> FeedForward:
    """Zero where a model has no such part or the file does not state it (GPT-2 and its like use four times the hidden size)."""
    view = HfConfig(values={**view.section("ffn_config").values, **view.values}, root=view.root)
    experts = view.integer(*_EXPERTS, low=0, high=MAX_EXPERTS) or 0
    dense = _largest(view, *_DENSE) or (0 if experts else 4 * view.hidden_size)
    if experts < 2:
        return FeedForward(intermediate_size=dense)
    own = _largest(view, "moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size")
    shared = _largest(view, *_SHARED_SIZE) or _largest(view, *_SHARED_COUNT) * own
    return FeedForward(
        intermediate_size=dense,
        experts=experts,
        experts_per_token=min(_largest(view, *_CHOSEN) or 1, experts),
        expert_intermediate_size=own,
        shared_expert_intermediate_size=shared,
        dense_layers=min(_dense_layers(view), view.layers),
    )


def _largest(view: HfConfig, *names: str) -> int:
    """A size that may be one number, or a list per layer of which the largest is meant; 0 when absent."""
    name, value = view.raw(*names)
    return max(view.integers(name) or (0,)) if isinstance(value, list) else view.integer(*names, low=0) or 0


def _dense_layers(view: HfConfig) -> int:
    """Layers without experts: the first few, a list, or every other one."""
    layers = view.layers
    types = view.values.get("mlp_layer_types")
    if isinstance(types, list):
        return types.count("dense")
    if isinstance(view.values.get("moe_layer_freq"), list):
        return (view.integers("moe_layer_freq", high=1) or ()).count(0)
    first = view.integer("first_k_dense_replace", "moe_layer_start_index", low=0, high=MAX_LAYERS)
    if first is not None:
        return first
    if isinstance(view.values.get("mlp_only_layers"), list) and view.values["mlp_only_layers"]:
        return len(view.integers("mlp_only_layers") or ())
    step = view.integer("decoder_sparse_step", "interleave_moe_layer_step", "expert_layer_period", high=MAX_LAYERS)
    return layers - layers // step if step else 0
