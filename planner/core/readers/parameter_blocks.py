"""Parameters of the parts of a layer: every kind of attention or recurrence, and the feed-forward part."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from planner.core.attention import words
from planner.core.attention.config import HfConfig
from planner.core.attention.heads import attention_heads, global_heads, head_dim, windowed_heads
from planner.core.readers.parameter_traits import Traits, says


def attention(config: HfConfig, traits: Traits, *, heads: int, kv: int, key: int, value: int, own: tuple[bool, bool] = (True, True)) -> int:
    """Projections of queries, keys, values and the output, with their biases, norms and sinks.

    `own`: whether the layer has projections for keys and for values, or takes them from elsewhere.
    """
    hidden = config.hidden_size
    queries = heads * key * (2 if traits.output_gate else 1)
    into = queries + kv * key * own[0] + kv * value * own[1]
    total = hidden * into + heads * value * hidden
    total += into if says(config, traits.qkv_bias) else 0
    total += hidden if says(config, traits.out_bias) else 0
    total += heads if traits.sinks else 0
    return total + _qk_norm(config, traits, heads=heads, kv=kv, key=key)


def _qk_norm(config: HfConfig, traits: Traits, *, heads: int, kv: int, key: int) -> int:
    kind, _, flag = traits.qk_norm.partition(":")
    if kind not in {"none", "head", "heads", "full"}:
        kind, flag = "head", kind
    if kind == "none" or (flag and not config.flag(flag)):
        return 0
    return 2 * key if kind == "head" else (heads + kv) * key


def latent_attention(config: HfConfig, *, heads: int) -> int:
    """Multi-head latent attention: compressed queries (where there are) and one compressed key-value vector.

    Source: transformers 5 models/deepseek_v3/modeling_deepseek_v3.py, DeepseekV3Attention.
    """
    hidden, latent = config.hidden_size, config.required("kv_lora_rank")
    rope, plain = config.integer("qk_rope_head_dim", low=0) or 0, config.required("qk_nope_head_dim")
    value, compressed = config.integer("v_head_dim") or hidden // heads, config.integer("q_lora_rank")
    queries = heads * (plain + rope)
    total = hidden * compressed + compressed + compressed * queries if compressed else hidden * queries
    total += hidden * (latent + rope) + latent + latent * heads * (plain + value) + heads * value * hidden
    if says(config, "attention_bias"):
        total += (compressed or 0) + latent + rope + hidden
    return total


def indexer(config: HfConfig, layer: int) -> int:
    """The sparse indexer beside latent attention, unless the layer uses another's. Source: DeepSeek-V3.2 inference/model.py, Indexer."""
    kinds = config.values.get("indexer_types")
    if isinstance(kinds, list) and layer < len(kinds) and kinds[layer] == "shared":
        return 0
    heads, size, queries = config.integer("index_n_heads"), config.integer("index_head_dim"), config.integer("q_lora_rank")
    if not heads or not size or not queries:
        return 0
    return queries * heads * size + config.hidden_size * size + 2 * size + config.hidden_size * heads


def gated_delta(config: HfConfig) -> int:
    """Source: transformers 5 models/qwen3_next/modeling_qwen3_next.py, Qwen3NextGatedDeltaNet."""
    keys = config.required("linear_num_key_heads") * config.required("linear_key_head_dim")
    heads, size = config.required("linear_num_value_heads"), config.required("linear_value_head_dim")
    values = heads * size
    kernel = config.integer("linear_conv_kernel_dim") or 4
    hidden = config.hidden_size
    return hidden * (2 * keys + 2 * values + 2 * heads) + (2 * keys + values) * kernel + 2 * heads + size + values * hidden


def kimi_delta(config: HfConfig) -> int:
    """Source: fla models of Kimi-Linear, modeling_kimi.py, KimiDeltaAttention."""
    own = config.section("linear_attn_config")
    heads = own.integer("num_heads") or config.required("linear_num_heads")
    size = own.integer("head_dim") or config.required("linear_head_dim")
    kernel = own.integer("short_conv_kernel_size") or config.integer("linear_conv_kernel_dim", "short_conv_kernel_size") or 4
    hidden, inner = config.hidden_size, heads * size
    gates = 2 * (hidden * size + size * inner)
    return 3 * hidden * inner + 3 * inner * kernel + heads + gates + inner + hidden * heads + size + inner * hidden


