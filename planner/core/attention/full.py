"""Full attention (MHA, GQA, MQA): keys and values of every token, for as long as the sequence lives."""

from planner.core.attention import heads
from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import FULL


def full_store(config: HfConfig, layer: int) -> TokenStore:
    kv_heads, key_dim, value_dim = heads.global_heads(config, layer)
    return TokenStore("full", heads=kv_heads, key_dim=key_dim, value_dim=value_dim)


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    return (full_store(config, layer),)


KIND = AttentionKind(name="full", layers_in=layers_called(FULL), stores=stores)
