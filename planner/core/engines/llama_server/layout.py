"""The layers of a model as llama.cpp stores them: which windows it keeps, which it ignores, and what it leaves out."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from planner.core.attention.stores import StateStore, Store, TokenStore
from planner.core.model_shape import Layer, ModelShape

# Architectures whose loader sets a sliding or chunked window; every other one stores all tokens, whatever its config.json says
# (`llama` with Mistral's weights, `phi3`, `qwen2` …). Source: llama.cpp b11434 src/models/*.cpp, load_arch_hparams (swa_type).
WINDOWED: Final = frozenset((
    "afmoe", "cohere2", "cohere2moe", "dots3note", "exaone4", "exaonemoe", "gemma2", "gemma3", "gemma3n", "gemma4", "gptoss",
    "graniteswa", "laguna", "lfm2", "llama4", "maple", "mellum", "mimo2", "mimov2", "mimov2flash", "museglimmer", "olmo2", "olmo3",
    "plamo3", "smallthinker", "spark25", "step35", "step3p5",
    "deepseek4", "deepseekv4",
))  # fmt: skip
# src/models/gemma3n.cpp, n_layer_kv_from_start.
_GEMMA_3N_OWNERS: Final = 20
# src/models/llama4.cpp, n_swa.
_LLAMA_4_CHUNK: Final = 8192
_DEEPSEEK_4: Final = frozenset(("deepseek4", "deepseekv4"))


def family(shape: ModelShape) -> str:
    """The model type as one word, the same from a config.json (`gpt_oss`, `gemma3_text`) and from a GGUF file (`gpt-oss`, `gemma3`)."""
    name = shape.model_type.lower().removesuffix("_text")
    return "".join(c for c in name if c.isalnum())


def keeps_stream_per_slot(shape: ModelShape) -> bool:
    """DeepSeek-V4's caches have a stream per sequence even when unified. Source: src/llama-kv-cache-dsv4.cpp, unified_raw."""
    return family(shape) in _DEEPSEEK_4


def _stored(store: Store, name: str) -> Store | None:
    if isinstance(store, StateStore) or store.kind in {"full", "latent", "indexer", "compressed"}:
        return store
    if store.kind == "cross":
        return None
    if name not in WINDOWED:
        return replace(store, kind="full", window=None)
    if name == "llama4":
        return replace(store, window=_LLAMA_4_CHUNK)
    if name.startswith("cohere2") and store.window:
        # The reader counts the token itself on top of Cohere's window; llama.cpp takes the number as it stands.
        return replace(store, window=store.window - 1) if store.window % 2 else store
    return store


def stored_layers(shape: ModelShape) -> tuple[Layer, ...]:
    """The layers with what llama.cpp keeps for each; cross-attention is computed anew and keeps nothing."""
    name = family(shape)
    layers: Iterable[Layer] = shape.layers
    if name == "gemma3n":
        layers = (layer if index < _GEMMA_3N_OWNERS else replace(layer, stores=()) for index, layer in enumerate(shape.layers))
    return tuple(Layer(layer.kind, tuple(kept for store in layer.stores if (kept := _stored(store, name)) is not None)) for layer in layers)


def widest_value(shape: ModelShape) -> int:
    """Value elements per token of the widest layer, which pads all others without flash attention."""
    stores = (store for layer in (*shape.layers, *shape.draft_layers) for store in layer.stores if isinstance(store, TokenStore))
    return max((store.heads * store.value_dim for store in stores if store.kind in {"full", "sliding", "chunked"}), default=0)
