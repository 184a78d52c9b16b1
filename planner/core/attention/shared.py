"""Layers that read the keys and values of an earlier layer (Gemma 3n and 4) and so store nothing."""

from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store
from planner.core.attention.words import SHARED


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - nothing to look up
    return ()


KIND = AttentionKind(name="shared", layers_in=layers_called(SHARED), stores=stores)
