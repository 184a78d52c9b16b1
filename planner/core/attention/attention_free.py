"""Layers without attention: a feed-forward or mixture-of-experts layer of its own (Nemotron-H), or attention removed by search."""

from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store
from planner.core.attention.words import NONE


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - nothing to look up
    return ()


KIND = AttentionKind(name="attention_free", layers_in=layers_called(NONE), stores=stores)
