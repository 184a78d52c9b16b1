"""Full attention with a sparse indexer beside it (MiniMax-M3): keys and values, and small keys that choose among them."""

from planner.core.attention import full
from planner.core.attention.config import HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import Store, TokenStore
from planner.core.attention.words import INDEXED


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:
    sparse = config.section("sparse_attention_config")
    key_dim = sparse.integer("sparse_index_dim") or config.required("index_head_dim")
    return (*full.stores(config, layer), TokenStore("indexer", heads=1, key_dim=key_dim, value_dim=0, per_rank=True))


KIND = AttentionKind(name="full_indexed", layers_in=layers_called(INDEXED), stores=stores)
