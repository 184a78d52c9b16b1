"""The longest context a model was made for, and the length of an encoder's output."""

from collections.abc import Mapping
from typing import Final

from planner.core.attention.config import MAX_TOKENS, HfConfig
from planner.core.model_shape import Layer

_LENGTHS: Final = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions", "max_sequence_length",
    "max_seq_length", "seq_len", "context_length",
)  # fmt: skip
# Position schemes whose stated length is already the stretched one.
_AS_STATED: Final = frozenset(("su", "longrope", "llama3"))
# Both state the stretched length although they name a factor.
_STRETCHED_TYPES: Final = ("gemma3",)
_MLLAMA_TILES: Final = 4


def max_context(view: HfConfig) -> int | None:
    """Tokens, None when the file states no limit (recurrent models).

    The smallest length stated, times the factor of the rotary scaling unless that length has it already.
    Source: vLLM 0.32 vllm/config/model.py, _get_and_verify_max_len.
    """
    stated = [length for name in _LENGTHS if (length := view.integer(name, high=MAX_TOKENS)) is not None]
    if not stated:
        return None
    scaling = _rotary_scaling(view)
    kind = scaling.raw("rope_type", "type")[1]
    if view.model_type.startswith(_STRETCHED_TYPES) or (isinstance(kind, str) and kind in _AS_STATED):
        return min(stated)
    base = (scaling.integer("original_max_position_embeddings", high=MAX_TOKENS) if kind == "yarn" else None) or min(stated)
    return min(MAX_TOKENS, int(base * _factor(scaling)))


def _rotary_scaling(view: HfConfig) -> HfConfig:
    for name in ("rope_scaling", "rope_parameters"):
        if isinstance(view.values.get(name), Mapping):
            return view.section(name)
    return HfConfig(values={}, root=view.root)


def _factor(scaling: HfConfig) -> float:
    _, factor = scaling.raw("factor")
    is_number = isinstance(factor, (int, float)) and not isinstance(factor, bool)
    return factor if is_number and 1 <= factor <= 10_000 else 1  # type: ignore[operator, return-value]


def encoder_tokens(view: HfConfig, layers: tuple[Layer, ...]) -> int | None:
    """Rows of the encoder's output that cross-attention keeps, at most; None where there is none or the file does not say."""
    if not any(store.kind == "cross" for layer in layers for store in layer.stores):
        return None
    stated = view.integer("max_source_positions", "n_positions", "max_position_embeddings", high=MAX_TOKENS)
    return _image_tokens(view) if view.has("cross_attention_layers") else stated


def _image_tokens(view: HfConfig) -> int | None:
    """Llama 3.2 Vision: patches of every tile and one class token each. Source: transformers 5 models/mllama."""
    vision = HfConfig(values=view.root, root=view.root).section("vision_config")
    side, patch = vision.integer("image_size"), vision.integer("patch_size")
    if side is None or patch is None:
        return None
    return ((side // patch) ** 2 + 1) * (vision.integer("max_num_tiles", high=64) or _MLLAMA_TILES)
