"""The buffers beside weights and cache: the compute buffer of the worst-case graph, and the buffer for the outputs."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.llama_server.architecture import architecture
from planner.core.engines.llama_server.cache import Caches
from planner.core.engines.llama_server.layout import DEEPSEEK_4
from planner.core.engines.llama_server.serving import Serving
from planner.core.model_shape import ModelShape
from planner.core.plan import Grade

# Architectures for which the formula agreed with every printed buffer within 1 MiB (CPU, flash attention).
EXACT: Final = frozenset(
    ("llama", "qwen2", "qwen3", "qwen3moe", "phi3", "gemma", "gemma2", "gemma3", "gpt-oss", "glm4moe", "granitehybrid", "lfm2")
)
# f32 elements per head that latent attention works on: from the buffers of DeepSeek-V2-Lite, V3 and Kimi Linear.
_LATENT_PER_HEAD: Final = 1_624
# The sparse indexer beside it: DeepSeek-V3.2 against V3, both without what grows with the cells.
_INDEXER_FACTOR: Final = 1.522
# Bytes per micro-batch token and cell where an indexer scores every cell: beside latent attention printed for DeepSeek-V3.2, GLM-5
# and Hunyuan-V4 at 2,048 to 8,192 cells, beside plain attention for MiniMax-M3.
_LATENT_INDEXED_CELL_BYTES: Final = 12
_INDEXED_CELL_BYTES: Final = 18


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer's size with its range, how sure it is, and why it has that size."""

    size_bytes: int
    low_bytes: int
    high_bytes: int
    grade: Grade
    why: str


def output_bytes(shape: ModelShape, settings: Serving) -> int:
    """Logits of one row per slot, and of every drafted token, in f32 and host memory.

    Source: llama.cpp b11434 src/llama-context.cpp, output_reserve; tools/server/server-context.cpp, n_outputs_max.
    """
    return 4 * shape.vocab_size * settings.n_parallel * (1 + settings.draft_tokens)


@lru_cache(maxsize=64)
def _feed_forward_elements(shape: ModelShape) -> int:
    """f32 elements per token of the widest feed-forward step, with the residual streams around it.

    dense: 5 × n_embd + 3 × n_ff;  mixture of experts: 5 × n_embd + used × (n_embd + 3 × ff_expert), or the dense layers' if more
    """
    ff, hidden = shape.feed_forward, shape.hidden_size
    dense = 5 * hidden + 3 * ff.intermediate_size
    if not ff.experts:
        return dense
    # gpt-oss runs its gate and up projections as one.
    projections = 2 if architecture(shape) == "gpt-oss" else 3
    routed = 5 * hidden + ff.experts_per_token * (hidden + projections * (ff.expert_intermediate_size or ff.intermediate_size))
    return max(routed, dense) if ff.dense_layers else routed


@lru_cache(maxsize=64)
def _mixer_elements(shape: ModelShape) -> int:
    """f32 elements per token of the widest attention or state-space step that exceeds plain attention; 0 where none does.

    Fitted on printed buffers: Mamba holds its input projection three times, latent attention a row per head.
    """
    widest = 0
    for store in shape.stores():
        if isinstance(store, StateStore) and store.kind in {"mamba1", "mamba2"}:
            projected = 2 * store.inner + 2 * store.groups * store.group_width + (store.heads if store.kind == "mamba2" else 0)
            widest = max(widest, 3 * projected + 3 * shape.hidden_size)
        elif isinstance(store, TokenStore) and store.kind == "latent":
            widest = max(widest, shape.attention_heads * _LATENT_PER_HEAD)
        elif isinstance(store, TokenStore) and architecture(shape) == DEEPSEEK_4:
            widest = max(widest, 4 * shape.attention_heads * store.key_dim)
    return round(widest * _INDEXER_FACTOR) if _indexed(shape) else widest


@lru_cache(maxsize=64)
def _indexed(shape: ModelShape) -> bool:
    """Whether a sparse indexer scores every cell. DeepSeek-V4's works on compressed rows, and its buffer hardly grows with them."""
    return architecture(shape) != DEEPSEEK_4 and any(isinstance(store, TokenStore) and store.kind == "indexer" for store in shape.stores())


