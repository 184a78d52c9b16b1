"""The cache of a model as it is explained: groups of layers that store alike, and the arithmetic in the user's numbers."""

from collections import Counter
from typing import Final

from planner.core import units
from planner.core.attention.stores import StateStore, Store, TokenStore
from planner.core.engines.contract import Engine, Job
from planner.core.plan import Cache, CacheGroup

_NAMES: Final = {
    "full": "full attention",
    "sliding": "sliding window",
    "chunked": "chunked attention",
    "latent": "latent attention",
    "indexer": "sparse-attention indexer",
    "compressed": "compressed attention",
    "cross": "cross-attention",
    "mamba1": "Mamba",
    "mamba2": "Mamba-2",
    "gated_delta": "gated delta net",
    "kda": "Kimi delta attention",
    "short_conv": "short convolution",
    "linear": "linear attention",
    "rwkv": "RWKV",
    "ngram": "n-gram embeddings",
}


def _grows(store: Store) -> bool:
    return isinstance(store, TokenStore) and store.window is None and store.kind != "cross"


def _head_words(store: TokenStore) -> str:
    """`2 × 8 KV heads × 128`, or what the store has instead: keys and values of different length, one latent vector."""
    if store.kind in {"latent", "compressed", "indexer"} and not store.value_dim:
        return f"{store.heads * store.key_dim:,}"
    heads = f"{store.heads} KV head{'s' if store.heads != 1 else ''}"
    if store.key_dim == store.value_dim:
        return f"2 × {heads} × {store.key_dim}"
    return f"{heads} × ({store.key_dim} + {store.value_dim})"


def _row_words(store: TokenStore, layers: int, row_bytes: int) -> str:
    """`2 × 36 layers × 8 KV heads × 128 × 2 B`: the factors in the order people write them."""
    counted = f"{layers} layer{'s' if layers != 1 else ''}"
    words = _head_words(store)
    factors = f"2 × {counted} × {words[4:]}" if words.startswith("2 × ") else f"{counted} × {words}"
    element = units.trimmed(row_bytes / store.elements_per_row, 4) if store.elements_per_row else "0"
    return f"{factors} × {element} B" + (f" ÷ {store.tokens_per_row}" if store.tokens_per_row > 1 else "")


def _token_line(store: TokenStore, layers: int, row_bytes: int, context_tokens: int) -> str:
    per_token = layers * row_bytes // store.tokens_per_row
    held = layers * row_bytes * store.rows(context_tokens)
    name = _NAMES[store.kind]
    head = f"{name}: {_row_words(store, layers, row_bytes)} = {per_token:,} B = {units.size(per_token)} per token"
    if store.window is None:
        return f"{head}; {context_tokens:,} tokens = {units.size(held)}"
    return f"{head}; a sequence keeps at most {store.window:,} tokens = {units.size(layers * row_bytes * store.rows(store.window))}"


def _state_line(store: StateStore, layers: int, state_bytes: int) -> str:
    return (
        f"{_NAMES[store.kind]}: {layers} layer{'s' if layers != 1 else ''} × {state_bytes:,} B of state = "
        f"{units.size(layers * state_bytes)} per sequence, whatever its length"
    )


def cache_view(engine: Engine, job: Job, *, slots: int) -> Cache:
    """The cache under this engine's rules for what is stored, before its rounding; `reserved_bytes` is after it."""
    counts: Counter[tuple[Store, int]] = Counter()
    for layer in engine.stored(job):
        counts.update(layer)
    groups, working = [], []
    for (store, size), layers in counts.items():
        if isinstance(store, StateStore):
            groups.append(CacheGroup(store.kind, layers, 0, None, layers * size))
            working.append(_state_line(store, layers, size))
        else:
            bounded = 0 if _grows(store) else layers * size * store.rows(store.window or job.context_tokens)
            per_token = layers * size // store.tokens_per_row if _grows(store) else 0
            groups.append(CacheGroup(store.kind, layers, per_token, store.window, bounded))
            working.append(_token_line(store, layers, size, job.context_tokens))
    type_k, type_v = engine.cache_types(job)
    return Cache(
        type_k=type_k,
        type_v=type_v,
        bytes_per_token=sum(group.bytes_per_token for group in groups),
        bytes_per_sequence=sum(group.bytes_per_sequence for group in groups),
        request_bytes=engine.request_bytes(job),
        reserved_bytes=engine.reserved_bytes(job, slots),
        groups=tuple(groups),
        working=tuple(working),
    )
