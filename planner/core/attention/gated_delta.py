"""Gated delta net (Qwen3-Next, Qwen3.5, OLMo hybrid): linear attention with a state of key × value size per head.

Source of the shapes: vLLM 0.32 vllm/model_executor/layers/mamba/mamba_utils.py, gated_delta_net_state_shape.
"""

from planner.core.attention.config import MAX_HEADS, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.mamba import state_dtype
from planner.core.attention.stores import StateStore, Store
from planner.core.attention.words import GATED_DELTA


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - all layers alike
    value_heads, value_dim = config.required("linear_num_value_heads", high=MAX_HEADS), config.required("linear_value_head_dim")
    key_heads, key_dim = config.required("linear_num_key_heads", high=MAX_HEADS), config.required("linear_key_head_dim")
    return (
        StateStore(
            "gated_delta", conv_rows=config.required("linear_conv_kernel_dim") - 1, inner=value_heads * value_dim, groups=key_heads, group_width=key_dim,
            heads=value_heads, head_rows=value_dim, head_columns=key_dim, state_dtype=state_dtype(config),
        ),
    )  # fmt: skip


KIND = AttentionKind(name="gated_delta", layers_in=layers_called(GATED_DELTA), stores=stores)
