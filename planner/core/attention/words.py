"""The vocabulary for layers: one word per way of caching, and what configurations call them."""

from typing import Final

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"
CHUNKED: Final = "chunked_attention"
LINEAR: Final = "linear_attention"
INDEXED: Final = "indexed_attention"
LATENT: Final = "latent_attention"
LATENT_SLIDING: Final = "latent_sliding_attention"
LATENT_INDEXED: Final = "latent_indexed_attention"
COMPRESSED: Final = "compressed_attention"
CROSS: Final = "cross_attention"
DECODER: Final = "decoder_with_cross_attention"
MAMBA: Final = "mamba"
MAMBA_AND_FULL: Final = "mamba_and_full_attention"
CONV: Final = "convolution"
CONV_AND_FULL: Final = "convolution_and_full_attention"
CONV_AND_SLIDING: Final = "convolution_and_sliding_attention"
GATED_DELTA: Final = "gated_delta_net"
KDA: Final = "kimi_delta_attention"
LIGHTNING: Final = "lightning_attention"
RWKV: Final = "rwkv"
RG_LRU: Final = "rg_lru"
SHARED: Final = "shared_attention"
NONE: Final = "no_attention"

SYNONYMS: Final = {
    "attention": FULL, "attn": FULL, "full": FULL, "global": FULL, "global_attention": FULL, "*": FULL, "G": FULL,
    "swa": SLIDING, "local": SLIDING, "local_attention": SLIDING, "sliding": SLIDING, "reference_sliding_attention": SLIDING, "L": SLIDING,
    "chunked": CHUNKED,
    "mamba2": MAMBA, "M": MAMBA, "ssm": MAMBA,
    "conv": CONV, "short_conv": CONV,
    "deepseek_sparse_attention": INDEXED, "minimax_m3_sparse": INDEXED,
    "heavily_compressed_attention": COMPRESSED, "compressed_sparse_attention": COMPRESSED,
    "recurrent": RG_LRU,
    "kda": KDA,
    "moe": NONE, "mlp": NONE, "E": NONE, "-": NONE, "no_op": NONE,
}  # fmt: skip


def own_word(word: str) -> str:
    """The vocabulary's word for a configuration's; an unknown one stays as it is, cut to what a sentence can hold."""
    return SYNONYMS.get(word, word[:60])