def mamba2(config: HfConfig, *, normed: bool = True) -> int:
    """Source: transformers 5 models/bamba/modeling_bamba.py, BambaMixer (the same layout in Nemotron-H and Falcon-H1)."""
    hidden = config.hidden_size
    heads = config.required("mamba_num_heads", "mamba_n_heads")
    inner = heads * (config.integer("mamba_head_dim", "mamba_d_head") or (config.integer("mamba_expand") or 2) * hidden // heads)
    states = (config.integer("n_groups", "mamba_n_groups") or 1) * config.required("ssm_state_size", "mamba_d_state")
    convolved = inner + 2 * states
    kernel = config.integer("conv_kernel", "mamba_d_conv") or 4
    bias = config.flag("use_conv_bias") if config.has("use_conv_bias") else config.flag("mamba_conv_bias")
    total = hidden * (inner + convolved + heads) + convolved * kernel + 3 * heads + inner * hidden
    return total + (convolved if bias is not False else 0) + (inner if normed else 0)


def mamba1(config: HfConfig) -> int:
    """Source: transformers 5 models/jamba/modeling_jamba.py, JambaMambaMixer."""
    hidden = config.hidden_size
    inner = (config.integer("mamba_expand") or 2) * hidden
    states, rank = config.integer("mamba_d_state") or 16, config.required("mamba_dt_rank")
    kernel = config.integer("mamba_d_conv") or 4
    projections = hidden * 2 * inner + inner * (rank + 2 * states) + rank * inner + inner + inner * hidden
    return projections + inner * kernel + inner + inner * states + inner + rank + 2 * states


def short_convolution(config: HfConfig) -> int:
    """Source: transformers 5 models/lfm2/modeling_lfm2.py, Lfm2ShortConv."""
    hidden = config.hidden_size
    return 4 * hidden * hidden + hidden * (config.integer("conv_L_cache") or 3)


def lightning(config: HfConfig) -> int:
    """Source: MiniMax-Text-01 modeling_minimax_text_01.py, MiniMaxText01LightningAttention."""
    inner = attention_heads(config) * head_dim(config)
    return 5 * config.hidden_size * inner + inner


def recurrent_unit(config: HfConfig) -> int:
    """Source: transformers 5 models/recurrent_gemma/modeling_recurrent_gemma.py, RecurrentGemmaRecurrentBlock."""
    hidden, width, heads = config.hidden_size, config.integer("lru_width") or config.hidden_size, attention_heads(config)
    gates = 2 * (width * width // heads + width) + width
    return 2 * (hidden * width + width) + width * hidden + hidden + width * (config.integer("conv1d_width") or 4) + width + gates


def cross_attention(config: HfConfig, traits: Traits, layer: int) -> int:
    """Queries from the text, keys and values from the encoder, and two gates.

    Source: transformers 5 models/mllama/modeling_mllama.py, MllamaCrossAttentionDecoderLayer.
    """
    kv, key, value = global_heads(config, layer)
    return attention(config, replace(traits, qk_norm="head"), heads=attention_heads(config, layer), kv=kv, key=key, value=value) + 2


def _full(config: HfConfig, traits: Traits, layer: int) -> int:
    kv, key, value = global_heads(config, layer)
    same = config.flag("attention_k_eq_v") or False
    return attention(config, traits, heads=attention_heads(config, layer), kv=kv, key=key, value=value, own=(True, not same))


def _sliding(config: HfConfig, traits: Traits, layer: int) -> int:
    kv, key, value = windowed_heads(config, layer)
    heads = config.integer("swa_num_attention_heads") or attention_heads(config, layer)
    return attention(config, traits, heads=heads, kv=kv, key=key, value=value)


def _shared(config: HfConfig, traits: Traits, layer: int) -> int:
    """A layer that reads the keys and values of an earlier one."""
    kinds = config.values.get("layer_types")
    sliding = isinstance(kinds, list) and layer < len(kinds) and kinds[layer] != words.FULL
    kv, key, value = windowed_heads(config, layer) if sliding else global_heads(config, layer)
    return attention(config, traits, heads=attention_heads(config, layer), kv=kv, key=key, value=value, own=(False, False))


def _latent(config: HfConfig, _: Traits, layer: int) -> int:
    return latent_attention(config, heads=attention_heads(config, layer))


def _mamba(config: HfConfig, *_: object) -> int:
    return mamba1(config) if config.has("mamba_dt_rank") else mamba2(config)


def _parallel(config: HfConfig, traits: Traits, layer: int) -> int:
    return _full(config, traits, layer) + mamba2(config, normed=config.flag("mamba_rms_norm") or False)


# What stands in for attention in a layer, by the word that the attention package has for it.
MIXERS: Final[Mapping[str, Callable[[HfConfig, Traits, int], int]]] = {
    words.FULL: _full,
    words.CHUNKED: _full,
    words.INDEXED: _full,
    words.SLIDING: _sliding,
    words.LATENT: _latent,
    words.LATENT_SLIDING: _latent,
    words.LATENT_INDEXED: lambda config, traits, layer: _latent(config, traits, layer) + indexer(config, layer),
    words.CROSS: cross_attention,
    words.SHARED: _shared,
    words.GATED_DELTA: lambda config, *_: gated_delta(config),
    words.KDA: lambda config, *_: kimi_delta(config),
    words.MAMBA: _mamba,
    words.MAMBA_AND_FULL: _parallel,
    words.CONV: lambda config, *_: short_convolution(config),
    words.LIGHTNING: lambda config, *_: lightning(config),
    words.RG_LRU: lambda config, *_: recurrent_unit(config),
    words.NONE: lambda *_: 0,
}
# Kinds whose layout is not counted: about the size of attention, give or take all of it.
ROUGH: Final = frozenset({words.COMPRESSED, words.CONV_AND_FULL, words.CONV_AND_SLIDING, "jet"})
