"""GGUF metadata in, a ModelShape out: the layers as llama.cpp's loader makes them from the keys of each architecture.

Source of the keys and defaults: llama.cpp b11434 src/llama-model.cpp, load_hparams; src/models/*.cpp, load_arch_hparams.
"""

from collections.abc import Callable, Mapping
from typing import Final

from planner.core.attention.stores import StateKind, StateStore, Store, TokenKind, TokenStore
from planner.core.model_shape import FeedForward, Layer, ModelShape
from planner.core.readers.gguf_metadata import MAX_LAYERS, MAX_TOKENS, GgufError, Metadata

# Architectures that llama.cpp gives no cache: they embed, rank, diffuse or decode sound, and generate no text token by token.
NOT_GENERATIVE: Final = frozenset((
    "bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert", "gemma-embedding",
    "llama-embed", "t5encoder", "clef", "dream", "llada", "llada-moe", "rnd1", "wavtokenizer-dec", "clip",
))  # fmt: skip
# Every n-th layer is full and the others have a window; `True`: the first of the n instead of the last.
_WINDOW_PATTERNS: Final[Mapping[str, tuple[int, bool]]] = {
    "afmoe": (4, False), "cohere2": (4, False), "cohere2moe": (4, True), "exaone4": (4, False), "exaone-moe": (4, False),
    "gemma2": (2, False), "gemma3": (6, False), "gemma3n": (5, False), "gpt-oss": (2, False), "laguna": (4, True), "llama4": (4, False),
    "mellum": (4, False), "muse-glimmer": (4, False), "olmo2": (4, False), "plamo3": (8, False), "smallthinker": (4, True),
}  # fmt: skip
_WINDOW_LISTS: Final = frozenset(("gemma4", "maple", "granite_swa", "mimo2", "spark2_5", "step35", "dots3note"))
# Windows that the loader sets itself: whatever the file says, or where it says nothing.
_FIXED_WINDOWS: Final = {"llama4": 8192, "smallthinker": 4096}
_DEFAULT_WINDOWS: Final = {"gemma2": 4096, "exaone4": 4096}
_GEMMA_3N_OWNERS: Final = 20

_RECURRENT: Final = frozenset(("mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"))
_RECURRENT_WITHOUT_HEADS: Final = frozenset((
    "jamba", "plamo2", "granitehybrid", "lfm2", "lfm2moe", "kimi-linear", "kimi-k3", "bailingmoe3", "glm5-next", "nemotron_h", "nemotron_h_moe",
))  # fmt: skip
_RECURRENT_BY_INTERVAL: Final = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "qwen4exp": 4, "minimax-01": 8}
# Layers of these that carry a feed-forward part keep nothing.
_FEED_FORWARD_ALONE: Final = frozenset(("nemotron_h", "nemotron_h_moe"))
_INDEXED: Final = frozenset(("deepseek32", "glm-dsa", "dots3note", "glm5-next", "hy_v4"))
_GLM_5_2_CONTEXT: Final = 1_048_576
_EXAONE_4_WINDOWED_LAYERS: Final = 64


def read_gguf_shape(metadata: Mapping[str, object]) -> ModelShape:
    """The model of a GGUF file's metadata. Raises GgufError where it is no generative text model or a key is missing or absurd."""
    data = Metadata.of(metadata)
    arch = data.architecture
    if arch in NOT_GENERATIVE:
        raise GgufError(f"A GGUF file of architecture {arch} is no generative text model: llama.cpp keeps no cache for it.")
    every = data.required("block_count", high=MAX_LAYERS)
    drafts = data.integer("nextn_predict_layers", high=every) or 0
    if drafts == every:
        raise GgufError("This GGUF file holds only draft layers: give the model it drafts for.")
    stores = _layer_stores(data, every, every - drafts)
    layers = tuple(Layer(_kind(kept), kept) for kept in stores)
    heads = data.per_layer("attention.head_count", every) or (0,)
    hidden = data.required("embedding_length")
    return ModelShape(
        model_type=arch,
        architecture=arch,
        layers=layers[: every - drafts],
        draft_layers=layers[every - drafts :],
        hidden_size=hidden,
        vocab_size=_vocabulary(data),
        attention_heads=max(heads),
        max_context=data.integer("context_length", low=1, high=MAX_TOKENS),
        dtype="float16",
        feed_forward=_feed_forward(data, every),
        head_dim=_head_lengths(data, max(heads), hidden)[0],
    )


