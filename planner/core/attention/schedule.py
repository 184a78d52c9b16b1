"""How configurations spell the order of their layers, read into one word per layer.

The words are this package's own vocabulary; an unknown word passes through as it stands, so that no kind claims its layer
and the refusal can name it. Where one spelling means different kinds (“linear_attention”), the keys beside it decide.
"""

import re
from collections.abc import Sequence
from typing import Final

from planner.core.attention.config import ConfigError, HfConfig, shown

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"
CHUNKED: Final = "chunked_attention"
LINEAR: Final = "linear_attention"
INDEXED: Final = "indexed_attention"
LATENT: Final = "latent_attention"
LATENT_SLIDING: Final = "latent_sliding_attention"
LATENT_INDEXED: Final = "latent_indexed_attention"
COMPRESSED: Final = "compressed_attention"
CROSS: Final = "cross_attention"
DECODER: Final = "decoder_with_cross_attention"
MAMBA: Final = "mamba"
MAMBA_AND_FULL: Final = "mamba_and_full_attention"
CONV_AND_FULL: Final = "convolution_and_full_attention"
CONV_AND_SLIDING: Final = "convolution_and_sliding_attention"
CONV: Final = "convolution"
GATED_DELTA: Final = "gated_delta_net"
KDA: Final = "kimi_delta_attention"
LIGHTNING: Final = "lightning_attention"
RWKV: Final = "rwkv"
RG_LRU: Final = "rg_lru"
SHARED: Final = "shared_attention"
NONE: Final = "no_attention"

_SYNONYMS: Final = {
    "attention": FULL, "attn": FULL, "full": FULL, "global": FULL, "global_attention": FULL, "*": FULL, "G": FULL,
    "swa": SLIDING, "local": SLIDING, "local_attention": SLIDING, "sliding": SLIDING, "reference_sliding_attention": SLIDING, "L": SLIDING,
    "chunked": CHUNKED,
    "mamba2": MAMBA, "M": MAMBA, "ssm": MAMBA,
    "conv": CONV, "short_conv": CONV,
    "deepseek_sparse_attention": INDEXED, "minimax_m3_sparse": INDEXED,
    "heavily_compressed_attention": COMPRESSED, "compressed_sparse_attention": COMPRESSED,
    "recurrent": RG_LRU,
    "kda": KDA, "gated_delta": GATED_DELTA, "jet": "jet",
    "moe": NONE, "mlp": NONE, "E": NONE, "-": NONE, "no_op": NONE,
}  # fmt: skip
_LISTS: Final = ("layer_types", "layers_block_type")


def layer_words(config: HfConfig) -> tuple[str, ...]:
    """One word per layer, in order. Raises ConfigError when the file contradicts itself about its layers."""
    words = list(_spelled(config) or _implied(config))
    if len(words) != config.layers:
        raise ConfigError(f"This config.json lists {len(words)} layer types for num_hidden_layers {config.layers}: one of them is wrong.")
    _overlay(words, config)
    return tuple(_specific(word, config) for word in words)


def states_schedule(config: HfConfig) -> bool:
    """Whether the file itself says which layer is which."""
    return _spelled(config) is not None


def _spelled(config: HfConfig) -> list[str] | None:
    """The order as the file states it, None when it states none."""
    for name in _LISTS:
        if config.has(name):
            return [_SYNONYMS.get(word, word) for word in _words(name, config.values[name], config.layers)]
    if config.has("hybrid_override_pattern"):
        pattern = config.text("hybrid_override_pattern") and str(config.values["hybrid_override_pattern"])
        return [_SYNONYMS.get(letter, letter) for letter in pattern or ""]
    if config.has("block_types"):
        return _cycled([_SYNONYMS.get(word, word) for word in _words("block_types", config.values["block_types"], None)], config.layers)
    for name, meaning in (("attn_type_list", (LINEAR, FULL)), ("hybrid_layer_pattern", (FULL, SLIDING))):
        numbers = config.integers(name, high=1)
        if numbers is not None:
            return [meaning[number] for number in numbers]
    return None


