"""Draft layers (MTP, next-n): what the layers behind the last one, which guess tokens ahead, would store."""

from typing import Final

from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind
from planner.core.attention.stores import TokenStore
from planner.core.attention.words import FULL, own_word
from planner.core.model_shape import Layer

_COUNTS: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "_num_mtp_layers")
_PATTERNS: Final = ("mtp_hybrid_override_pattern", "mtp_layers_block_type")
MAX_DRAFT_LAYERS: Final = 64


def draft_layers(view: HfConfig, kinds: tuple[AttentionKind, ...], layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """They cache as the last layer that grows with the context does; where a pattern says which attend, only those."""
    count = _count(view)
    growing = [
        kind
        for kind, layer in zip(kinds, layers, strict=True)
        if any(isinstance(s, TokenStore) and s.kind != "cross" for s in layer.stores)
    ]
    if not count or not growing:
        return ()
    drafts = tuple(Layer(growing[-1].name, growing[-1].stores(view, len(layers) + index)) for index in range(count))
    _, pattern = view.raw(*_PATTERNS)
    if not isinstance(pattern, (str, list)):
        return drafts
    attends = [isinstance(word, str) and own_word(word) == FULL for word in pattern[:MAX_DRAFT_LAYERS]]
    return tuple(draft if attending else Layer("attention_free", ()) for draft in drafts for attending in attends)


def _count(view: HfConfig) -> int:
    stated = view.integer(*_COUNTS, low=0, high=MAX_DRAFT_LAYERS)
    if stated is not None:
        return stated
    if view.flag("use_mtp") is False:
        return 0
    modules = view.integer("num_mtp_modules", low=0, high=MAX_DRAFT_LAYERS) or 0
    return modules * (view.integer("mtp_transformer_layers", low=0, high=MAX_DRAFT_LAYERS) or 1)