def _vocabulary(data: Metadata) -> int:
    return data.integer("vocab_size") or data.length("tokenizer.ggml.tokens") or 0


def _kind(stores: tuple[Store, ...]) -> str:
    return stores[0].kind if stores else "none"


def _head_lengths(data: Metadata, heads: int, hidden: int) -> tuple[int, int]:
    """Lengths of a key and a value head: stated, or the width shared among the heads."""
    shared = hidden // heads if heads else 0
    key, value = data.integer("attention.key_length"), data.integer("attention.value_length")
    return (shared if key is None else key), (shared if value is None else value)


def _feed_forward(data: Metadata, layers: int) -> FeedForward:
    widths = data.per_layer("feed_forward_length", layers) or (0,)
    expert_widths = data.per_layer("expert_feed_forward_length", layers) or (0,)
    experts = data.integer("expert_count") or 0
    shared = data.integer("expert_shared_feed_forward_length") or (data.integer("expert_shared_count") or 0) * max(expert_widths)
    return FeedForward(
        intermediate_size=max(widths),
        experts=experts,
        experts_per_token=max(data.per_layer("expert_used_count", layers) or (0,)) if experts else 0,
        expert_intermediate_size=(max(expert_widths) or max(widths)) if experts else 0,
        shared_expert_intermediate_size=shared,
        dense_layers=min(layers, data.integer("leading_dense_block_count") or 0) if experts else 0,
    )


def _layer_stores(data: Metadata, every: int, main: int) -> list[tuple[Store, ...]]:
    """What each of the `every` layers keeps; those from `main` on are draft layers, with attention of their own."""
    recurrent, windowed = _recurrent_layers(data, every, main), _windowed_layers(data, every, main)
    attention, state = _attention(data, every), _state(data, every)
    owners = _owning_layers(data, every)
    ngrams, ngram_layers = _ngrams(data)
    widths = data.per_layer("feed_forward_length", every) if data.architecture in _FEED_FORWARD_ALONE else None
    stores: list[tuple[Store, ...]] = []
    for layer in range(every):
        if layer >= owners or (widths and widths[layer]):
            stores.append(())
        elif data.architecture == "falcon-h1":
            stores.append((*attention(layer, windowed[layer]), state))
        elif recurrent[layer]:
            stores.append((state, ngrams) if ngrams and layer in ngram_layers else (state,))
        else:
            stores.append(attention(layer, windowed[layer]))
    return stores


def _owning_layers(data: Metadata, every: int) -> int:
    """Layers from here on read the cache of an earlier one."""
    if data.architecture == "gemma3n":
        return min(every, _GEMMA_3N_OWNERS)
    if data.architecture == "gemma4":
        return every - min(every - 1, data.integer("attention.shared_kv_layers", high=MAX_LAYERS) or 0)
    return every


def _recurrent_layers(data: Metadata, every: int, main: int) -> list[bool]:
    arch = data.architecture
    if arch in _RECURRENT:
        return [True] * every
    if arch in _RECURRENT_WITHOUT_HEADS:
        heads = data.per_layer("attention.head_count_kv", every) or (1,) * every
        return [layer < main and heads[layer] == 0 for layer in range(every)]
    if arch in _RECURRENT_BY_INTERVAL:
        listed = data.per_layer("attention.recurrent_layers", every, high=1)
        if listed:
            return [bool(item) for item in listed]
        interval = data.integer("full_attention_interval", low=1) or _RECURRENT_BY_INTERVAL[arch]
        return [layer < main and (layer + 1) % interval != 0 for layer in range(every)]
    return [False] * every


def _windowed_layers(data: Metadata, every: int, main: int) -> list[bool]:
    """Which layers have a window: by the file's list, or every n-th has none."""
    arch, key = data.architecture, "attention.sliding_window_pattern"
    if arch == "deepseek4":
        return [True] * every
    if not _window(data):
        return [False] * every
    if arch == "exaone4" and main != _EXAONE_4_WINDOWED_LAYERS:
        return [False] * every
    if arch == "lfm2":
        heads = data.per_layer("attention.head_count_kv", every) or (1,) * every
        return [heads[layer] > 0 for layer in range(every)]
    if data.is_list(key):
        return [bool(item) for item in data.per_layer(key, every, high=1) or ()]
    if arch in _WINDOW_LISTS:
        raise GgufError(f"{arch}.{key} is missing from this GGUF metadata: it says which layers have a window.")
    if arch not in _WINDOW_PATTERNS:
        return [False] * every
    pattern, first_full = _WINDOW_PATTERNS[arch]
    stated = data.integer(key)
    pattern = pattern if stated is None else stated
    full = 0 if first_full else pattern - 1
    return [layer < main and (pattern == 0 or layer % pattern != full) for layer in range(every)]


