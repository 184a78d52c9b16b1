"""From what a layer stores to vLLM's cache specs: page bytes, block size and blocks per request, on one GPU."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Final, Literal

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.vllm.cache_types import DTYPE_BYTES, CacheType
from planner.core.engines.vllm.serving import Serving
from planner.core.errors import InputError

Kind = Literal["full", "latent", "sliding", "sliding_latent", "chunked", "cross", "state"]
_LOCAL: Final = {"sliding": "full", "sliding_latent": "latent", "chunked": "full"}

# DeepSeek-V4 keeps blobs of 448 fp8 and 64 bf16 elements and 8 scale bytes, pages padded to 576 bytes, compressor states in
# small blocks. Source: vLLM 0.32 models/deepseek_v4 and v1/attention/backends/mla, as planned in its start-up.
_V4_TOKEN_BYTES: Final = 584
_V4_ALIGNMENT: Final = 576
_V4_WINDOW_BLOCK: Final = 64
_V4_STATE_BLOCK: Final = {4: 4, 128: 8}
_V4_BLOCK: Final = 256
# 128 fp8 elements and one fp32 scale. Source: vLLM 0.32 v1/attention/backends/mla/indexer.py.
_INDEXER_SCALE_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Spec:
    """One cache of one layer on one GPU. `layout` is what must be equal for two layers to share a group.

    `window` is the window or chunk in tokens; `state_blocks` the blocks a request holds of a recurrent layer.
    """

    kind: Kind
    block_size: int
    page_bytes: int
    layout: tuple[int | str, ...]
    window: int = 0
    state_blocks: int = 0

    @property
    def family(self) -> tuple[str, int, int]:
        """Specs of one family and block size can share a group although their pages differ.

        Source: vLLM 0.32 v1/kv_cache_interface.py, is_uniform_with_collection.
        """
        match self.kind:
            case "full" | "latent":
                return "full", 0, 0
            case "state":
                return "state", self.state_blocks, self.page_bytes
            case _:
                return self.kind, self.window, 0

    def reserved_blocks(self, tokens: int, serving: Serving) -> int:
        """Blocks the engine counts for one request of `tokens` tokens, with all its tokens in flight.

        Source: vLLM 0.32 v1/kv_cache_interface.py, max_memory_usage_bytes of each class.
        """
        return self._blocks(tokens, serving, in_flight=serving.in_flight_tokens)

    def held_blocks(self, tokens: int, serving: Serving) -> int:
        """Blocks a request of `tokens` tokens holds while it decodes: windows have let go of what lies behind them."""
        return self._blocks(tokens, serving, in_flight=2 + serving.num_speculative_tokens)

    def _blocks(self, tokens: int, serving: Serving, *, in_flight: int) -> int:
        match self.kind:
            case "full" | "latent":
                return ceil(ceil(tokens / serving.decode_context_parallel_size) / self.block_size)
            case "sliding" | "sliding_latent":
                return ceil(min(self.window - 1 + in_flight, tokens) / self.block_size) + 1
            case "chunked":
                return ceil(min(self.window + in_flight, tokens) / self.block_size)
            case "cross":
                return ceil(serving.max_num_batched_tokens / self.block_size)
            case "state":
                return self.state_blocks

    def with_page(self, page_bytes: int) -> "Spec":
        """The spec grown to `page_bytes`: by a longer block where it divides, else padded.

        Source: vLLM 0.32 v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size.
        """
        if self.page_bytes == page_bytes:
            return self
        if self.kind != "state" and page_bytes % self.page_bytes == 0:
            return replace(self, block_size=self.block_size * (page_bytes // self.page_bytes), page_bytes=page_bytes)
        if self.kind in {"latent", "sliding_latent"}:
            raise InputError(
                f"vLLM cannot bring this model's caches to one page size ({self.page_bytes:,} and {page_bytes:,} bytes) and refuses to start.",
                field="cache_type",
            )
        return replace(self, page_bytes=page_bytes)

    def as_full(self, block_size: int) -> "Spec":
        """The spec with its window ignored, as without the hybrid cache manager."""
        page = self.page_bytes * block_size // self.block_size
        return replace(self, kind=_LOCAL[self.kind], block_size=block_size, page_bytes=page)  # type: ignore[arg-type]

    @property
    def local(self) -> bool:
        return self.kind in _LOCAL


@dataclass(frozen=True, slots=True)
class Placed:
    """A spec at the layer it belongs to (draft layers are counted on behind the model's own)."""

    layer: int
    spec: Spec


def base_block_size(serving: Serving) -> int:
    """Tokens per block before hybrid alignment: 16, raised to what the attention backends of the model accept.

    Source: vLLM 0.32 platforms/interface.py, update_block_size_for_backend, and the backends' supported sizes.
    """
    kinds = {store.kind for store in serving.shape.stores() if isinstance(store, TokenStore)}
    hybrid = any(isinstance(store, StateStore) for store in serving.shape.stores())
    if "compressed" in kinds:
        return _V4_BLOCK
    if serving.block_size:
        return serving.block_size
    if "indexer" in kinds:
        return 64 if "latent" in kinds else 128
    if "latent" in kinds and serving.blackwell:
        return 128
    if serving.cache_type.turboquant and not hybrid:
        # Pages of unquantised boundary layers are covered by longer blocks: _align_heterogeneous_kv_block_size.
        return 16 * DTYPE_BYTES[serving.cache_type.model_dtype]
    return 16


def layer_specs(serving: Serving) -> tuple[Placed, ...]:
    """The specs of every layer on one tensor-parallel rank, in model order."""
    shape = serving.shape
    base = base_block_size(serving)
    block_size, state_page = _aligned(serving, base)
    layers = shape.layers + (shape.draft_layers if serving.drafts_with_model else ())
    placed: list[Placed] = []
    for index, layer in enumerate(layers):
        boundary = serving.cache_type.turboquant and (index < 2 or index >= len(shape.layers) - 2) and state_page is None
        cache_type = CacheType("auto", serving.cache_type.model_dtype) if boundary else serving.cache_type
        latent = any(isinstance(store, TokenStore) and store.kind == "latent" for store in layer.stores)
        for store in layer.stores:
            if isinstance(store, StateStore):
                placed.append(Placed(index, _state_spec(store, serving, block_size, state_page or 0)))
            elif block_size == _V4_BLOCK and store.per_rank and _is_v4(serving):
                placed += [Placed(index, spec) for spec in _v4_specs(store, cache_type)]
            else:
                placed.append(Placed(index, _token_spec(store, serving, cache_type, block_size, latent=latent)))
    return tuple(placed)


def _is_v4(serving: Serving) -> bool:
    return any(isinstance(store, TokenStore) and store.kind == "compressed" for store in serving.shape.stores())


def heads_on_rank(heads: int, tensor_parallel: int) -> int:
    """KV heads of one rank: divided, or replicated when there are fewer than ranks. Source: config/model.py, get_num_kv_heads."""
    return max(1, heads // tensor_parallel)


def _token_bytes(store: TokenStore, serving: Serving, cache_type: CacheType, *, latent: bool) -> int:
    """Bytes of one token of one layer on one rank."""
    if store.kind == "indexer":
        return store.key_dim + _INDEXER_SCALE_BYTES if latent else store.key_dim * DTYPE_BYTES[cache_type.model_dtype]
    if store.per_rank:
        return cache_type.latent_bytes(store.heads * (store.key_dim + store.value_dim))
    return heads_on_rank(store.heads, serving.tensor_parallel_size) * cache_type.head_bytes(store.key_dim, store.value_dim)


def _token_spec(store: TokenStore, serving: Serving, cache_type: CacheType, block_size: int, *, latent: bool) -> Spec:
    token = _token_bytes(store, serving, cache_type, latent=latent)
    heads = store.heads if store.per_rank else heads_on_rank(store.heads, serving.tensor_parallel_size)
    layout = (store.kind, heads, store.key_dim, store.value_dim, token)
    kind: Kind
    match store.kind:
        case "latent" | "indexer":
            kind = "latent"
        case "sliding" if serving.sliding_window:
            kind = "sliding_latent" if store.per_rank else "sliding"
        case "chunked":
            kind = "chunked"
        case "cross":
            kind = "cross"
        case _:
            kind = "full"
    window = store.window or 0 if kind in {"sliding", "sliding_latent", "chunked"} else 0
    return Spec(kind=kind, block_size=block_size, page_bytes=block_size * token, layout=layout, window=window)


def _v4_specs(store: TokenStore, cache_type: CacheType) -> tuple[Spec, ...]:
    """A DeepSeek-V4 cache and, for compressed ones, the compressor's own state beside it."""

    def spec(kind: Kind, block_size: int, page: int, window: int, *layout: int | str) -> Spec:
        padded = ceil(page / _V4_ALIGNMENT) * _V4_ALIGNMENT
        return Spec(kind=kind, block_size=block_size, page_bytes=padded, layout=layout, window=window)

    if store.kind == "sliding":
        return (spec("sliding_latent", _V4_WINDOW_BLOCK, _V4_WINDOW_BLOCK * _V4_TOKEN_BYTES, store.window or 0, "window"),)
    ratio = store.tokens_per_row
    token = store.key_dim + _INDEXER_SCALE_BYTES if store.kind == "indexer" else _V4_TOKEN_BYTES
    cache = spec("latent", _V4_BLOCK, _V4_BLOCK // ratio * token, 0, store.kind, ratio)
    if ratio == 1 or ratio not in _V4_STATE_BLOCK:
        return (cache,)
    overlap = 2 if ratio == 4 else 1
    block = _V4_STATE_BLOCK[ratio]
    width = 2 * overlap * store.key_dim
    return cache, spec("sliding_latent", block, block * width * DTYPE_BYTES["float32"], overlap * ratio, "state", width)


def state_bytes(store: StateStore, serving: Serving) -> int:
    """Bytes of one request's state of one recurrent layer on one rank.

    Source: vLLM 0.32 model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator and MambaStateDtypeCalculator.
    """
    ranks = serving.tensor_parallel_size
    groups = store.groups
    if store.kind == "mamba2" and groups % ranks:
        groups = ranks
    channels = store.inner + 2 * groups * store.group_width
    conv_rows = store.conv_rows + (serving.num_speculative_tokens if store.conv_rows else 0)
    conv = conv_rows * ceil(channels / ranks) * DTYPE_BYTES[serving.mamba_cache_dtype]
    state = ceil(store.heads / ranks) * store.head_rows * store.head_columns
    return conv + state * DTYPE_BYTES[_recurrence_dtype(store, serving)]


def _recurrence_dtype(store: StateStore, serving: Serving) -> str:
    asked = serving.mamba_ssm_cache_dtype
    if asked in DTYPE_BYTES:
        return asked
    if store.kind == "kda":
        return "float32"
    return store.state_dtype if store.state_dtype in DTYPE_BYTES else serving.mamba_cache_dtype


def _aligned(serving: Serving, base: int) -> tuple[int, int | None]:
    """(block size, page of recurrent layers): an attention page must be as large as a state, and both are made equal.

    Source: vLLM 0.32 platforms/interface.py, _align_hybrid_block_size.
    """
    stores = tuple(serving.shape.stores())
    states = [state_bytes(store, serving) for store in stores if isinstance(store, StateStore)]
    attention = [store for store in stores if isinstance(store, TokenStore)]
    if not states:
        return base, None
    if not attention:
        return base, max(states)
    latent = any(store.kind == "latent" for store in attention)
    token = max(_token_bytes(store, serving, serving.cache_type, latent=latent) for store in attention)
    step = max(base, 128) if latent else base
    block_size = max(base, step * ceil(max(states) / (step * token)))
    return block_size, block_size * token


def _state_spec(store: StateStore, serving: Serving, block_size: int, page: int) -> Spec:
    state = state_bytes(store, serving)
    blocks = 1 + serving.num_speculative_tokens
    if serving.keeps_state_history:
        blocks += 1 + (store.kind == "mamba2" and serving.rules.checkpoints_mamba2)
    else:
        block_size = serving.max_model_len
    return Spec(kind="state", block_size=block_size, page_bytes=max(page, state), layout=(store.kind, state), state_blocks=blocks)
