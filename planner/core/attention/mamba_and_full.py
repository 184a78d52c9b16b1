"""Parallel hybrids (Falcon-H1, Zamba's shared blocks): a Mamba state and full attention in one layer."""

from planner.core.attention import full, mamba
from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store
from planner.core.attention.words import MAMBA_AND_FULL


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    return (*full.stores(config, layer), *mamba.stores(config, layer))


KIND = AttentionKind(name="mamba_and_full", layers_in=layers_called(MAMBA_AND_FULL), stores=stores)
