"""Key-value heads and head sizes of a layer, under all the names that configurations give them."""

from typing import Final

from planner.core.attention.class_defaults import MULTI_HEAD
from planner.core.attention.config import BY_HAND, MAX_HEADS, ConfigError, HfConfig

HEADS: Final = (
    "decoder_attention_heads", "num_attention_heads_per_layer", "num_attention_heads", "n_head", "n_heads", "num_query_heads", "num_heads",
)  # fmt: skip
KV_HEADS: Final = (
    "num_key_value_heads_per_layer", "num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads", "multi_query_group_num",
    "num_attention_groups",
)  # fmt: skip
HEAD_DIM: Final = ("head_dim", "attention_head_dim", "kv_channels", "d_kv", "attention_head_size")


def attention_heads(config: HfConfig, layer: int = 0) -> int:
    """Query heads of a layer."""
    heads = config.for_layer(layer, *HEADS, high=MAX_HEADS)
    if heads is None:
        raise ConfigError(f"num_attention_heads is missing from this config.json ({config.title}): add it, or {BY_HAND}.")
    return heads


def kv_heads(config: HfConfig, layer: int = 0) -> int:
    """Key-value heads of a layer: fewer than query heads when grouped, one for multi-query attention.

    Source of the order: vLLM 0.32 vllm/config/model.py, ModelConfig.get_total_num_kv_heads.
    """
    heads = attention_heads(config, layer)
    if config.flag("multi_query") and not config.flag("new_decoder_architecture"):
        return 1
    if config.section("attn_config").raw("attn_type")[1] == "multiquery_attention":
        return 1
    if config.flag("multi_query_attention") is False:
        return heads
    shared_by = config.block(layer).section("attention").integer("n_heads_in_group", high=MAX_HEADS)
    if shared_by is not None and heads % shared_by == 0:
        return heads // shared_by
    grouped = config.for_layer(layer, *KV_HEADS, high=MAX_HEADS) or config.section("attn_config").integer("kv_n_heads", high=MAX_HEADS)
    if grouped is None and (config.model_type in MULTI_HEAD or "num_key_value_heads" in config.values):
        grouped = heads
    if grouped is None:
        raise ConfigError(
            f"num_key_value_heads is missing from this config.json ({config.title}), and its class has no documented default: "
            f"add it (the number of attention heads, {heads}, if every head has its own keys and values), or {BY_HAND}."
        )
    return _dividing(heads, grouped)


def head_dim(config: HfConfig, layer: int = 0) -> int:
    """Size of a key head: stated, or the hidden size shared among the query heads."""
    stated = config.for_layer(layer, *HEAD_DIM)
    if stated is not None:
        return stated
    heads, hidden = attention_heads(config, layer), config.hidden_size
    if hidden % heads:
        raise ConfigError(f"hidden_size {hidden:,} is no multiple of num_attention_heads {heads}, and this config.json states no head_dim.")
    return hidden // heads


def value_dim(config: HfConfig, layer: int = 0) -> int:
    """Size of a value head, where it differs from the key head's."""
    return config.for_layer(layer, "v_head_dim", low=0) or head_dim(config, layer)


def windowed_heads(config: HfConfig, layer: int) -> tuple[int, int, int]:
    """Key-value heads, key size and value size of a sliding-window layer, which some models give sizes of their own."""
    own = config.integer("swa_num_key_value_heads", high=MAX_HEADS)
    heads = kv_heads(config, layer) if own is None else _dividing(config.integer("swa_num_attention_heads", high=MAX_HEADS) or own, own)
    own_key = config.integer("swa_head_dim")
    key, value = (own_key, own_key) if own_key else (head_dim(config, layer), value_dim(config, layer))
    return heads, key, config.integer("swa_v_head_dim") or value


def global_heads(config: HfConfig, layer: int) -> tuple[int, int, int]:
    """Key-value heads, key size and value size of a full-attention layer.

    Gemma 4 gives its global layers a size of their own and, where keys double as values, their own number of heads.
    Source: transformers 5 models/gemma4/configuration_gemma4.py, Gemma4TextConfig.
    """
    own_heads = config.integer("num_global_key_value_heads", high=MAX_HEADS) if config.flag("attention_k_eq_v") is not False else None
    own_dim = config.integer("global_head_dim")
    return (
        kv_heads(config, layer) if own_heads is None else _dividing(attention_heads(config, layer), own_heads),
        own_dim or head_dim(config, layer),
        own_dim or value_dim(config, layer),
    )


def _dividing(heads: int, grouped: int) -> int:
    if grouped > heads or heads % grouped:
        raise ConfigError(f"num_key_value_heads {grouped} does not divide num_attention_heads {heads}: one of them is wrong.")
    return grouped
