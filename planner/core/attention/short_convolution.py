"""Short convolution (LFM2): the last few inputs of a layer, and nothing else."""

from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import StateStore, Store
from planner.core.attention.words import CONV


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - all layers alike
    """Source: vLLM 0.32 vllm/model_executor/layers/mamba/mamba_utils.py, short_conv_state_shape."""
    return (convolution_state(rows=config.required("conv_L_cache") - 1, channels=config.integer("conv_dim") or config.hidden_size),)


def convolution_state(*, rows: int, channels: int) -> StateStore:
    return StateStore("short_conv", conv_rows=rows, inner=channels, groups=0, group_width=0, heads=0, head_rows=0, head_columns=0)


KIND = AttentionKind(name="short_convolution", layers_in=layers_called(CONV), stores=stores)
