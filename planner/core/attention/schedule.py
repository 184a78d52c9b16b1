"""One word per layer: the order as the file spells it, with what it states elsewhere laid over it.

Where one spelling means different kinds (“linear_attention”), the keys beside it decide. An unknown word passes through as
it stands, so that no kind claims its layer and the refusal can name it.
"""

from typing import Final

from planner.core.attention.config import ConfigError, HfConfig
from planner.core.attention.spelling import spelled
from planner.core.attention.words import (
    COMPRESSED,
    CONV_AND_FULL,
    CONV_AND_SLIDING,
    CROSS,
    DECODER,
    FULL,
    GATED_DELTA,
    INDEXED,
    KDA,
    LATENT,
    LATENT_INDEXED,
    LATENT_SLIDING,
    LIGHTNING,
    LINEAR,
    MAMBA,
    MAMBA_AND_FULL,
    NONE,
    SHARED,
    SLIDING,
)

_LIGHTNING_TYPES: Final = ("minimax", "bailing_moe", "bailing_hybrid")


def layer_words(config: HfConfig) -> tuple[str, ...]:
    """One word per layer, in order. Raises ConfigError when the file contradicts itself about its layers."""
    words = spelled(config)
    if len(words) != config.layers:
        raise ConfigError(f"This config.json lists {len(words)} layer types for num_hidden_layers {config.layers}: one of them is wrong.")
    _lay_over(words, config)
    meaning = {word: _meaning(word, config) for word in set(words)}
    return tuple(meaning[word] for word in words)


def _lay_over(words: list[str], config: HfConfig) -> None:
    """Facts stated apart from the order: cross-attention, sparse and removed layers, layers that reuse another's cache."""
    layers = len(words)
    if config.flag("is_encoder_decoder") or config.has("decoder_layers"):
        words[:] = [DECODER if word == FULL else word for word in words]
    for layer in config.integers("cross_attention_layers", high=layers - 1) or ():
        words[layer] = CROSS
    sparse = config.section("sparse_attention_config")
    if sparse.flag("use_sparse_attention") is not False:
        for layer, on in enumerate((sparse.integers("sparse_attention_freq", high=1) or ())[:layers]):
            words[layer] = INDEXED if on else words[layer]
    if config.model_type.startswith("gemma4") and words[-1] == SLIDING:
        words[-1] = FULL  # the class insists on it: transformers 5, Gemma4TextConfig
    shared = config.integer("num_kv_shared_layers", low=0, high=layers - 1) or 0
    words[layers - shared :] = [SHARED] * shared
    if config.flag("use_cla"):
        factor = config.required("cla_share_factor")
        words[:] = [SHARED if layer % factor else word for layer, word in enumerate(words)]
    for layer in _removed(config, layers):
        words[layer] = NONE


def _removed(config: HfConfig, layers: int) -> list[int]:
    """Layers of a network found by search (NAS) whose attention was removed or replaced by a linear layer."""
    _, blocks = config.raw("block_configs")
    if blocks is None:
        return []
    if not isinstance(blocks, list) or len(blocks) != layers:
        raise ConfigError(f"block_configs must be a list with one entry for each of the {layers} layers of this config.json.")
    attention = [config.block(layer).section("attention") for layer in range(layers)]
    return [layer for layer, block in enumerate(attention) if block.flag("no_op") or block.flag("replace_with_linear")]


def _meaning(word: str, config: HfConfig) -> str:
    """What a word means beside the other keys of this configuration."""
    if word == "hybrid":
        return CONV_AND_FULL if config.has("number_of_conv_states", "sconv_kernel_size") else MAMBA_AND_FULL
    if word == "hybrid_sliding":
        return CONV_AND_SLIDING
    if word == LINEAR:
        return _linear(config)
    if word == SLIDING and config.has("compress_rates", "compress_ratios"):
        return COMPRESSED
    return _latent(word, config) if _keeps_latent(config) else word


def _latent(word: str, config: HfConfig) -> str:
    indexed = LATENT_INDEXED if config.has("index_head_dim") else LATENT
    return {FULL: indexed, INDEXED: LATENT_INDEXED, SLIDING: LATENT_SLIDING}.get(word, word)


def _keeps_latent(config: HfConfig) -> bool:
    """Whether attention caches one compressed vector per token (multi-head latent attention)."""
    return config.integer("kv_lora_rank") is not None and config.flag("use_mla") is not False


def _linear(config: HfConfig) -> str:
    if config.has("linear_num_value_heads", "linear_num_key_heads"):
        return GATED_DELTA
    if config.has("linear_attn_config", "linear_head_dim"):
        return KDA
    if config.has("mamba_d_state", "ssm_state_size"):
        return MAMBA
    if config.has("attn_type_list") or config.model_type.startswith(_LIGHTNING_TYPES):
        return LIGHTNING
    return LINEAR
