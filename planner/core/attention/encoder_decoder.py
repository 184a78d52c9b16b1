"""Decoder layers of an encoder-decoder (Whisper, T5): their own keys and values, and those of the encoder's output."""

from planner.core.attention import full
from planner.core.attention.config import HfConfig
from planner.core.attention.cross import cross_store
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store
from planner.core.attention.words import DECODER


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    return full.full_store(config, layer), cross_store(config, layer)


KIND = AttentionKind(name="encoder_decoder", layers_in=layers_called(DECODER), stores=stores)
