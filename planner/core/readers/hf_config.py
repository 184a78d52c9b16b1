"""A config.json in, a ModelShape out: bounded parsing, and one sentence for whatever cannot be planned with."""

import json
from collections.abc import Mapping
from typing import Final

from planner.core.attention import kinds_of
from planner.core.attention.config import MAX_TOKENS, ConfigError, HfConfig
from planner.core.attention.heads import attention_heads, head_dim
from planner.core.model_shape import FeedForward, Layer, ModelShape, Note

__all__ = ["HfConfig", "parse_config", "read_shape"]

MAX_TEXT: Final = 2 * 2**20


def parse_config(text: str | bytes) -> dict[str, object]:
    parsed = json.loads(text)
    if not isinstance(parsed, dict):
        raise ConfigError("This is not a config.json: it must be a JSON object with keys such as num_hidden_layers.")
    return parsed


def read_shape(config: Mapping[str, object]) -> ModelShape:
    view = HfConfig.of(config)
    layers = tuple(Layer(kind.name, kind.stores(view, layer)) for layer, kind in enumerate(kinds_of(view)))
    return ModelShape(
        model_type=view.model_type, architecture=view.architecture, layers=layers, hidden_size=view.hidden_size,
        vocab_size=view.required("vocab_size"), attention_heads=attention_heads(view), head_dim=head_dim(view),
        max_context=view.integer("max_position_embeddings", high=MAX_TOKENS), dtype=view.text("torch_dtype", "dtype") or "bfloat16",
        feed_forward=FeedForward(view.integer("intermediate_size") or 0),
        notes=tuple(Note("class_default", f"{k} {v}") for k, v in view.filled.items()),
    )  # fmt: skip
