"""Chunked local attention (Llama 4): a token sees its own chunk of the sequence and nothing before it."""

from planner.core.attention import heads
from planner.core.attention.config import MAX_TOKENS, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.schedule import CHUNKED
from planner.core.attention.stores import Store, TokenStore


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    chunk = config.required("attention_chunk_size", high=MAX_TOKENS)
    return (
        TokenStore(
            "chunked", heads=heads.kv_heads(config, layer), key_dim=heads.head_dim(config), value_dim=heads.value_dim(config), window=chunk
        ),
    )


KIND = AttentionKind(name="chunked", layers_in=layers_called(CHUNKED), stores=stores)
