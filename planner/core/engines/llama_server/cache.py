"""The caches llama.cpp allocates: cells, layers, streams and bytes of each, and the state of recurrent layers."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.llama_server.architecture import architecture
from planner.core.engines.llama_server.cache_types import CACHE_TYPES, CacheType
from planner.core.engines.llama_server.layout import EXPANDED_LATENT, keeps_stream_per_slot, stored_layers, widest_value
from planner.core.engines.llama_server.serving import Context, Serving, padded
from planner.core.errors import InputError
from planner.core.model_shape import ModelShape

# Conv and recurrence are kept in f32. Source: llama.cpp b11434 src/llama-model.cpp, create_memory (recurrent_type_r, _s).
STATE_ELEMENT_BYTES: Final = 4
# The order in which the caches are created and printed.
_ORDER: Final = ("full", "latent", "swa", "compressed", "indexer")
# Indexed latent attention with windows is one cache beside another. Source: src/llama-kv-cache-dsa-iswa.cpp.
_INDEXED_BEFORE_WINDOWS: Final = ("latent", "indexer", "swa")
# Layers without attention of a searched network have a cache of no width, which is counted all the same.
_COUNTS_EMPTY_LAYERS: Final = "deci"
# --spec-draft-type-k and -v: the draft's cache is f16 whatever the model's is.
_DRAFT_TYPE: Final = CACHE_TYPES["f16"]


class RowTypes(NamedTuple):
    """What decides the bytes of a row, of all settings. A tuple, because it is the key of a cache."""

    type_k: CacheType
    type_v: CacheType
    flash_attn: bool


@dataclass(frozen=True, slots=True)
class LayerRows:
    """One layer's part of a cache, in bytes."""

    layer: int
    k_bytes: int
    v_bytes: int


@dataclass(frozen=True, slots=True)
class CacheBuffer:
    """One `llama_kv_cache`. `cells` are per stream; the bytes of `rows` are over all streams."""

    kind: str
    cells: int
    streams: int
    rows: tuple[LayerRows, ...]

    @property
    def layers(self) -> int:
        return len(self.rows)

    @property
    def k_bytes(self) -> int:
        return sum(row.k_bytes for row in self.rows)

    @property
    def v_bytes(self) -> int:
        return sum(row.v_bytes for row in self.rows)

    @property
    def size_bytes(self) -> int:
        return self.k_bytes + self.v_bytes


@dataclass(frozen=True, slots=True)
class StateRows:
    """Recurrent state of one layer over all slots, in bytes: the convolution's, the recurrence's, and that of n-gram embeddings."""

    layer: int
    r_bytes: int
    s_bytes: int
    p_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        return self.r_bytes + self.s_bytes + self.p_bytes


@dataclass(frozen=True, slots=True)
class Caches:
    """Everything allocated for `context`; `state` has one entry per recurrent layer.

    `layer_bytes` are the caches and states of each of the model's layers, by number.
    """

    context: Context
    buffers: tuple[CacheBuffer, ...]
    state: tuple[StateRows, ...]
    layers: int
    layer_bytes: tuple[int, ...] = field(init=False, compare=False)

    def __hash__(self) -> int:
        """Of its context alone: it is the key of a cache, and its rows are many. Equal ones have equal ones."""
        return hash(self.context)

    def __post_init__(self) -> None:
        """The layers are added up once: every placement asks for them."""
        sizes = [0] * self.layers
        for buffer in self.buffers:
            for row in buffer.rows:
                sizes[row.layer] += row.k_bytes + row.v_bytes
        for state in self.state:
            sizes[state.layer] += state.size_bytes
        object.__setattr__(self, "layer_bytes", tuple(sizes))

    @property
    def state_bytes(self) -> int:
        return sum(row.size_bytes for row in self.state)

    @property
    def size_bytes(self) -> int:
        return sum(self.layer_bytes)

    def mask_cells(self) -> int:
        """Cells the attention masks span: one mask per cache."""
        return sum(buffer.cells for buffer in self.buffers if buffer.rows and buffer.kind != "draft")


