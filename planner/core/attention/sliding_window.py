"""Sliding-window attention: keys and values of the last tokens only, in every layer or in a pattern with full ones."""

from typing import Final

from planner.core.attention import heads
from planner.core.attention.config import MAX_TOKENS, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import SLIDING

WINDOW: Final = ("sliding_window", "sliding_window_size", "attention_window_size")
# Classes that let a token see `sliding_window` tokens before itself, so that one more is kept.
# Source: vLLM 0.32 vllm/model_executor/models/commandr.py, CohereAttention.
_EXCLUSIVE: Final = frozenset(("cohere2",))


def window(config: HfConfig) -> int:
    """Tokens a sliding-window layer keeps."""
    local = config.section("efficient_attention_config").section("swa")
    stated = local.integer("window_size", high=MAX_TOKENS) or config.required(*WINDOW, high=MAX_TOKENS)
    return stated + (config.model_type in _EXCLUSIVE)


def sliding_store(config: HfConfig, layer: int) -> TokenStore:
    kv_heads, key_dim, value_dim = heads.windowed_heads(config, layer)
    return TokenStore("sliding", heads=kv_heads, key_dim=key_dim, value_dim=value_dim, window=window(config))


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    return (sliding_store(config, layer),)


KIND = AttentionKind(name="sliding", layers_in=layers_called(SLIDING), stores=stores)