def _mask_bytes(shape: ModelShape, held: Caches, *, tokens: int, cells: int) -> tuple[int, str]:
    """What grows with the cells: an f16 mask per cache, or an indexer's scores and masks."""
    if not _indexed(shape):
        return 2 * tokens * held.mask_cells(), f"{held.mask_cells():,} cells of attention mask × 2 B"
    latent = any(isinstance(store, TokenStore) and store.kind == "latent" for store in shape.stores())
    per_cell = _LATENT_INDEXED_CELL_BYTES if latent else _INDEXED_CELL_BYTES
    return per_cell * tokens * cells, f"{cells:,} cells of masks and index scores × {per_cell} B"


def _scores_bytes(shape: ModelShape, tokens: int, cells: int) -> int:
    """Without flash attention: the scores of every head against every cell, the mask in f32, and the inputs around them."""
    return 4 * tokens * (shape.attention_heads * cells + cells) + 26 * tokens * shape.hidden_size


def _converted_bytes(shape: ModelShape, settings: Serving, cells: int) -> int:
    """A cache in f32 is converted to f16 layer by layer on its way into flash attention."""
    if settings.type_k.name != "f32" or not settings.flash_attn:
        return 0
    widths = (store.heads * store.key_dim for store in shape.stores() if isinstance(store, TokenStore))
    return 2 * cells * max(widths, default=0)


@lru_cache(maxsize=1024)
def compute_buffer(shape: ModelShape, settings: Serving, held: Caches, *, gpu: bool, copies: int = 1) -> Buffer:
    """Bytes of the compute buffer on one device; every device that holds layers has one of its own.

        flash attention: n_ubatch × 4 B × activations + n_ubatch × 2 B × Σ cells of the masks (12 or 18 B with a sparse indexer)
        without:         max(the former without masks, n_ubatch × 4 B × (heads × cells + cells) + 26 B × n_ubatch × n_embd)
        before b9672:    at least n_ubatch × 4 B × (n_vocab + n_embd), and the masks

    On a CPU it agrees with printed buffers within 1 MiB for the families in EXACT, within 12 % without flash
    attention. On a GPU it is an estimate: the same graph, but a pipeline of several keeps `copies` of the masks.
    Source: printed buffers of llama.cpp b11434 (b9010 for the logits); src/llama-context.cpp, sched_reserve.
    """
    context = held.context
    tokens, cells = context.n_ubatch, context.n_ctx_seq
    elements = max(_feed_forward_elements(shape), _mixer_elements(shape))
    one_mask, mask_words = _mask_bytes(shape, held, tokens=tokens, cells=cells)
    masks = one_mask * copies
    size = 4 * tokens * elements + masks + _converted_bytes(shape, settings, cells)
    why = f"{tokens:,} tokens of a micro-batch × {elements:,} activations × 4 B, and {mask_words}"
    if not settings.flash_attn:
        size = max(4 * tokens * elements, _scores_bytes(shape, tokens, cells))
        why = f"without flash attention {tokens:,} tokens × {shape.attention_heads} heads × {cells:,} cells × 4 B of scores at once"
    if settings.rules.reserves_all_logits:
        logits = 4 * tokens * (shape.vocab_size + shape.hidden_size) + (masks if settings.flash_attn else 0)
        if logits > size:
            size, why = logits, f"builds before b9672 keep the logits of all {tokens:,} tokens × {shape.vocab_size:,} entries × 4 B"
    exact = settings.flash_attn and not gpu and architecture(shape) in EXACT and not settings.rules.reserves_all_logits
    below, above = (1.0, 1.0) if exact else (0.75, 2.0) if gpu else (0.7, 1.5)
    return Buffer(
        size_bytes=size,
        low_bytes=round(size * below),
        high_bytes=round(size * above),
        grade="computed" if exact else "estimated",
        why=f"{why[0].upper()}{why[1:]}. It grows with --ubatch-size in full, with the context only through the mask."
        if settings.flash_attn
        else f"{why[0].upper()}{why[1:]}.",
    )