def key_row_bytes(store: TokenStore, types: RowTypes | Serving) -> int:
    return types.type_k.row_bytes(store.heads * store.key_dim)


def value_row_bytes(store: TokenStore, types: RowTypes | Serving, widest: int) -> int:
    """Bytes of one token's values; without flash attention every layer is padded to the widest one's.

    Source: llama.cpp b11434 src/llama-kv-cache.cpp, n_embd_v_gqa_max.
    """
    if not store.value_dim:
        return 0
    padded_row = not types.flash_attn and store.kind != "indexer"
    return types.type_v.row_bytes(widest if padded_row else store.heads * store.value_dim)


@lru_cache(maxsize=256)
def check_types(shape: ModelShape, settings: Serving) -> None:
    """Raises InputError, with the engine's own reason, for cache types it refuses. Source: src/llama-context.cpp, llama_init_from_model."""
    stores = [store for layer in stored_layers(shape) for store in layer.stores if isinstance(store, TokenStore)]
    k, v = settings.type_k, settings.type_v
    if architecture(shape) in EXPANDED_LATENT and any(store.kind == "latent" for store in stores):
        raise InputError(
            f"llama.cpp expands the latent attention of {architecture(shape)} to keys and values for every head, whose sizes this "
            "config.json's shape does not carry: give the model's GGUF file instead.",
            field="model",
        )
    if v.quantised and not settings.flash_attn:
        raise InputError(
            f"A cache of {v.name} values needs flash attention in llama.cpp (“quantized V cache requires flash_attn to be enabled”): "
            "leave out -fa off, or keep the values in f16.",
            field="cache_type",
        )
    if k is not v and any(store.kind in {"latent", "compressed"} for store in stores):
        raise InputError(
            f"llama.cpp takes one cache type for keys and values of this model (“model does not support different K ({k.name}) and V "
            f"({v.name}) cache types”): give both the same.",
            field="cache_type",
        )
    for store in stores:
        key = store.key_dim if settings.flash_attn else store.heads * store.key_dim
        if k.quantised and key % k.block:
            raise InputError(_not_divided(k.name, k.block, "K", key), field="cache_type")
        if v.quantised and store.value_dim % v.block:
            raise InputError(_not_divided(v.name, v.block, "V", store.value_dim), field="cache_type")


def _not_divided(name: str, block: int, side: str, size: int) -> str:
    return (
        f"{name} packs {block} elements into a block, and this model's {side} heads have {size}, which is no multiple of it "
        f"(“{side} cache type {name} with block size {block} does not divide n_embd_head_{side.lower()}={size}”): use f16 or bf16."
    )


def window_cells(window: int, context: Context, *, unified: bool) -> int:
    """Cells of a sliding-window cache: pad256(min(n_ctx_seq, window × (slots if unified) + n_ubatch)).

    Source: llama.cpp b11434 src/llama-kv-cache-iswa.cpp, size_swa.
    """
    return padded(min(context.n_ctx_seq, window * (context.slots if unified else 1) + context.n_ubatch))


def _role(store: TokenStore) -> tuple[str, int]:
    """The cache a store lives in, and how many tokens share one of its cells."""
    if store.window is not None:
        return "swa", 1
    return store.kind, store.tokens_per_row


