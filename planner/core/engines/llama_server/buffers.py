"""The buffers beside weights and cache: the compute buffer of the worst-case graph, and the buffer for the outputs."""

from dataclasses import dataclass

from planner.core.attention.stores import TokenStore
from planner.core.engines.llama_server.cache import Caches
from planner.core.engines.llama_server.layout import family
from planner.core.engines.llama_server.serving import Context, Serving
from planner.core.model_shape import ModelShape
from planner.core.plan import Grade


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


def _activation_elements(shape: ModelShape) -> int:
    """f32 elements per token that live at once in the graph with flash attention, the masks apart.

    dense: 5 × n_embd + 3 × n_ff;  mixture of experts: 5 × n_embd + used × (n_embd + 3 × ff_expert), or the dense layers' if more
    """
    ff = shape.feed_forward
    hidden = shape.hidden_size
    dense = 5 * hidden + 3 * ff.intermediate_size
    if not ff.experts:
        return dense
    experts = 5 * hidden + ff.experts_per_token * (hidden + 3 * (ff.expert_intermediate_size or ff.intermediate_size))
    return max(experts, dense) if ff.dense_layers else experts


def _latent(shape: ModelShape) -> bool:
    return any(isinstance(store, TokenStore) and store.kind == "latent" for store in shape.stores())


def _measured_architecture(shape: ModelShape) -> bool:
    """Whether the formula was found to hold within 1 MiB for this kind of model on a CPU."""
    plain = {"llama", "qwen2", "qwen3", "qwen3moe", "mistral", "phi3", "gemma", "gemma2", "gemma3", "glm4moe", "qwen3next", "qwen35"}
    return family(shape) in plain


def compute_buffer(shape: ModelShape, settings: Serving, context: Context, held: Caches, *, gpu: bool, copies: int = 1) -> Buffer:
    """Bytes of the compute buffer on one device; every device that holds layers has one of its own.

        flash attention: n_ubatch × 4 B × activations + n_ubatch × 2 B × Σ cells of the masks
        without:         max(the former without masks, n_ubatch × 4 B × (heads × cells + cells + 6.5 × n_embd))
        before b9672:    at least n_ubatch × (4 B × n_vocab + 8 B × n_embd)

    Found to hold on a CPU within 0.8 MiB for dense models with flash attention and within 12 % without. On a GPU it is an
    estimate: the same graph, but the masks are copied for every device of a pipeline.
    Source: printed buffers of llama.cpp b11434 (and b9010 for the logits), src/llama-context.cpp, sched_reserve.
    """
    tokens = context.n_ubatch
    activations = 4 * tokens * _activation_elements(shape)
    masks = 2 * tokens * held.mask_cells() * copies
    size = activations + masks
    why = f"{tokens:,} tokens of a micro-batch × 4 B × {_activation_elements(shape):,} activations, and the attention mask"
    if not settings.flash_attn:
        scores = 4 * tokens * (shape.attention_heads * context.n_ctx_seq + context.n_ctx_seq) + 26 * tokens * shape.hidden_size
        if scores > size - masks:
            size = scores
            why = (
                f"without flash attention {tokens:,} × {shape.attention_heads} heads × {context.n_ctx_seq:,} cells × 4 B of scores at once"
            )
    if _latent(shape):
        size, why = _latent_bytes(shape, settings, context, size, why)
    if settings.rules.reserves_all_logits:
        logits = tokens * (4 * shape.vocab_size + 8 * shape.hidden_size)
        if logits > size:
            size = logits
            why = f"builds before b9672 keep the logits of all {tokens:,} tokens: × {shape.vocab_size:,} × 4 B"
    surest = settings.flash_attn and not gpu and _measured_architecture(shape)
    spread = (1.0, 1.0) if surest else (0.85, 1.5) if not gpu else (0.75, 2.0)
    return Buffer(
        size_bytes=size,
        low_bytes=round(size * spread[0]),
        high_bytes=round(size * spread[1]),
        grade="computed" if surest else "estimated",
        why=f"{why}; the cache's length counts only through the mask, -ub in full.",
    )


def _latent_bytes(shape: ModelShape, settings: Serving, context: Context, size: int, why: str) -> tuple[int, str]:
    """Latent attention works on queries as wide as the cached row for every head."""
    row = max(store.key_dim for store in shape.stores() if isinstance(store, TokenStore) and store.kind == "latent")
    absorbed = context.n_ubatch * 4 * (shape.attention_heads * row * 2 + 5 * shape.hidden_size)
    if not settings.flash_attn or absorbed <= size:
        return size, why
    masks = 2 * context.n_ubatch * context.n_ctx_seq
    return (
        absorbed + masks,
        f"{context.n_ubatch:,} tokens × {shape.attention_heads} heads × {row} latent elements × 4 B, twice, and the mask",
    )
