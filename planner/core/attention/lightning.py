"""Lightning attention (MiniMax-Text-01, MiniMax-M1, Ling linear): one head-size square per head, nothing per token."""

from planner.core.attention import heads
from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.mamba import state_dtype
from planner.core.attention.stores import StateStore, Store
from planner.core.attention.words import LIGHTNING


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    """Source: vLLM 0.32 vllm/model_executor/layers/mamba/mamba_utils.py, linear_attention_state_shape."""
    width = heads.head_dim(config, layer)
    return (
        StateStore(
            "linear", conv_rows=0, inner=0, groups=0, group_width=0,
            heads=heads.attention_heads(config, layer), head_rows=width, head_columns=width, state_dtype=state_dtype(config),
        ),
    )  # fmt: skip


KIND = AttentionKind(name="lightning", layers_in=layers_called(LIGHTNING), stores=stores)