def _implied(config: HfConfig) -> list[str]:
    """The order that follows from an interval, a list of numbers or the model as a whole."""
    layers, every = config.layers, range(config.layers)
    linear = config.section("linear_attn_config")
    one_based = next((name for name in linear.values if name.startswith("full_attn_layers")), None)
    for name, section, base, other in (
        ("full_attn_idxs", config, 0, CONV),
        ("attn_layer_indices", config, 0, MAMBA),
        (one_based or "full_attn_layers", linear, 1, LINEAR),
    ):
        numbers = section.integers(name, low=base, high=layers - 1 + base)
        if numbers is not None and not _runs_in_parallel(config):
            return [FULL if layer + base in numbers else other for layer in every]
    interval = config.integer("full_attention_interval", "layer_group_size", high=layers)
    if interval is not None:
        return [LINEAR if (layer + 1) % interval else FULL for layer in every]
    period = config.integer("attn_layer_period")
    if period is not None:
        offset = config.integer("attn_layer_offset", low=0) or 0
        return [FULL if layer % period == offset else MAMBA for layer in every]
    if config.has("attention_chunk_size") and config.has("no_rope_layers", "no_rope_layer_interval"):
        return _chunked(config)
    if config.has("compress_ratios"):
        return [COMPRESSED] * layers
    if _runs_in_parallel(config):
        return [MAMBA_AND_FULL] * layers
    if config.model_type.startswith("rwkv"):
        return [RWKV] * layers
    if config.has("state_size", "ssm_state_size") and not config.has("num_attention_heads"):
        return [MAMBA] * layers
    return _windowed(config)


def _chunked(config: HfConfig) -> list[str]:
    """Llama 4: layers without rotary positions see everything, the others their chunk."""
    rotary = config.integers("no_rope_layers", high=1)
    if not rotary:
        interval = config.required("no_rope_layer_interval")
        rotary = tuple(int((layer + 1) % interval != 0) for layer in range(config.layers))
    return [CHUNKED if uses_rope else FULL for uses_rope in rotary]


def _windowed(config: HfConfig) -> list[str]:
    """Sliding windows without a list: by pattern, from a layer on, or everywhere."""
    layers = config.layers
    if not config.has("sliding_window", "sliding_window_size", "attention_window_size") or config.flag("use_sliding_window") is False:
        return [FULL] * layers
    _, pattern = config.raw("sliding_window_pattern")
    if isinstance(pattern, str):
        return _cycled([_SYNONYMS.get(letter, letter) for letter in pattern[:64]], layers)
    period = config.integer("sliding_window_pattern")
    if period is not None:
        return [SLIDING if (layer + 1) % period else FULL for layer in range(layers)]
    if config.flag("use_sliding_window"):
        first = config.integer("max_window_layers", low=0) or 0
        return [FULL if layer < first else SLIDING for layer in range(layers)]
    return [SLIDING] * layers


def _overlay(words: list[str], config: HfConfig) -> None:
    """Facts stated apart from the order: cross-attention layers, layers that reuse another's cache, removed attention."""
    layers = len(words)
    if config.flag("is_encoder_decoder") or config.has("decoder_layers"):
        words[:] = [DECODER if word == FULL else word for word in words]
    for layer in config.integers("cross_attention_layers", high=layers - 1) or ():
        words[layer] = CROSS
    sparse = config.section("sparse_attention_config")
    if sparse.flag("use_sparse_attention") is not False:
        for layer, on in enumerate(sparse.integers("sparse_attention_freq", high=1) or ()):
            if on and layer < layers:
                words[layer] = INDEXED
    if config.model_type.startswith("gemma4") and words[-1] == SLIDING:
        words[-1] = FULL
    shared = config.integer("num_kv_shared_layers", low=0, high=layers - 1) or 0
    words[layers - shared :] = [SHARED] * shared
    if config.flag("use_cla"):
        factor = config.required("cla_share_factor")
        words[:] = [SHARED if layer % factor else word for layer, word in enumerate(words)]
    for layer, block in enumerate(_blocks(config, layers)):
        if block.flag("no_op") or block.flag("replace_with_linear"):
            words[layer] = NONE


