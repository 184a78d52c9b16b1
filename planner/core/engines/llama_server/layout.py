"""The layers of a model as llama.cpp stores them: which windows it keeps, which it ignores, and what it leaves out."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from planner.core.attention.stores import StateStore, Store, TokenStore
from planner.core.engines.llama_server.architecture import architecture
from planner.core.model_shape import Layer, ModelShape

# Architectures whose loader sets a sliding or chunked window; every other one stores all tokens, whatever its config.json says
# (`llama` with Mistral's weights, `phi3`, `qwen2` …). Source: llama.cpp b11434 src/models/*.cpp, load_arch_hparams (swa_type).
WINDOWED: Final = frozenset((
    "afmoe", "cohere2", "cohere2moe", "deepseek4", "dots3note", "exaone4", "exaone-moe", "gemma2", "gemma3", "gemma3n", "gemma4", "gpt-oss",
    "granite_swa", "laguna", "lfm2", "llama4", "maple", "mellum", "mimo2", "muse-glimmer", "olmo2", "plamo3", "smallthinker", "spark2_5", "step35",
))  # fmt: skip
DEEPSEEK_4: Final = "deepseek4"
MINIMAX_3: Final = "minimax-m3"
# Latent attention that is expanded to keys and values for every head before it is stored. Source: src/models/minicpm3.cpp, plm.cpp.
EXPANDED_LATENT: Final = frozenset(("minicpm3", "plm"))
# src/models/exaone4.cpp: only the model of 64 layers has windows.
_EXAONE_4_LAYERS: Final = 64
# src/models/gemma3n.cpp, n_layer_kv_from_start.
_GEMMA_3N_OWNERS: Final = 20
# src/llama-hparams.h, indexer_kpool_row; src/models/qwen4exp.cpp.
_POOLED_INDEX_ROWS: Final = {"glm5-next": 3, "qwen4exp": 2}
_RECURRENT_CONTEXT: Final = 2**20
# src/models/llama4.cpp, n_swa.
_LLAMA_4_CHUNK: Final = 8192


def keeps_stream_per_slot(shape: ModelShape) -> bool:
    """DeepSeek-V4's caches have a stream per sequence even when unified. Source: src/llama-kv-cache-dsv4.cpp, unified_raw."""
    return architecture(shape) == DEEPSEEK_4


@lru_cache(maxsize=64)
def trained_context(shape: ModelShape) -> int | None:
    """Tokens the file says the model was trained for; the converter writes 2^20 where a recurrent model states none.

    Source: llama.cpp b11434 conversion/mamba.py, rwkv.py, add_context_length.
    """
    recurrent = all(isinstance(store, StateStore) for store in shape.stores())
    return shape.max_context or (_RECURRENT_CONTEXT if recurrent else None)


def _stored(store: Store, name: str | None) -> Store | None:
    if isinstance(store, StateStore):
        return store
    if store.kind == "cross":
        return None
    if store.kind == "indexer" and store.tokens_per_row > 1 and name != DEEPSEEK_4:
        # Pooled index keys have a cell for every token all the same, wide enough for the raw and the pooled key.
        return replace(store, key_dim=store.key_dim * _POOLED_INDEX_ROWS.get(name or "", 1), tokens_per_row=1)
    if store.kind == "latent" and store.expanded and name in EXPANDED_LATENT:
        heads, key, value = store.expanded
        return TokenStore("full", heads, key, value)
    if store.window is None:
        return store
    if name not in WINDOWED:
        return replace(store, kind="latent" if store.per_rank else "full", window=None)
    if name == "llama4":
        return replace(store, window=_LLAMA_4_CHUNK)
    # The reader counts the token itself on top of Cohere's window; llama.cpp takes the file's number as it stands.
    return replace(store, window=store.window - 1) if name == "cohere2" else store


@lru_cache(maxsize=64)
def stored_layers(shape: ModelShape) -> tuple[Layer, ...]:
    """The layers with what llama.cpp keeps for each; cross-attention is computed anew and keeps nothing."""
    name = architecture(shape)
    if name == "exaone4" and len(shape.layers) != _EXAONE_4_LAYERS:
        name = None
    layers: Iterable[Layer] = shape.layers
    if name == "gemma3n":
        layers = (layer if index < _GEMMA_3N_OWNERS else replace(layer, stores=()) for index, layer in enumerate(shape.layers))
    kept = (Layer(layer.kind, tuple(kept for store in layer.stores if (kept := _stored(store, name)) is not None)) for layer in layers)
    return tuple(_with_index_values(layer) for layer in kept) if name == MINIMAX_3 else tuple(kept)


def _with_index_values(layer: Layer) -> Layer:
    """MiniMax-M3's index cache has values beside its keys, as wide as a head's, though nothing reads them.

    Source: llama.cpp b11434 src/llama-kv-cache-msa.cpp, hparams_idx: one key head, and the value heads' length left as it is.
    """
    width = max((store.value_dim for store in layer.stores if isinstance(store, TokenStore)), default=0)
    indexed = (
        replace(store, value_dim=width) if isinstance(store, TokenStore) and store.kind == "indexer" else store for store in layer.stores
    )
    return Layer(layer.kind, tuple(indexed))


@lru_cache(maxsize=64)
def widest_value(shape: ModelShape) -> int:
    """Value elements per token of the widest layer, which pads all others without flash attention."""
    stores = (store for layer in (*shape.layers, *shape.draft_layers) for store in layer.stores if isinstance(store, TokenStore))
    return max((store.heads * store.value_dim for store in stores if store.kind in {"full", "sliding", "chunked"}), default=0)
