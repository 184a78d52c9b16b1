"""Latent attention over a sliding window: the compressed vectors of the last tokens only."""

from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.latent import latent_size
from planner.core.attention.sliding_window import window
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import LATENT_SLIDING


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    return (TokenStore("sliding", heads=1, key_dim=latent_size(config, layer), value_dim=0, window=window(config), per_rank=True),)


KIND = AttentionKind(name="latent_sliding", layers_in=layers_called(LATENT_SLIDING), stores=stores)
