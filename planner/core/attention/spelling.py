"""How configurations spell the order of their layers: lists, letters, numbers, intervals, or nothing at all."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from planner.core.attention.config import BY_HAND, ConfigError, HfConfig, shown
from planner.core.attention.words import CHUNKED, COMPRESSED, CONV, FULL, LINEAR, MAMBA, MAMBA_AND_FULL, RWKV, SLIDING, own_word

# Keys of recurrent layers: where one stands and nothing says which layers are meant, the order is not guessed.
_RECURRENT_KEYS: Final = (
    "mamba_d_state", "ssm_state_size", "mamba_ssm_dtype", "mb_per_layer", "linear_num_key_heads", "linear_num_value_heads", "linear_attn_config",
    "lru_width", "conv_L_cache",
)  # fmt: skip


def spelled(config: HfConfig) -> list[str]:
    """One word per layer as the file states or implies it, synonyms resolved."""
    for reading in (_listed, _lettered, _numbered, _enumerated, _at_intervals, _by_model):
        words = reading(config)
        if words is not None:
            return [own_word(word) for word in words]
    unplaced = next((key for key in _RECURRENT_KEYS if config.has(key)), None)
    if unplaced is not None:
        raise ConfigError(
            f"This config.json ({config.title}) has {unplaced} but does not say which layers it is for: add layer_types, or {BY_HAND}."
        )
    return _windowed(config)


def _listed(config: HfConfig) -> Sequence[str] | None:
    """A list of names, or a short pattern of names that repeats."""
    for name in ("layer_types", "layers_block_type"):
        if config.has(name):
            return _names(name, config.values[name], config.layers)
    if config.has("block_types"):
        repeated = _repeated(_names("block_types", config.values["block_types"], None), config.layers)
        return [SLIDING if word == "attention" and config.has("attention_window_size") else word for word in repeated]
    return None


def _lettered(config: HfConfig) -> Sequence[str] | None:
    """Nemotron-H: one letter per layer."""
    _, pattern = config.raw("hybrid_override_pattern")
    if pattern is not None and not isinstance(pattern, str):
        raise ConfigError(f"hybrid_override_pattern is {shown(pattern)} in this config.json: it must be a text with one letter per layer.")
    return pattern


def _numbered(config: HfConfig) -> Sequence[str] | None:
    """A list of zeros and ones: MiniMax-M1 (1 is full attention), MiMo-V2 and SmallThinker (1 is a sliding window)."""
    for name, meaning in (
        ("attn_type_list", (LINEAR, FULL)),
        ("hybrid_layer_pattern", (FULL, SLIDING)),
        ("sliding_window_layout", (FULL, SLIDING)),
    ):
        numbers = config.integers(name, high=1)
        if numbers is not None:
            return [meaning[number] for number in numbers]
    return None


def _enumerated(config: HfConfig) -> Sequence[str] | None:
    """The numbers of the layers with full attention; Kimi counts them from one."""
    if runs_in_parallel(config):
        return None
    linear = config.section("linear_attn_config")
    from_one = next((name for name in linear.values if str(name).startswith("full_attn_layers")), "full_attn_layers")
    for name, section, first, others in (
        ("full_attn_idxs", config, 0, CONV),
        ("attn_layer_indices", config, 0, MAMBA),
        (from_one, linear, 1, LINEAR),
    ):
        numbers = section.integers(name, low=first, high=config.layers - 1 + first)
        if numbers is not None:
            return [FULL if layer + first in numbers else others for layer in range(config.layers)]
    return None


def _at_intervals(config: HfConfig) -> Sequence[str] | None:
    """Full attention in every n-th layer."""
    layers = range(config.layers)
    interval = config.integer("full_attention_interval")
    if interval is not None:
        return [LINEAR if (layer + 1) % interval else FULL for layer in layers]
    group = config.integer("layer_group_size")
    if group is not None:
        whole = config.layers // group * group  # Ling: what is left over after whole groups attends in full
        return [LINEAR if (layer + 1) % group and layer < whole else FULL for layer in layers]
    period = config.integer("attn_layer_period")
    if period is not None:
        offset = config.integer("attn_layer_offset", low=0) or 0
        return [FULL if layer % period == offset else MAMBA for layer in layers]
    if config.has("attention_chunk_size") and config.has("no_rope_layers", "no_rope_layer_interval"):
        return _chunked(config)
    return None


def _chunked(config: HfConfig) -> Sequence[str]:
    """Llama 4: layers without rotary positions see everything, the others their chunk."""
    rotary: Sequence[int] | None = config.integers("no_rope_layers", high=1)
    if not rotary:
        interval = config.required("no_rope_layer_interval")
        rotary = [int((layer + 1) % interval != 0) for layer in range(config.layers)]
    return [CHUNKED if uses_rotary else FULL for uses_rotary in rotary]


def _by_model(config: HfConfig) -> Sequence[str] | None:
    """All layers alike, which the keys or the model type as a whole show."""
    conditions: tuple[tuple[str, Callable[[HfConfig], bool]], ...] = (
        (COMPRESSED, lambda c: c.has("compress_ratios")),
        (MAMBA_AND_FULL, runs_in_parallel),
        (RWKV, lambda c: c.model_type.startswith("rwkv")),
        (MAMBA, lambda c: c.has("state_size") and not c.has("num_attention_heads")),
    )
    word = next((word for word, holds in conditions if holds(config)), None)
    return None if word is None else [word] * config.layers


def runs_in_parallel(config: HfConfig) -> bool:
    """Falcon-H1: attention and Mamba side by side in every layer."""
    return config.model_type.startswith("falcon_h1")


def _windowed(config: HfConfig) -> list[str]:
    """Sliding windows without a list: by pattern, from a layer on, or everywhere.

    Source: vLLM 0.32 vllm/config/model.py, ModelConfig.get_sliding_window, and the classes' layer_types in transformers 5.
    """
    layers = config.layers
    if not config.has("sliding_window", "sliding_window_size", "attention_window_size") or config.flag("use_sliding_window") is False:
        return [FULL] * layers
    _, pattern = config.raw("sliding_window_pattern")
    if isinstance(pattern, str):
        return _repeated([own_word(letter) for letter in pattern[:64]], layers)
    period = config.integer("sliding_window_pattern")
    if period is not None:
        return [SLIDING if (layer + 1) % period else FULL for layer in range(layers)]
    if config.flag("use_sliding_window"):
        first = config.integer("max_window_layers", low=0) or 0
        return [FULL if layer < first else SLIDING for layer in range(layers)]
    return [SLIDING] * layers


_ELSEWHERE: Final = re.compile(r"(\w{1,40}) at ([\d, ]{1,4000}); ?(\w{1,40}) elsewhere")
_COUNTED: Final = re.compile(r"(\d{1,3}) (\w{1,40})")


def _names(name: str, value: object, layers: int | None) -> Sequence[str]:
    """The words of a list, or of a shorthand for one as people write it by hand.

    Shorthand: “4 sliding_attention : 1 full_attention”, “alternating a/b”, “a at 3,7; b elsewhere”.
    """
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return value
    words = _shorthand(value, layers) if isinstance(value, str) and layers is not None else None
    if words is None:
        raise ConfigError(f"{name} is {shown(value)} in this config.json: it must be a list with one layer type per layer.")
    return words


def _shorthand(text: str, layers: int) -> Sequence[str] | None:
    if match := _ELSEWHERE.fullmatch(text):
        at = set(re.findall(r"\d+", match[2]))
        return [match[1] if str(layer) in at else match[3] for layer in range(layers)]
    if text.startswith("alternating "):
        return _repeated(text.removeprefix("alternating ").split("/"), layers)
    counted = [_COUNTED.fullmatch(part.strip()) for part in text[:400].split(":")]
    if all(counted):
        return _repeated([part[2] for part in counted if part for _ in range(int(part[1]))], layers)
    return None


def _repeated(pattern: Sequence[str], layers: int) -> list[str]:
    if not pattern:
        raise ConfigError("This config.json gives an empty pattern of layer types.")
    return [pattern[layer % len(pattern)] for layer in range(layers)]
