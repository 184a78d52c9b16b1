"""Kimi delta attention (Kimi Linear, Ling 3, GLM-5.3 Flash): a delta rule with its own decay for every channel.

Queries, keys and values have the same heads, each with a convolution of its own.
Source of the shapes: vLLM 0.32 vllm/model_executor/layers/mamba/mamba_utils.py, kda_state_shape.
"""

from planner.core.attention.config import MAX_HEADS, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.mamba import state_dtype
from planner.core.attention.stores import StateStore, Store
from planner.core.attention.words import KDA


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - all layers alike
    own = config.section("linear_attn_config")
    heads = own.integer("num_heads", high=MAX_HEADS) or config.required("linear_num_heads", high=MAX_HEADS)
    width = own.integer("head_dim") or config.required("linear_head_dim")
    kernel = own.integer("short_conv_kernel_size") or config.required("linear_conv_kernel_dim", "short_conv_kernel_size")
    return (
        StateStore(
            "kda", conv_rows=kernel - 1, inner=heads * width, groups=heads, group_width=width,
            heads=heads, head_rows=width, head_columns=width, state_dtype=state_dtype(config),
        ),
    )  # fmt: skip


KIND = AttentionKind(name="kda", layers_in=layers_called(KDA), stores=stores)