def _window(data: Metadata) -> int:
    """The window's tokens, 0 without one."""
    arch = data.architecture
    stated = data.integer("attention.sliding_window", high=MAX_TOKENS)
    if arch in _FIXED_WINDOWS:
        return 0 if stated == 0 or (stated is None and arch != "llama4") else _FIXED_WINDOWS[arch]
    if arch == "cohere2" and stated:
        # As in its config.json, the window does not count the token itself.
        return stated + 1
    return _DEFAULT_WINDOWS.get(arch, 0) if stated is None else stated


def _attention(data: Metadata, every: int) -> Callable[[int, bool], tuple[Store, ...]]:
    """What an attention layer keeps, by its number and whether it has a window."""
    arch = data.architecture
    if arch == "deepseek4":
        return _compressed(data, every)
    # Files that llama.cpp itself writes have every key, with 0 for what a model does not have.
    if data.integer("attention.key_length_mla") and data.integer("attention.value_length_mla"):
        return _latent(data, every)
    heads = data.per_layer("attention.head_count", every) or (0,) * every
    grouped = data.per_layer("attention.head_count_kv", every) or heads
    key, value = _head_lengths(data, heads[0], data.required("embedding_length"))
    key_windowed, value_windowed = data.integer("attention.key_length_swa"), data.integer("attention.value_length_swa")
    window = _window(data)
    indexed = _indexed_layers(data, every)
    index_dim = data.integer("attention.indexer.key_length") if any(indexed) else None

    def stores(layer: int, windowed: bool) -> tuple[Store, ...]:  # noqa: FBT001 - one of two kinds of layer
        if not grouped[layer]:
            return ()
        if windowed:
            kind: TokenKind = "chunked" if arch == "llama4" else "sliding"
            return (TokenStore(kind, grouped[layer], key if key_windowed is None else key_windowed, value if value_windowed is None else value_windowed, window),)  # fmt: skip
        full = TokenStore("full", grouped[layer], key, value)
        return (full, _index(index_dim, indexed[layer])) if index_dim and indexed[layer] else (full,)

    return stores


def _indexed_layers(data: Metadata, every: int) -> list[int]:
    """Tokens that share an index key beside full attention in each layer, 0 in layers without an index.

    Source: llama.cpp b11434 src/models/minimax-m3.cpp, qwen4exp.cpp (QSA).
    """
    if data.architecture == "minimax-m3":
        dense = data.integer("leading_dense_block_count") or 0
        return [int(layer >= dense) for layer in range(every)]
    if data.architecture == "qwen4exp":
        return list(data.per_layer("attention.compress_ratios", every) or (0,) * every)
    return [0] * every


def _index(key_dim: int, tokens_per_row: int = 1) -> TokenStore:
    return TokenStore("indexer", heads=1, key_dim=key_dim, value_dim=0, per_rank=True, tokens_per_row=tokens_per_row)


def _latent(data: Metadata, every: int) -> Callable[[int, bool], tuple[Store, ...]]:
    """One latent row as long as the file's key, and index keys where the architecture has them."""
    arch = data.architecture
    row = data.required("attention.key_length")
    row_windowed = data.integer("attention.key_length_swa") or row
    index_dim = data.integer("attention.indexer.key_length") if arch in _INDEXED else None
    pooled = data.integer("attention.indexer.kpool") or 1
    owners = _index_owners(data, every)
    window = _window(data)

    def stores(layer: int, windowed: bool) -> tuple[Store, ...]:  # noqa: FBT001 - one of two kinds of layer
        if windowed:
            return (TokenStore("sliding", heads=1, key_dim=row_windowed, value_dim=0, window=window, per_rank=True),)
        latent = TokenStore("latent", heads=1, key_dim=row, value_dim=0, per_rank=True)
        return (latent, _index(index_dim, pooled)) if index_dim and owners[layer] else (latent,)

    return stores


