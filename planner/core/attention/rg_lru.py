"""Real-gated linear recurrent unit (RecurrentGemma): a convolution and one number per channel."""

from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import StateStore, Store
from planner.core.attention.words import RG_LRU


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - all layers alike
    """Source: transformers 5 models/recurrent_gemma/modeling_recurrent_gemma.py, RecurrentGemmaRecurrentBlock."""
    width = config.integer("lru_width") or config.hidden_size
    kernel = config.required("conv1d_width")
    return (StateStore("linear", conv_rows=kernel - 1, inner=width, groups=0, group_width=0, heads=width, head_rows=1, head_columns=1),)


KIND = AttentionKind(name="rg_lru", layers_in=layers_called(RG_LRU), stores=stores)
