"""Multi-head latent attention (DeepSeek): one compressed vector per token instead of keys and values."""

from planner.core.attention.config import MAX_TOKENS, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.schedule import LATENT, LATENT_SLIDING, layer_words
from planner.core.attention.sliding_window import WINDOW
from planner.core.attention.stores import Store, TokenStore


def latent_store(config: HfConfig, layer: int, *, window: int | None = None) -> TokenStore:
    """The latent vector with the rotary part of the key beside it; every tensor-parallel rank holds all of it."""
    rank = config.for_layer(layer, "kv_lora_rank") or config.required("kv_lora_rank")
    rotary = config.for_layer(layer, "qk_rope_head_dim", low=0)
    rotary = config.required("qk_rope_head_dim") if rotary is None else rotary
    return TokenStore("latent", heads=1, key_dim=rank + rotary, value_dim=0, window=window, per_rank=True)


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    words = layer_words(config)
    slides = layer < len(words) and words[layer] == LATENT_SLIDING
    return (latent_store(config, layer, window=config.required(*WINDOW, high=MAX_TOKENS) if slides else None),)


KIND = AttentionKind(name="latent", layers_in=layers_called(LATENT, LATENT_SLIDING), stores=stores)