def _blocks(config: HfConfig, layers: int) -> list[HfConfig]:
    """The attention part of each block of a network found by search (NAS), empty when there are none."""
    _, blocks = config.raw("block_configs")
    if blocks is None:
        return []
    if not isinstance(blocks, list) or len(blocks) != layers:
        raise ConfigError(f"block_configs must be a list with one entry for each of the {layers} layers of this config.json.")
    return [HfConfig(values=block if isinstance(block, dict) else {}, root=config.root).section("attention") for block in blocks]


def block_attention(config: HfConfig, layer: int) -> HfConfig:
    """The attention part of one block of a network found by search, an empty view where there is none."""
    blocks = _blocks(config, config.layers)
    return blocks[layer] if layer < len(blocks) else HfConfig(values={}, root=config.root)


def keeps_latent(config: HfConfig) -> bool:
    """Whether attention caches one compressed vector per token (multi-head latent attention)."""
    return config.integer("kv_lora_rank") is not None and config.flag("use_mla") is not False


def _runs_in_parallel(config: HfConfig) -> bool:
    return config.model_type.startswith("falcon_h1")


def _specific(word: str, config: HfConfig) -> str:
    """The kind that a word means in this configuration."""
    latent = keeps_latent(config)
    if word == FULL and latent:
        return LATENT_INDEXED if config.has("index_head_dim") else LATENT
    if word == INDEXED and latent:
        return LATENT_INDEXED
    if word == SLIDING and latent:
        return LATENT_SLIDING
    if word == LINEAR:
        return _linear(config)
    if word == "hybrid":
        return CONV_AND_FULL if config.has("number_of_conv_states", "sconv_kernel_size") else MAMBA_AND_FULL
    if word == "hybrid_sliding":
        return CONV_AND_SLIDING
    return word


def _linear(config: HfConfig) -> str:
    if config.has("linear_num_value_heads", "linear_num_key_heads"):
        return GATED_DELTA
    if config.has("linear_attn_config", "linear_head_dim"):
        return KDA
    if config.has("mamba_d_state", "ssm_state_size"):
        return MAMBA
    if config.has("attn_type_list") or config.model_type.startswith(("minimax", "bailing_moe")):
        return LIGHTNING
    return LINEAR


_ELSEWHERE: Final = re.compile(r"(\w+) at ([\d, ]+); ?(\w+) elsewhere")
_COUNTED: Final = re.compile(r"(\d{1,3}) (\w+)")


def _words(name: str, value: object, layers: int | None) -> list[str]:
    """The words of a list, or of a shorthand for one as people write it by hand.

    Shorthand: “4 sliding_attention : 1 full_attention”, “alternating a/b”, “a at 3,7; b elsewhere”.
    """
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return [word[:60] for word in value]
    if isinstance(value, str) and layers is not None:
        if match := _ELSEWHERE.fullmatch(value):
            at = {int(number) for number in re.findall(r"\d+", match[2])}
            return [match[1] if layer in at else match[3] for layer in range(layers)]
        if value.startswith("alternating "):
            return _cycled(value.removeprefix("alternating ").split("/"), layers)
        counted = [_COUNTED.fullmatch(part.strip()) for part in value.split(":")]
        if all(counted):
            return _cycled([part[2] for part in counted if part for _ in range(int(part[1]))], layers)
    raise ConfigError(f"{name} is {shown(value)} in this config.json: it must be a list with one layer type per layer.")


def _cycled(pattern: Sequence[str], layers: int) -> list[str]:
    if not pattern:
        raise ConfigError("This config.json gives an empty pattern of layer types.")
    return [pattern[layer % len(pattern)] for layer in range(layers)]