def _index_owners(data: Metadata, every: int) -> list[bool]:
    """Layers with index keys of their own. GLM-5.2 files without the list have them on layers 0 and 1 and every fourth from 2 on.

    Source: llama.cpp b11434 src/models/glm-dsa.cpp, GLM_5_2_DEFAULT_INDEXER_TYPES.
    """
    listed = data.raw("attention.indexer.types")
    if isinstance(listed, list | tuple):
        return [bool(item) for item in listed[:every]] + [True] * (every - len(listed))
    if data.architecture == "glm-dsa" and (data.integer("context_length", high=MAX_TOKENS) or 0) >= _GLM_5_2_CONTEXT:
        return [layer < 2 or layer % 4 == 2 for layer in range(every)]
    return [True] * every


def _compressed(data: Metadata, every: int) -> Callable[[int, bool], tuple[Store, ...]]:
    """DeepSeek-V4: the last tokens as they are, and older ones merged. Source: src/llama-kv-cache-dsv4.cpp."""
    heads = max(data.per_layer("attention.head_count", every) or (0,))
    row = _head_lengths(data, heads, data.required("embedding_length"))[0]
    ratios = data.per_layer("attention.compress_ratios", every) or (0,) * every
    index_dim, window = data.required("attention.indexer.key_length"), data.required("attention.sliding_window", high=MAX_TOKENS)

    def stores(layer: int, _windowed: bool) -> tuple[Store, ...]:  # noqa: FBT001 - all of one kind
        recent = TokenStore("sliding", heads=1, key_dim=row, value_dim=0, window=window, per_rank=True)
        if not ratios[layer]:
            return (recent,)
        merged = TokenStore("compressed", heads=1, key_dim=row, value_dim=0, per_rank=True, tokens_per_row=ratios[layer])
        return (recent, merged, _index(index_dim, ratios[layer])) if ratios[layer] == 4 else (recent, merged)

    return stores


def _state(data: Metadata, every: int) -> StateStore:
    """What a recurrent layer keeps; a file without such layers has the keys of none, and an empty state is never asked for.

    Source: llama.cpp b11434 src/llama-hparams.cpp, n_embd_r and n_embd_s.
    """
    # Where the heads differ from layer to layer, the first layer's count (n_head() without a layer).
    hidden, heads = data.required("embedding_length"), (data.per_layer("attention.head_count", every) or (0,))[0]
    kernel = data.integer("ssm.conv_kernel") or 0
    if width := data.integer("wkv.head_size"):
        shifts = data.integer("token_shift_count") or 2
        return StateStore("rwkv", shifts, hidden, 0, 0, hidden // width, width, width)
    if length := data.integer("shortconv.l_cache"):
        return StateStore("short_conv", length - 1, hidden, 0, 0, 0, 0, 0)
    if width := data.integer("kda.head_dim"):
        return StateStore("kda", (kernel or 4) - 1, heads * width, heads, width, heads, width, width)
    inner, state, groups = (data.integer(f"ssm.{key}") or 0 for key in ("inner_size", "state_size", "group_count"))
    rank = data.integer("ssm.time_step_rank") or 0
    if data.architecture == "minimax-01":
        width = data.integer("attention.key_length") or 0
        return StateStore("linear", 0, 0, 0, 0, heads, width, width)
    kind: StateKind = "mamba1" if not groups else "gated_delta" if data.architecture in _RECURRENT_BY_INTERVAL else "mamba2"
    state_heads = rank if groups and rank and inner % rank == 0 else inner
    return StateStore(kind, max(0, kernel - 1), inner, groups, state, state_heads, inner // state_heads if state_heads else 0, state)


def _ngrams(data: Metadata) -> tuple[StateStore | None, tuple[int, ...]]:
    """The last rows of Qwen4's n-gram embeddings, for their convolution, and the layers that have them.

    Source: llama.cpp b11434 src/llama-hparams.cpp, ple_conv_state; src/models/qwen4exp.cpp.
    """
    listed = data.raw("ple.layers")
    kernel = data.integer("ple.conv_kernel") or 0
    if not isinstance(listed, list | tuple) or kernel < 1:
        return None, ()
    streams, size = data.integer("hyper_connection.count") or 0, data.integer("ple.ngram_size", high=MAX_LAYERS) or 0
    inner = streams * data.required("embedding_length")
    return StateStore("ngram", (kernel - 1) * size, inner, 0, 0, 0, 0, 0), tuple(layer for layer in listed if isinstance(layer, int))
