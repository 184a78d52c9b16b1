"""Sliding-window attention between short convolutions (Inkling's local layers)."""

from planner.core.attention import sliding_window
from planner.core.attention.config import HfConfig
from planner.core.attention.convolution_and_full import convolutions
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store
from planner.core.attention.words import CONV_AND_SLIDING


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    attention = sliding_window.sliding_store(config, layer)
    return attention, convolutions(config, attention)


KIND = AttentionKind(name="convolution_and_sliding", layers_in=layers_called(CONV_AND_SLIDING), stores=stores)
