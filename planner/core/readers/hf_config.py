"""A config.json in, a ModelShape out: bounded parsing, and one sentence for whatever cannot be planned with."""

from collections.abc import Mapping
from typing import Final

from planner.core.attention import kinds_of
from planner.core.attention.config import ConfigError, HfConfig, UnknownLayerError
from planner.core.attention.heads import attention_heads, head_dim
from planner.core.attention.stores import TokenStore
from planner.core.model_shape import Layer, ModelShape, Note
from planner.core.readers.checkpoint import cache_dtype, dtype, quantization
from planner.core.readers.checkpoint_format import weight_format_of
from planner.core.readers.compact import compact_config, expand_config
from planner.core.readers.context import encoder_tokens, max_context
from planner.core.readers.draft_layers import draft_layers
from planner.core.readers.feed_forward import feed_forward
from planner.core.readers.json_text import parse_config
from planner.core.readers.modalities import has_audio, has_vision, require_generative

__all__ = ["ConfigError", "HfConfig", "UnknownLayerError", "compact_config", "expand_config", "parse_config", "read_shape"]

VOCABULARY: Final = ("vocab_size", "padded_vocab_size", "embedding_size", "n_vocab")
_MAX_NAMED: Final = 8


def read_shape(config: Mapping[str, object]) -> ModelShape:
    """The shape of the model in a parsed config.json.

    Raises ConfigError with one sentence: a key that is missing, of the wrong type, out of range or at odds with another;
    a model that does not generate text; UnknownLayerError for a layer that no attention kind claims.
    """
    view = HfConfig.of(config)
    require_generative(view)
    kinds = kinds_of(view)
    layers = tuple(Layer(kind.name, kind.stores(view, layer)) for layer, kind in enumerate(kinds))
    attends = any(isinstance(store, TokenStore) for layer in layers for store in layer.stores)
    return ModelShape(
        model_type=view.model_type,
        architecture=view.architecture,
        layers=layers,
        hidden_size=view.hidden_size,
        vocab_size=_vocabulary(view),
        attention_heads=attention_heads(view) if attends else 0,
        head_dim=_head_dim(view) if attends else 0,
        max_context=max_context(view),
        dtype=dtype(view),
        feed_forward=feed_forward(view),
        draft_layers=draft_layers(view, kinds, layers),
        quantization=quantization(view),
        weight_format=weight_format_of(view),
        cache_dtype=cache_dtype(view),
        has_vision=has_vision(view),
        has_audio=has_audio(view),
        encoder_tokens=encoder_tokens(view, layers),
        notes=_notes(view),
    )


def _vocabulary(view: HfConfig) -> int:
    whole = HfConfig(values=view.root, root=view.root)
    return view.integer(*VOCABULARY) or whole.integer(*VOCABULARY) or view.required("vocab_size")


def _head_dim(view: HfConfig) -> int:
    """The size of a query head; latent attention states it in two parts."""
    if view.has("kv_lora_rank") and view.has("qk_nope_head_dim"):
        return (view.integer("qk_nope_head_dim", low=0) or 0) + (view.integer("qk_rope_head_dim", low=0) or 0)
    return head_dim(view)


def _notes(view: HfConfig) -> tuple[Note, ...]:
    """What the file itself does not say."""
    notes = []
    if view.filled:
        named = [f"{name} {_briefly(value)}" for name, value in view.filled.items()]
        rest = len(named) - _MAX_NAMED
        listed = ", ".join(named[:_MAX_NAMED]) + (f" and {rest} more" if rest > 0 else "")
        notes.append(
            Note("class_default", f"The file leaves these to its class ({view.model_type}), whose documented defaults are used: {listed}.")
        )
    if view.text("torch_dtype", "dtype") is None:
        notes.append(Note("dtype_default", "The file does not say in which type the weights are; bfloat16, the usual one, is assumed."))
    return tuple(notes)


def _briefly(value: object) -> str:
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
