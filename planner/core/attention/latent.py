"""Multi-head latent attention (DeepSeek): one compressed vector per token instead of keys and values."""

from planner.core.attention import heads
from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import LATENT


def latent_size(config: HfConfig, layer: int) -> int:
    """Elements of one token's latent vector with the rotary part of its key."""
    rank = config.for_layer(layer, "kv_lora_rank") or config.required("kv_lora_rank")
    rotary = config.for_layer(layer, "qk_rope_head_dim", low=0)
    return rank + (config.required("qk_rope_head_dim") if rotary is None else rotary)


def expanded_sizes(config: HfConfig, layer: int) -> tuple[int, int, int] | None:
    """Heads, key size and value size that the latent vector is expanded to in the computation; None where the file leaves one out."""
    nope = config.integer("qk_nope_head_dim", low=0)
    if nope is None or not config.has(*heads.HEADS):
        return None
    count = heads.attention_heads(config, layer)
    value = config.integer("v_head_dim") or config.hidden_size // count
    return count, nope + (config.integer("qk_rope_head_dim", low=0) or 0), value


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    return (
        TokenStore(
            "latent", heads=1, key_dim=latent_size(config, layer), value_dim=0, per_rank=True, expanded=expanded_sizes(config, layer)
        ),
    )  # fmt: skip


KIND = AttentionKind(name="latent", layers_in=layers_called(LATENT), stores=stores)
