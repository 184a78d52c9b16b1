"""Latent attention with a sparse indexer beside it (DeepSeek-V3.2, GLM-5): small keys that choose which tokens are read."""

from planner.core.attention import latent
from planner.core.attention.config import ConfigError, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import LATENT_INDEXED


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    """The latent vector and the index key of a token. A layer that shares another's index keeps no index keys."""
    keys = TokenStore(
        "indexer",
        heads=1,
        key_dim=config.required("index_head_dim"),
        value_dim=0,
        per_rank=True,
        tokens_per_row=config.integer("index_kpool", high=4096) or 1,
    )
    return (*latent.stores(config, layer), *(() if _shares_index(config, layer) else (keys,)))


def _shares_index(config: HfConfig, layer: int) -> bool:
    """Draft layers, past the end of the list, have an index of their own."""
    _, types = config.raw("indexer_types")
    if types is None:
        return False
    if not isinstance(types, list):
        raise ConfigError("indexer_types must be a list of “full” and “shared” in this config.json, one per layer.")
    return layer < len(types) and types[layer] == "shared"


KIND = AttentionKind(name="latent_indexed", layers_in=layers_called(LATENT_INDEXED), stores=stores)
