"""What models cache: small records of facts. `config` has the keys that decide it, under the names their files use.

`token_bytes` is what grows with every token, at 16 bit; `fixed_elements` what one sequence keeps beside that when full.
Unless a comment says otherwise the figures are the cache specs that vLLM 0.32 planned for the model.
"""

from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class Fact:
    name: str
    config: dict[str, object]
    token_bytes: int
    fixed_elements: int = 0
    kinds: dict[str, int] = field(default_factory=dict)


def plain(model_type: str, layers: int, hidden: int, heads: int, kv: int, **more: object) -> dict[str, object]:
    return {
        "model_type": model_type, "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv,
        "vocab_size": 32_000, "max_position_embeddings": 32_768, **more,
    }  # fmt: skip


def latent(model_type: str, layers: int, hidden: int, heads: int, **more: object) -> dict[str, object]:
    return plain(
        model_type,
        layers,
        hidden,
        heads,
        heads,
        **{"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, **more},
    )


def every(period: int, layers: int, last: str, others: str) -> list[str]:
    return [others if (layer + 1) % period else last for layer in range(layers)]


GDN: Final = {
    "linear_conv_kernel_dim": 4, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "head_dim": 256,
    "full_attention_interval": 4,
}  # fmt: skip
NEMOTRON: Final = {"conv_kernel": 4, "expand": 2, "n_groups": 8, "mamba_head_dim": 64, "ssm_state_size": 128, "head_dim": 128}
V4_RATIOS: Final = [0, 0] + [4, 128] * 20 + [4, 0]
KDA_LAYERS: Final = [layer for layer in range(1, 28) if layer % 4 and layer != 27]

FACTS: Final = (
    # full attention
    Fact("Qwen3-8B", plain("qwen3", 36, 4096, 32, 8, head_dim=128), 147_456, 0, {"full": 36}),
    Fact("Llama-3.1-8B", plain("llama", 32, 4096, 32, 8), 131_072),
    Fact("Llama-2-7B", plain("llama", 32, 4096, 32, 32), 524_288),
    Fact("TinyLlama-1.1B", plain("llama", 22, 2048, 32, 4), 22_528),
    Fact("SmolLM2-135M", plain("llama", 30, 576, 9, 3), 23_040),
    Fact("phi-4", plain("phi3", 40, 5120, 40, 10, sliding_window=None), 204_800),
    Fact("GLM-4.5-Air", plain("glm4_moe", 46, 4096, 96, 8, head_dim=128), 188_416),
    Fact("Mixtral-8x7B", plain("mixtral", 32, 4096, 32, 8), 131_072),
    Fact("Qwen2.5-7B, window switched off", plain("qwen2", 28, 3584, 28, 4, sliding_window=131_072, use_sliding_window=False), 57_344),
    Fact("Qwen3-VL-30B-A3B, nested", {"model_type": "qwen3_vl_moe", "text_config": plain("qwen3_vl_moe_text", 48, 2048, 32, 4, head_dim=128)}, 98_304),
    Fact("gpt2", {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50_257}, 36_864),
    Fact("starcoder, one head for all", {"model_type": "gpt_bigcode", "n_layer": 40, "n_embd": 6144, "n_head": 48, "multi_query": True, "vocab_size": 49_152}, 20_480),
    Fact("falcon-7b", {"model_type": "falcon", "num_hidden_layers": 32, "hidden_size": 4544, "num_attention_heads": 71, "multi_query": True, "vocab_size": 65_024}, 8_192),
    Fact(
        "falcon-40b",
        {"model_type": "falcon", "num_hidden_layers": 60, "hidden_size": 8192, "num_attention_heads": 128, "num_kv_heads": 8, "multi_query": True,
         "new_decoder_architecture": True, "vocab_size": 65_024},
        122_880,
    ),
    # config.json of zai-org/glm-4-9b: 40 layers, 2 groups of 128
    Fact(
        "glm-4-9b, groups under another name",
        {"model_type": "chatglm", "architectures": ["ChatGLMModel"], "num_layers": 40, "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128,
         "multi_query_attention": True, "multi_query_group_num": 2, "padded_vocab_size": 151_552, "seq_length": 8192},
        40_960,
    ),
    # config.json of nvidia/Llama-3_3-Nemotron-Super-49B-v1: 49 of its 80 layers attend, 8 query heads share one
    Fact(
        "Nemotron-Super-49B, attention removed by search",
        plain("nemotron-nas", 80, 8192, 64, 0, num_key_value_heads=None,
              block_configs=[{"attention": {"n_heads_in_group": 8, "no_op": False}}] * 49 + [{"attention": {"n_heads_in_group": None, "no_op": True}}] * 31),
        49 * 2 * 8 * 128 * 2, 0, {"full": 49, "attention_free": 31},
    ),
    # sliding windows
    Fact("Mistral-7B-v0.1", plain("mistral", 32, 4096, 32, 8, sliding_window=4096), 0, 32 * 4096 * 2 * 8 * 128, {"sliding": 32}),
    Fact("Phi-3-mini-4k", plain("phi3", 32, 3072, 32, 32, sliding_window=2047), 0, 32 * 2047 * 2 * 32 * 96),
    Fact("gpt-oss-20b", plain("gpt_oss", 24, 2880, 64, 8, head_dim=64, sliding_window=128), 24_576, 12 * 128 * 2 * 8 * 64, {"full": 12, "sliding": 12}),
    Fact("gemma-2-9b", plain("gemma2", 42, 3584, 16, 8, head_dim=256, sliding_window=4096), 172_032, 21 * 4096 * 2 * 8 * 256),
    Fact("gemma-3-1b", plain("gemma3_text", 26, 1152, 4, 1, head_dim=256, sliding_window=512, sliding_window_pattern=6), 4_096, 22 * 512 * 2 * 256),
    # google/gemma-3-4b-it states neither heads nor their size: 8 heads in groups of 2, 256 wide (Gemma3TextConfig)
    Fact(
        "gemma-3-4b, heads left to the class",
        {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "sliding_window": 1024}},
        5 * 2 * 4 * 256 * 2, 29 * 1024 * 2 * 4 * 256,
    ),
    Fact(
        "gemma-4-26B-A4B, global layers with heads of their own",
        {"model_type": "gemma4", "text_config": plain("gemma4_text", 30, 2816, 16, 8, head_dim=256, global_head_dim=512, num_global_key_value_heads=2,
         attention_k_eq_v=True, sliding_window=1024, layer_types=every(6, 30, "full_attention", "sliding_attention"))},
        20_480, 25 * 1024 * 2 * 8 * 256, {"full": 5, "sliding": 25},
    ),
    Fact(
        "MiMo-V2-Flash, values narrower than keys",
        plain("mimo_v2_flash", 48, 4096, 64, 4, head_dim=192, v_head_dim=128, swa_num_attention_heads=64, swa_num_key_value_heads=8, swa_head_dim=192,
              swa_v_head_dim=128, sliding_window=128, hybrid_layer_pattern=[0, 1, 1, 1, 1] + [0, 1, 1, 1, 1, 1] * 7 + [0]),
        23_040, 39 * 128 * 8 * (192 + 128),
    ),
    # facts of vLLM 0.32: the class keeps one token more than its window of 4,096
    Fact("command-r7b", plain("cohere2", 32, 4096, 32, 8, sliding_window=4096), 8 * 2 * 8 * 128 * 2, 24 * 4097 * 2 * 8 * 128),
    Fact("Olmo-3-7B", plain("olmo3", 32, 4096, 32, 32, sliding_window=4096, layer_types="3 sliding_attention : 1 full_attention"), 131_072, 24 * 4096 * 2 * 32 * 128),
    # chunks
    Fact(
        "Llama-4-Maverick",
        {"model_type": "llama4", "text_config": plain("llama4_text", 48, 5120, 40, 8, head_dim=128, attention_chunk_size=8192)},
        12 * 2 * 8 * 128 * 2, 36 * 8192 * 2 * 8 * 128, {"full": 12, "chunked": 36},
    ),
    # latent vectors
    Fact("DeepSeek-V3", latent("deepseek_v3", 61, 7168, 128), 70_272, 0, {"latent": 61}),
    Fact("DeepSeek-V2-Lite", latent("deepseek_v2", 27, 2048, 16), 31_104),
    # config.json of mistralai/Mistral-Small-4-119B: 36 layers, rank 256 and 64 rotary, although heads and their size are given
    Fact("Mistral-Small-4", latent("mistral4", 36, 4096, 32, kv_lora_rank=256, head_dim=128), 36 * 320 * 2),
    # llama.cpp b11434 stores 576 and 128 elements per layer and token
    Fact("DeepSeek-V3.2", latent("deepseek_v32", 61, 7168, 128, index_head_dim=128, index_n_heads=64), 61 * (576 + 128) * 2, 0, {"latent_indexed": 61}),
    # config.json of zai-org/GLM-5.2: 21 of its 78 layers have an index of their own
    Fact(
        "GLM-5.2, index shared between layers",
        latent("glm_moe_dsa", 78, 6144, 64, index_head_dim=128, indexer_types=["full"] * 21 + ["shared"] * 57),
        (78 * 576 + 21 * 128) * 2,
    ),
    # transformers 5, Dots3NoteTextConfig: every fourth layer indexed, windows of 512 with a wider latent between
    Fact(
        "dots3-note",
        latent("dots3_note_text", 4, 5120, 128, index_head_dim=128, sliding_window=512, layer_types=["indexed_attention"] + ["sliding_attention"] * 3,
               per_layer_config={f"{layer:02d}": {"kv_lora_rank": 1024} for layer in (1, 2, 3)}),
        (576 + 128) * 2, 3 * 512 * (1024 + 64), {"latent_indexed": 1, "latent_sliding": 3},
    ),
    Fact(
        "DeepSeek-V4-Flash",
        plain("deepseek_v4", 43, 4096, 64, 1, head_dim=512, qk_rope_head_dim=64, index_head_dim=128, sliding_window=128, compress_ratios=V4_RATIOS),
        (21 * (512 + 128) // 4 + 20 * 512 // 128) * 2, 43 * 128 * 512, {"compressed": 43},
    ),
    Fact(
        "MiniMax-M3",
        plain("minimax_m3", 60, 6144, 64, 4, head_dim=128,
              sparse_attention_config={"use_sparse_attention": True, "sparse_index_dim": 128, "sparse_attention_freq": [0] * 3 + [1] * 57}),
        137_472, 0, {"full": 3, "full_indexed": 57},
    ),
    # recurrent
    Fact(
        "Qwen3.5-27B",
        {"model_type": "qwen3_5", "text_config": plain("qwen3_5_text", 64, 5120, 24, 4, linear_num_value_heads=48, **GDN)},
        65_536, 48 * (3 * 10_240 + 48 * 128 * 128), {"gated_delta": 48, "full": 16},
    ),
    Fact("Qwen3-Next-80B-A3B", plain("qwen3_next", 48, 2048, 16, 2, linear_num_value_heads=32, **GDN), 24_576, 36 * (3 * 8192 + 32 * 128 * 128)),
    Fact(
        "Nemotron-3-Nano-30B-A3B",
        plain("nemotron_h", 52, 2688, 32, 2, mamba_num_heads=64, hybrid_override_pattern="MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", **NEMOTRON),
        6_144, 23 * (3 * 6144 + 64 * 64 * 128), {"mamba": 23, "full": 6, "attention_free": 23},
    ),
    Fact(
        "granite-4.0-h-tiny",
        plain("granitemoehybrid", 40, 1536, 12, 4, layer_types="attention at 5,15,25,35; mamba elsewhere", mamba_d_state=128, mamba_n_heads=48, mamba_d_head=64),
        8_192, 36 * (3 * 3328 + 48 * 64 * 128),
    ),
    Fact(
        "Mamba-Codestral-7B",
        {"model_type": "mamba2", "num_hidden_layers": 64, "hidden_size": 4096, "num_heads": 128, "head_dim": 64, "state_size": 128, "n_groups": 8,
         "conv_kernel": 4, "expand": 2, "vocab_size": 32_768},
        0, 64 * (3 * 10_240 + 128 * 64 * 128), {"mamba": 64},
    ),
    # llama.cpp b11434: 16.6 MiB of float32 per sequence, 4 layers with keys and values
    Fact(
        "Jamba-mini",
        plain("jamba", 32, 4096, 32, 8, attn_layer_period=8, attn_layer_offset=4, mamba_d_state=16, mamba_d_conv=4, mamba_expand=2),
        16_384, 28 * (3 * 8192 + 8192 * 16),
    ),
    Fact(
        "Falcon-H1-7B, both in every layer",
        plain("falcon_h1", 44, 3072, 12, 2, head_dim=128, mamba_d_ssm=3072, mamba_n_heads=24, mamba_d_head=128, mamba_d_state=256, mamba_n_groups=1),
        45_056, 44 * (3 * 3584 + 24 * 128 * 256), {"mamba_and_full": 44},
    ),
    Fact(
        "LFM2-1.2B",
        plain("lfm2", 16, 2048, 32, 8, conv_L_cache=3, full_attn_idxs=[2, 5, 8, 10, 12, 14]),
        12_288, 10 * 2 * 2048, {"short_convolution": 10, "full": 6},
    ),
    Fact(
        "Kimi-Linear-48B-A3B",
        latent("kimi_linear", 27, 2304, 32, linear_attn_config={"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "kda_layers": KDA_LAYERS, "head_dim": 128,
               "num_heads": 32, "short_conv_kernel_size": 4}),
        8_064, 20 * (3 * 12_288 + 32 * 128 * 128), {"kda": 20, "latent": 7},
    ),
    # config.json of MiniMaxAI/MiniMax-M1-80k; one square per head: vLLM 0.32, linear_attention_state_shape
    Fact(
        "MiniMax-M1",
        plain("minimax_m1", 80, 6144, 64, 8, head_dim=128, attn_type_list=[0, 0, 0, 0, 0, 0, 0, 1] * 10),
        10 * 2 * 8 * 128 * 2, 70 * 64 * 128 * 128, {"lightning": 70, "full": 10},
    ),
    # config.json of jet-ai/Jet-Nemotron-2B, one block of each; shapes of NVlabs/Jet-Nemotron
    Fact(
        "Jet-Nemotron-2B",
        plain("jet_nemotron", 3, 1536, 12, 2, layer_types=["jet", "attn", "swa"],
              efficient_attention_config={"jet": {"conv_size": 4, "expand_v": 2.6666666667, "head_dim": 96, "num_heads": 12}, "swa": {"window_size": 1152}}),
        2 * 2 * 128 * 2, 3 * 3072 + 12 * 96 * 256 + 1152 * 2 * 2 * 128, {"jet": 1, "full": 1, "sliding": 1},
    ),
    # transformers 5: RecurrentGemmaConfig, RwkvConfig and InklingTextConfig, and the states their modules keep
    Fact(
        "recurrentgemma-2b",
        plain("recurrent_gemma", 26, 2560, 10, 1, head_dim=256, lru_width=2560, conv1d_width=4, attention_window_size=2048,
              block_types=["recurrent", "recurrent", "attention"]),
        0, 18 * (3 * 2560 + 2560) + 8 * 2048 * 2 * 256, {"rg_lru": 18, "sliding": 8},
    ),
    Fact("rwkv-4-7b", {"model_type": "rwkv", "num_hidden_layers": 32, "hidden_size": 4096, "attention_hidden_size": 4096, "vocab_size": 50_277}, 0, 32 * 5 * 4096),
    Fact(
        "Inkling, convolutions around attention",
        plain("inkling_text", 6, 6144, 64, 8, head_dim=128, swa_num_attention_heads=64, swa_num_key_value_heads=16, swa_head_dim=128, sliding_window_size=512,
              conv_kernel_size=4, number_of_conv_states=4, layer_types=["hybrid_sliding"] * 5 + ["hybrid"]),
        2 * 8 * 128 * 2,
        5 * 512 * 2 * 16 * 128 + 3 * (5 * (2 * 16 * 128 + 2 * 6144) + 2 * 8 * 128 + 2 * 6144),
        {"convolution_and_sliding": 5, "convolution_and_full": 1},
    ),
    # shared, crossed, encoded
    Fact(
        "gemma-3n-E4B, last 15 layers share",
        plain("gemma3n_text", 35, 2048, 8, 2, head_dim=256, sliding_window=512, num_kv_shared_layers=15),
        8_192, 16 * 512 * 2 * 2 * 256, {"full": 4, "sliding": 16, "shared": 15},
    ),
    # config.json of meta-llama/Llama-3.2-11B-Vision-Instruct: 8 of 40 layers look at 4 tiles of 40 × 40 patches and a class token
    Fact(
        "Llama-3.2-11B-Vision",
        {"model_type": "mllama", "text_config": plain("mllama_text_model", 40, 4096, 32, 8, cross_attention_layers=[3, 8, 13, 18, 23, 28, 33, 38]),
         "vision_config": {"image_size": 560, "patch_size": 14, "max_num_tiles": 4}},
        32 * 2 * 8 * 128 * 2, 8 * 6404 * 2 * 8 * 128, {"full": 32, "cross": 8},
    ),
    Fact(
        "whisper-large-v3",
        {"model_type": "whisper", "is_encoder_decoder": True, "d_model": 1280, "encoder_layers": 32, "decoder_layers": 32, "decoder_attention_heads": 20,
         "max_source_positions": 1500, "max_target_positions": 448, "vocab_size": 51_866},
        163_840, 32 * 1500 * 2 * 20 * 64, {"encoder_decoder": 32},
    ),
)  # fmt: skip