def _cells(role: tuple[str, int], window: int, settings: Serving, context: Context, *, unified: bool) -> int:
    """Cells of one stream. Source of the compressed caches: llama.cpp b11434 src/llama-kv-cache-dsv4.cpp, dsv4_comp_size."""
    kind, tokens_per_cell = role
    if kind == "swa":
        return context.n_ctx_seq if settings.swa_full else window_cells(window, context, unified=unified)
    return context.n_ctx_seq if tokens_per_cell == 1 else padded(-(-context.n_ctx_seq // tokens_per_cell))


def _state_rows(layer: int, store: StateStore, settings: Serving) -> StateRows:
    """f32 state of one layer: 4 B × elements × slots × (1 + draft tokens kept for rollback).

    Source: llama.cpp b11434 src/llama-memory-recurrent.cpp, n_rows; src/llama-hparams.cpp, n_embd_r and n_embd_s.
    """
    rows = settings.n_parallel * (1 + settings.state_snapshots)
    conv_bytes, state_bytes = STATE_ELEMENT_BYTES * store.conv_elements * rows, STATE_ELEMENT_BYTES * store.state_elements * rows
    return StateRows(layer, 0, 0, conv_bytes) if store.kind == "ngram" else StateRows(layer, conv_bytes, state_bytes)


@lru_cache(maxsize=256)
def _row_sizes(shape: ModelShape, types: RowTypes) -> tuple[tuple[int, tuple[str, int], int, int], ...]:
    """(layer, role, bytes of a row of keys, of values) of every store that grows: the same for any number of slots."""
    widest = widest_value(shape)
    return tuple(
        (index, _role(store), key_row_bytes(store, types), value_row_bytes(store, types, widest))
        for index, layer in enumerate(stored_layers(shape))
        for store in layer.stores
        if isinstance(store, TokenStore)
    )


@lru_cache(maxsize=64)
def _window_and_latent(shape: ModelShape) -> tuple[int, bool]:
    """The widest window, 0 where there is none, and whether some layer keeps a latent vector."""
    stores = [store for layer in stored_layers(shape) for store in layer.stores if isinstance(store, TokenStore)]
    return max((store.window for store in stores if store.window), default=0), any(store.kind == "latent" for store in stores)


def _draft_buffers(shape: ModelShape, context: Context, streams: int) -> tuple[CacheBuffer, ...]:
    """The cache of the model's own draft layers, in a context of their own with the same cells; it lies with the last layer."""
    rows = streams * context.n_ctx_seq
    stores = [store for layer in shape.draft_layers for store in layer.stores if isinstance(store, TokenStore) and store.kind != "indexer"]
    kept = tuple(
        LayerRows(
            len(shape.layers) - 1, _DRAFT_TYPE.row_bytes(s.heads * s.key_dim) * rows, _DRAFT_TYPE.row_bytes(s.heads * s.value_dim) * rows
        )
        for s in stores
    )
    return (CacheBuffer("draft", context.n_ctx_seq, streams, kept),) if kept else ()


def caches(shape: ModelShape, settings: Serving, context: Context) -> Caches:
    """What llama.cpp allocates. Source: llama.cpp b11434 src/llama-model.cpp, create_memory, and the caches it names."""
    unified = context.unified and not keeps_stream_per_slot(shape)
    streams = 1 if unified else context.slots
    layers = stored_layers(shape)
    window, latent = _window_and_latent(shape)
    by_role: dict[tuple[str, int], list[LayerRows]] = {}
    if window and not latent:
        # A model with windows has a cache for the layers without, even where it has no such layer.
        by_role["full", 1] = []
    order = _INDEXED_BEFORE_WINDOWS if window and latent else _ORDER
    sizes = _row_sizes(shape, RowTypes(settings.type_k, settings.type_v, settings.flash_attn))
    rows = {
        role: streams * _cells(role, window, settings, context, unified=unified) for role in dict.fromkeys(role for _, role, _, _ in sizes)
    }
    for index, role, key, value in sizes:
        by_role.setdefault(role, []).append(LayerRows(index, key * rows[role], value * rows[role]))
    if architecture(shape) == _COUNTS_EMPTY_LAYERS:
        by_role.setdefault(("full", 1), []).extend(LayerRows(index, 0, 0) for index, layer in enumerate(layers) if not layer.stores)
    drafts = _draft_buffers(shape, context, streams) if settings.drafts_itself else ()
    return Caches(
        context=context,
        buffers=tuple(
            CacheBuffer(role[0], _cells(role, window, settings, context, unified=unified), streams, tuple(kept))
            for role, kept in sorted(by_role.items(), key=lambda item: order.index(item[0][0]))
        )
        + drafts,
        state=tuple(
            _state_rows(index, store, settings)
            for index, layer in enumerate(layers)
            for store in layer.stores
            if isinstance(store, StateStore)
        ),
        layers=len(shape.layers),
    )
