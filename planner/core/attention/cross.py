"""Cross-attention (Llama 3.2 Vision): keys and values of an encoder's output, computed once per request."""

from planner.core.attention import heads
from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import CROSS


def cross_store(config: HfConfig, layer: int) -> TokenStore:
    return TokenStore(
        "cross", heads=heads.kv_heads(config, layer), key_dim=heads.head_dim(config, layer), value_dim=heads.value_dim(config, layer)
    )


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    return (cross_store(config, layer),)


KIND = AttentionKind(name="cross", layers_in=layers_called(CROSS), stores=stores)
