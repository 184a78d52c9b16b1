"""From what a layer stores to vLLM's cache specs: page bytes, block size and blocks per request, on one GPU."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, Literal

from planner.core.attention.stores import StateStore, Store, TokenStore
from planner.core.engines.vllm.block_size import COMPRESSED_BLOCK, aligned_block_size
from planner.core.engines.vllm.cache_types import DTYPE_BYTES
from planner.core.engines.vllm.rows import row_bytes, state_bytes
from planner.core.engines.vllm.serving import Serving
from planner.core.errors import InputError
from planner.core.model_shape import Layer

Kind = Literal["full", "latent", "sliding", "sliding_latent", "chunked", "cross", "state"]
_PROMOTED: Final[dict[Kind, Kind]] = {"sliding": "full", "sliding_latent": "latent", "chunked": "full"}

# DeepSeek-V4: pages are padded to 576 bytes, windows come in blocks of 64 tokens, the compressors' own states in blocks of 4
# (ratio 4, two overlapping windows) and 8 (ratio 128). Source: vLLM 0.32, the specs it plans for DeepSeek-V4.
_PAGE_ALIGNMENT: Final = 576
_WINDOW_BLOCK: Final = 64
_COMPRESSOR_BLOCK: Final = {4: 4, 128: 8}


@dataclass(frozen=True, slots=True)
class Spec:
    """One cache of one layer on one GPU. Layers with equal specs share a group; `layout` is what else must be equal.

    `window` is the window or chunk in tokens; `fixed_blocks` what a request holds of a recurrent layer.
    """

    kind: Kind
    block_size: int
    page_bytes: int
    layout: tuple[int | str, ...]
    window: int = 0
    fixed_blocks: int = 0

    @property
    def family(self) -> tuple[str, int, int]:
        """Layers of one family and block size need the same blocks, whatever their pages.

        Source: vLLM 0.32 v1/kv_cache_interface.py, is_uniform_with_collection.
        """
        if self.kind in {"full", "latent"}:
            return "full", 0, 0
        return (self.kind, self.fixed_blocks, self.page_bytes) if self.kind == "state" else (self.kind, self.window, 0)

    def reserved_blocks(self, tokens: int, serving: Serving) -> int:
        """Blocks the engine counts for one request of `tokens` tokens, all its tokens in flight.

        Source: vLLM 0.32 v1/kv_cache_interface.py, max_memory_usage_bytes of each class.
        """
        return self._blocks(tokens, serving, in_flight=serving.in_flight_tokens, encoder_tokens=serving.max_num_batched_tokens)

    def held_blocks(self, tokens: int, serving: Serving) -> int:
        """Blocks a request of `tokens` tokens holds while it decodes: windows have let go of what lies behind them."""
        in_flight = min(serving.in_flight_tokens, 2 + serving.num_speculative_tokens)
        encoder = min(serving.max_num_batched_tokens, serving.shape.encoder_tokens or serving.max_num_batched_tokens)
        return self._blocks(tokens, serving, in_flight=in_flight, encoder_tokens=encoder)

    def _blocks(self, tokens: int, serving: Serving, *, in_flight: int, encoder_tokens: int) -> int:
        match self.kind:
            case "full" | "latent":
                return ceil(ceil(tokens / serving.decode_context_parallel_size) / self.block_size)
            case "sliding" | "sliding_latent":
                return ceil(min(self.window - 1 + in_flight, tokens) / self.block_size) + 1
            case "chunked":
                return ceil(min(self.window + in_flight, tokens) / self.block_size)
            case "cross":
                return ceil(encoder_tokens / self.block_size)
            case "state":
                return self.fixed_blocks

    def with_page(self, page_bytes: int) -> "Spec":
        """The spec grown to `page_bytes`: by a longer block where that divides, else padded.

        Source: vLLM 0.32 v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size.
        Raises InputError for latent caches of mixed pages, which models with a planner of their own have.
        """
        if self.page_bytes == page_bytes:
            return self
        if self.kind != "state" and page_bytes % self.page_bytes == 0:
            return replace(self, block_size=self.block_size * (page_bytes // self.page_bytes), page_bytes=page_bytes)
        if self.kind in {"latent", "sliding_latent"}:
            raise InputError(
                f"This model's caches have pages of {self.page_bytes:,} and {page_bytes:,} bytes, which vLLM packs in a way that is not "
                "computed here: enter its bytes per token by hand.",
                field="bytes_per_token",
            )
        return replace(self, page_bytes=page_bytes)

    @property
    def local(self) -> bool:
        return self.kind in _PROMOTED

    def promoted(self, block_size: int) -> "Spec":
        """The spec with its window ignored, as without the hybrid cache manager."""
        if not self.local:
            return self
        return replace(self, kind=_PROMOTED[self.kind], block_size=block_size, page_bytes=self.page_bytes * block_size // self.block_size)


@dataclass(frozen=True, slots=True)
class Placed:
    """A spec at the layer it belongs to (draft layers are counted on behind the model's own)."""

    layer: int
    spec: Spec


def cached_layers(serving: Serving) -> tuple[Layer, ...]:
    """The layers that vLLM caches for: the model's, and its own draft layers when it speculates with them."""
    layers = serving.shape.layers + (serving.shape.draft_layers if serving.drafts_with_model else ())
    if serving.sliding_window:
        return layers
    return tuple(replace(layer, stores=tuple(map(_without_window, layer.stores))) for layer in layers)


def _without_window(store: Store) -> Store:
    return replace(store, kind="full", window=None) if isinstance(store, TokenStore) and store.kind == "sliding" else store


def layer_specs(serving: Serving) -> tuple[Placed, ...]:
    """The specs of every layer on one tensor-parallel rank, in model order."""
    block_size, state_page = aligned_block_size(serving)
    return tuple(
        Placed(index, spec)
        for index, layer in enumerate(cached_layers(serving))
        for store in layer.stores
        for spec in _specs(store, serving, layer, index, block_size=block_size, state_page=state_page)
    )


def _specs(store: Store, serving: Serving, layer: Layer, index: int, *, block_size: int, state_page: int) -> Iterator[Spec]:
    if isinstance(store, StateStore):
        yield _state_spec(store, serving, block_size, state_page)
    elif serving.compressed and store.per_rank:
        yield from _compressed_specs(store, row_bytes(store, serving, layer, index))
    else:
        yield _token_spec(store, row_bytes(store, serving, layer, index), block_size)


def _token_spec(store: TokenStore, row: int, block_size: int) -> Spec:
    kind: Kind
    match store.kind:
        case "latent" | "indexer" | "compressed":
            kind = "latent"
        case "sliding":
            kind = "sliding_latent" if store.per_rank else "sliding"
        case "chunked" | "cross" | "full":
            kind = store.kind
    window = store.window or 0 if kind in _PROMOTED else 0
    layout = (store.kind, store.key_dim, store.value_dim, row)
    return Spec(kind=kind, block_size=block_size, page_bytes=block_size * row, layout=layout, window=window)


def _state_spec(store: StateStore, serving: Serving, block_size: int, page: int) -> Spec:
    state = state_bytes(store, serving)
    blocks = 1 + serving.num_speculative_tokens
    if serving.keeps_state_history:
        blocks += 1 + (store.kind == "mamba2" and serving.rules.checkpoints_mamba2)
    else:
        block_size = serving.max_model_len
    return Spec(kind="state", block_size=block_size, page_bytes=max(page, state), layout=(store.kind, state), fixed_blocks=blocks)


def _compressed_specs(store: TokenStore, row: int) -> Iterator[Spec]:
    """A DeepSeek-V4 cache and, where it merges tokens, the compressor's own running state beside it (fp32, a window long)."""
    if store.kind == "sliding":
        yield _padded("sliding_latent", _WINDOW_BLOCK, _WINDOW_BLOCK * row, ("window",), store.window or 0)
        return
    ratio = store.tokens_per_row
    yield _padded("latent", COMPRESSED_BLOCK, COMPRESSED_BLOCK // ratio * row, ("compressed", store.kind, ratio))
    if ratio in _COMPRESSOR_BLOCK:
        block, overlap = _COMPRESSOR_BLOCK[ratio], 2 if ratio == min(_COMPRESSOR_BLOCK) else 1
        width = 2 * overlap * store.key_dim
        yield _padded("sliding_latent", block, block * width * DTYPE_BYTES["float32"], ("compressor", width), overlap * ratio)


def _padded(kind: Kind, block_size: int, page: int, layout: tuple[int | str, ...], window: int = 0) -> Spec:
    page_bytes = ceil(page / _PAGE_ALIGNMENT) * _PAGE_ALIGNMENT
    return Spec(kind=kind, block_size=block_size, page_bytes=page_bytes, layout=layout, window=window)
