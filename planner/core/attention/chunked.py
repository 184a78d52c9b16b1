"""Chunked local attention (Llama 4): a token sees its own chunk of the sequence and nothing before it."""

from planner.core.attention import heads
from planner.core.attention.config import MAX_TOKENS, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import CHUNKED


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    chunk = config.required("attention_chunk_size", high=MAX_TOKENS)
    kv_heads, key_dim, value_dim = heads.global_heads(config, layer)
    return (TokenStore("chunked", heads=kv_heads, key_dim=key_dim, value_dim=value_dim, window=chunk),)


KIND = AttentionKind(name="chunked", layers_in=layers_called(CHUNKED), stores=stores)
