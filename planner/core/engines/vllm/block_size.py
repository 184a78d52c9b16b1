"""Tokens per block: what the attention backends accept, raised until an attention page is as large as a recurrent state."""

from math import ceil
from typing import Final

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.vllm.cache_types import DTYPE_BYTES
from planner.core.engines.vllm.rows import row_bytes, state_bytes
from planner.core.engines.vllm.serving import Serving

COMPRESSED_BLOCK: Final = 256
_DEFAULT: Final = 16


def base_block_size(serving: Serving) -> int:
    """Tokens per block before states are looked at: 16, or what the backends of the model want.

    Source: vLLM 0.32 platforms/interface.py, update_block_size_for_backend, and the backends' get_supported_kernel_block_sizes:
    DeepSeek-V4 256, sparse latent attention 64, MiniMax-M3 128, CUTLASS_MLA (Blackwell) 128.
    """
    kinds = {store.kind for store in serving.shape.stores() if isinstance(store, TokenStore)}
    if serving.compressed:
        return COMPRESSED_BLOCK
    if serving.block_size:
        return serving.block_size
    if "indexer" in kinds:
        return 64 if "latent" in kinds else 128
    if "latent" in kinds and serving.blackwell:
        return 128
    if serving.cache_type.turboquant and not serving.hybrid:
        # The unquantised boundary layers' pages must be covered (_align_heterogeneous_kv_block_size).
        return _DEFAULT * DTYPE_BYTES[serving.cache_type.model_dtype]
    return _DEFAULT


def aligned_block_size(serving: Serving) -> tuple[int, int]:
    """(tokens per block, bytes of a recurrent layer's page, 0 where there is none).

    Source: vLLM 0.32 platforms/interface.py, _align_hybrid_block_size: block = step × ⌈state ÷ (step × bytes per token)⌉.
    """
    base = base_block_size(serving)
    layers = serving.shape.layers
    states = [state_bytes(store, serving) for store in serving.shape.stores() if isinstance(store, StateStore)]
    tokens = [
        row_bytes(store, serving, layer, index)
        for index, layer in enumerate(layers)
        for store in layer.stores
        if isinstance(store, TokenStore) and store.kind != "indexer"
    ]
    if not states or not tokens:
        return base, max(states, default=0)
    step = max(base, 128) if any(store.kind == "latent" for store in serving.shape.stores()) else base
    block_size = max(base, step * ceil(max(states) / (step * max(tokens))))
    return block_size, block_size * max(tokens)
