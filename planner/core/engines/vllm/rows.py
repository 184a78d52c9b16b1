"""Bytes of what one layer stores on one GPU: a token's row, or a request's state. Before blocks and groups."""

from math import ceil
from typing import Final

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.vllm.cache_types import DTYPE_BYTES, CacheType
from planner.core.engines.vllm.serving import Serving
from planner.core.model_shape import Layer

# 128 fp8 elements and one fp32 scale. Source: vLLM 0.32 v1/attention/backends/mla/indexer.py.
INDEXER_SCALE_BYTES: Final = 4
# DeepSeek-V4's row: 448 fp8 and 64 bf16 elements and 8 scale bytes. Source: vLLM 0.32, cache dtype fp8_ds_mla of DeepSeek-V4.
COMPRESSED_ROW_BYTES: Final = 584


def heads_on_rank(heads: int, tensor_parallel: int) -> int:
    """KV heads of one rank: divided, or replicated where there are fewer than ranks. Source: config/model.py, get_num_kv_heads."""
    return max(1, heads // tensor_parallel)


def kinds_in(layer: Layer) -> frozenset[str]:
    return frozenset(store.kind for store in layer.stores)


def cache_type_of(serving: Serving, index: int) -> CacheType:
    """The cache type of layer `index`: TurboQuant leaves the first and last two layers of a pure attention model as they are.

    Source: vLLM 0.32 model_executor/layers/quantization/turboquant/config.py, get_boundary_skip_layers.
    """
    layers = len(serving.shape.layers)
    edge = min(2, layers // 2)
    if serving.cache_type.turboquant and not serving.hybrid and not edge <= index < layers - edge:
        return CacheType("auto", serving.cache_type.model_dtype)
    return serving.cache_type


def row_bytes(store: TokenStore, serving: Serving, layer: Layer, index: int) -> int:
    """Bytes of one row of one layer on one rank. Latent vectors and indexer keys are on every rank, heads are divided."""
    cache_type = cache_type_of(serving, index)
    kinds = kinds_in(layer)
    if store.kind == "indexer":
        packed = kinds & {"latent", "compressed"}
        return store.key_dim + INDEXER_SCALE_BYTES if packed else store.key_dim * DTYPE_BYTES[cache_type.model_dtype]
    if serving.compressed and store.per_rank:
        return COMPRESSED_ROW_BYTES
    if store.per_rank:
        return cache_type.latent_bytes(store.elements_per_row)
    return heads_on_rank(store.heads, serving.tensor_parallel_size) * cache_type.head_bytes(store.key_dim, store.value_dim)


def state_bytes(store: StateStore, serving: Serving) -> int:
    """Bytes of one request's state of one recurrent layer on one rank.

    Source: vLLM 0.32 model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator and MambaStateDtypeCalculator.
    """
    ranks = serving.tensor_parallel_size
    # Groups that the ranks cannot divide are replicated until each rank has one (extra_groups_for_head_shards).
    groups = ranks if store.kind == "mamba2" and store.groups % ranks else store.groups
    channels = store.inner + 2 * groups * store.group_width
    conv_rows = store.conv_rows + (serving.num_speculative_tokens if store.conv_rows else 0)
    conv = conv_rows * ceil(channels / ranks) * DTYPE_BYTES[serving.mamba_cache_dtype]
    state = ceil(store.heads / ranks) * store.head_rows * store.head_columns
    return conv + state * DTYPE_BYTES[_recurrence_dtype(store, serving)]


def _recurrence_dtype(store: StateStore, serving: Serving) -> str:
    """Given, else the config's, else float32 for KDA and Nemotron-H and the convolution's type for the others.

    Source: vLLM 0.32 models/config.py, NemotronHForCausalLMConfig, and mamba_utils.py, kda_state_dtype.
    """
    if serving.mamba_ssm_cache_dtype != "auto":
        return serving.mamba_ssm_cache_dtype
    if store.kind == "kda":
        return "float32"
    if store.state_dtype in DTYPE_BYTES:
        return str(store.state_dtype)
    return "float32" if serving.shape.model_type == "nemotron_h" else serving.mamba_cache_dtype
