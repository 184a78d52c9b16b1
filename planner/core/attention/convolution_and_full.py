"""Full attention between short convolutions (Inkling): on keys, values, the attention's output and the feed-forward's."""

from planner.core.attention import full
from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.short_convolution import convolution_state
from planner.core.attention.stores import StateStore, Store, TokenStore
from planner.core.attention.words import CONV_AND_FULL


def convolutions(config: HfConfig, attention: TokenStore) -> StateStore:
    """The four convolutions of a layer. Source: transformers 5 models/inkling/modeling_inkling.py, InklingDecoderLayer."""
    kernel = config.required("conv_kernel_size", "sconv_kernel_size")
    return convolution_state(rows=kernel - 1, channels=attention.elements_per_row + 2 * config.hidden_size)


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    attention = full.full_store(config, layer)
    return attention, convolutions(config, attention)


KIND = AttentionKind(name="convolution_and_full", layers_in=layers_called(CONV_AND_FULL), stores=stores)
