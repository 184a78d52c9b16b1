"""Defaults of Hugging Face model classes for keys that real configurations leave out; data, by model type.

Source: transformers 5, src/transformers/models/*/configuration_*.py (the class of each model type), read 2026-11.
"""

from collections.abc import Mapping
from typing import Final

_GEMMA3: Final = {
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "vocab_size": 262_208,
    "max_position_embeddings": 131_072,
}
_QWEN2: Final = {
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "intermediate_size": 22_016,
    "vocab_size": 151_936,
}

# Counts and sizes, for sections that are written as the difference to their class.
STRUCTURE: Final[Mapping[str, Mapping[str, object]]] = {
    "llama": {
        "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 11_008, "vocab_size": 32_000, "max_position_embeddings": 2048,
    },
    "mistral": {
        "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14_336, "vocab_size": 32_000, "max_position_embeddings": 131_072,
    },
    "qwen2": _QWEN2,
    "qwen3": {**_QWEN2, "head_dim": 128},
    "gemma": {
        "num_hidden_layers": 28, "hidden_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
        "intermediate_size": 24_576, "vocab_size": 256_000, "max_position_embeddings": 8192,
    },
    "gemma2": {
        "num_hidden_layers": 26, "hidden_size": 2304, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "intermediate_size": 9216, "vocab_size": 256_000, "max_position_embeddings": 8192,
    },
    "gemma3_text": {**_GEMMA3, "num_hidden_layers": 26, "hidden_size": 2304, "intermediate_size": 9216},
    "gemma3n_text": {
        "num_hidden_layers": 35, "hidden_size": 2048, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
        "intermediate_size": 16_384, "vocab_size": 262_400, "max_position_embeddings": 32_768,
    },
    "gemma4_text": {
        "num_hidden_layers": 30, "hidden_size": 2304, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "intermediate_size": 9216, "vocab_size": 262_144, "max_position_embeddings": 131_072,
    },
}  # fmt: skip

_GROUPED_MAMBA: Final = {"mamba_d_conv": 4, "mamba_expand": 2, "mamba_n_groups": 1}

# What decides between kinds of attention, for every section.
DETAILS: Final[Mapping[str, Mapping[str, object]]] = {
    "qwen2": {"use_sliding_window": False},
    "qwen2_moe": {"use_sliding_window": False},
    "qwen2_vl": {"use_sliding_window": False},
    "qwen2_5_vl": {"use_sliding_window": False},
    "qwen2_5_omni_text": {"use_sliding_window": False},
    "qwen3": {"use_sliding_window": False},
    "qwen3_moe": {"use_sliding_window": False},
    "smollm3": {"use_sliding_window": False},
    "gemma2": {"sliding_window": 4096, "sliding_window_pattern": 2},
    "gemma3_text": {"sliding_window": 4096, "sliding_window_pattern": 6},
    "gemma3n_text": {"sliding_window": 512, "sliding_window_pattern": 5, "num_kv_shared_layers": 15},
    "gemma4_text": {"sliding_window": 512, "sliding_window_pattern": 6, "global_head_dim": 512, "attention_k_eq_v": False},
    "gemma4_unified_text": {"sliding_window": 512, "sliding_window_pattern": 6, "global_head_dim": 512},
    "gpt_oss": {"sliding_window": 128, "sliding_window_pattern": 2},
    "cohere2": {"sliding_window": 4096, "sliding_window_pattern": 4},
    "olmo3": {"sliding_window": 4096, "sliding_window_pattern": 4},
    "exaone4": {"sliding_window_pattern": 4},
    "llama4_text": {"attention_chunk_size": 8192, "no_rope_layer_interval": 4},
    "gpt_bigcode": {"multi_query": True},
    "mistral": {"sliding_window": 4096},
    "qwen3_next": {"full_attention_interval": 4},
    "qwen3_5_text": {"full_attention_interval": 4},
    "qwen3_5_moe_text": {"full_attention_interval": 4},
    "mamba": {"conv_kernel": 4, "state_size": 16, "expand": 2},
    "falcon_mamba": {"conv_kernel": 4, "state_size": 16, "expand": 2},
    "mamba2": {"conv_kernel": 4, "state_size": 128, "expand": 2, "n_groups": 8},
    "bamba": _GROUPED_MAMBA,
    "granitemoehybrid": _GROUPED_MAMBA,
    "falcon_h1": _GROUPED_MAMBA,
    "jamba": {"mamba_d_conv": 4, "mamba_d_state": 16, "mamba_expand": 2, "attn_layer_period": 8, "attn_layer_offset": 4},
    "recurrent_gemma": {"block_types": ("recurrent", "recurrent", "attention"), "attention_window_size": 2048, "conv1d_width": 4},
    "whisper": {"max_source_positions": 1500},
    "deepseek_v4": {"sliding_window": 128},
}  # fmt: skip

# Classes in which every query head has keys and values of its own unless the file says otherwise.
MULTI_HEAD: Final = frozenset((
    "baichuan", "bart", "bloom", "codegen", "codeshell", "deepseek", "falcon", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj",
    "internlm", "llama", "mbart", "mpt", "olmo", "olmo2", "olmo3", "opt", "orion", "persimmon", "phi", "phi3", "pegasus", "qwen", "RefinedWeb",
    "RefinedWebModel", "stablelm", "stablelm_epoch", "t5", "mt5", "umt5", "whisper", "xglm", "xverse", "cohere", "cohere2", "minicpm",
    "RWForCausalLM", "chatglm", "zamba", "zamba2",
))  # fmt: skip
