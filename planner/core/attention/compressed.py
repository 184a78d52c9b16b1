"""Compressed attention (DeepSeek-V4): the last tokens as they are, older ones merged into one row for several tokens.

Keys double as values, so a row is one head wide. Layers that merge few tokens choose among the rows by an index, merged
alike; layers of ratio 0 keep the window alone.
Source: transformers 5 models/deepseek_v4; vLLM 0.32 models/deepseek_v4 (the caches it plans for DeepSeek-V4-Flash).
"""

from collections.abc import Mapping
from typing import Final

from planner.core.attention import heads
from planner.core.attention.config import ConfigError, HfConfig, checked
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.sliding_window import window
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import COMPRESSED

MAX_RATIO: Final = 4096
_INDEXED_RATIO: Final = 4


def ratio(config: HfConfig, layer: int) -> int:
    """Tokens that layer `layer` merges into one row, 0 when it keeps its window alone."""
    ratios = config.integers("compress_ratios", high=MAX_RATIO)
    if ratios is not None:
        return ratios[layer] if layer < len(ratios) else 0
    types, rates = config.values.get("layer_types"), config.values.get("compress_rates")
    if not isinstance(types, list) or not isinstance(rates, Mapping):
        raise ConfigError("This config.json says nothing about how its layers compress: compress_ratios is missing.")
    word = types[layer] if layer < len(types) else None
    rate = rates.get(word) if isinstance(word, str) else None
    return 0 if rate is None else checked("compress_rates", rate, low=0, high=MAX_RATIO)


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    key_dim, tokens = heads.head_dim(config, layer), ratio(config, layer)
    recent = TokenStore("sliding", heads=1, key_dim=key_dim, value_dim=0, window=window(config), per_rank=True)
    if not tokens:
        return (recent,)
    merged = TokenStore("compressed", heads=1, key_dim=key_dim, value_dim=0, per_rank=True, tokens_per_row=tokens)
    if tokens != _INDEXED_RATIO:
        return recent, merged
    index_dim = config.required("index_head_dim")
    return recent, merged, TokenStore("indexer", heads=1, key_dim=index_dim, value_dim=0, per_rank=True, tokens_per_row=tokens)


KIND = AttentionKind(name="compressed", layers_in=layers_called(COMPRESSED), stores=stores)
