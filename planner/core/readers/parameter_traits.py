"""What a family's layers have that its config.json does not say: biases, norms, gates. Data, by model type.

Source: the modelling files of transformers 5 (src/transformers/models/*/modeling_*.py) and, for families that bring their
own code, those of their repositories; held against the element counts of published checkpoints in the tests.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from planner.core.attention.config import HfConfig

Trait = bool | str
QkNorm = Literal["none", "head", "heads", "full"]


@dataclass(frozen=True, slots=True)
class Traits:
    """A llama-like layer unless it says otherwise.

    A bias is True, False or the config key that says so. `norms` are the norms per layer over the hidden size, `norm_bias`
    whether they have one. `qk_norm`: one norm per head size, one per head, or over all heads at once.
    `gated`: three feed-forward matrices instead of two. `tied`: the class's default where the file does not say.
    `draft_layers`: draft (MTP) layers the checkpoints have where the file does not say; `draft_tables`: they bring copies of
    both embedding tables. `sure`: the count is known to be right, not only close.
    """

    qkv_bias: Trait = "attention_bias"
    out_bias: Trait = "attention_bias"
    mlp_bias: Trait = "mlp_bias"
    head_bias: Trait = False
    norms: int = 2
    norm_bias: Trait = False
    final_norm: bool = True
    qk_norm: QkNorm | str = "none"
    gated: bool = True
    tied: bool = False
    positions: str | None = None
    sinks: bool = False
    shared_gate: bool = False
    router_bias: bool = False
    draft_tables: bool = False
    draft_layers: int = 0
    sure: bool = True
    output_gate: bool = False


_LLAMA: Final = Traits()
_PLAIN: Final = Traits(qkv_bias=False, out_bias=False, mlp_bias=False)
_QWEN2: Final = Traits(qkv_bias=True, out_bias=False, mlp_bias=False)
_QWEN3: Final = Traits(mlp_bias=False, qk_norm="head")
_QWEN3_NEXT: Final = replace(_QWEN3, shared_gate=True, output_gate=True)
_GEMMA: Final = replace(_LLAMA, mlp_bias=False, tied=True)
_GEMMA2: Final = replace(_GEMMA, norms=4)
_GEMMA4: Final = replace(_GEMMA2, qk_norm="head")
_DEEPSEEK_V3: Final = Traits(mlp_bias=False, router_bias=True, draft_tables=True)
_GPT2: Final = Traits(qkv_bias=True, out_bias=True, mlp_bias=True, norm_bias=True, gated=False, tied=True, positions="n_positions")
_GLM4_MOE: Final = Traits(out_bias=False, mlp_bias=False, qk_norm="use_qk_norm", router_bias=True, draft_tables=True)
_COHERE: Final = Traits(mlp_bias=False, norms=1, tied=True, qk_norm="heads:use_qk_norm")
_FALCON: Final = Traits(qkv_bias="bias", out_bias="bias", mlp_bias="bias", norm_bias=True, gated=False, tied=True)

TRAITS: Final[dict[str, Traits]] = {
    "llama": _LLAMA, "mistral": _PLAIN, "mixtral": _PLAIN, "ministral3": _PLAIN, "mimo": replace(_QWEN2, qkv_bias="attention_bias"),
    "Yi": _PLAIN, "xverse": _PLAIN, "baichuan": _PLAIN, "minicpm": _LLAMA, "minicpm3": replace(_LLAMA, tied=True), "smollm3": replace(_LLAMA, tied=True), "exaone": _PLAIN,
    "granite": _LLAMA, "granitemoe": _LLAMA, "granitemoeshared": _LLAMA, "granite_swa": replace(_LLAMA, sinks=True),
    "internlm": Traits(qkv_bias="bias", out_bias="bias", mlp_bias=False),
    "internlm2": Traits(qkv_bias="bias", out_bias="bias", mlp_bias=False),
    "internlm3": Traits(qkv_bias="qkv_bias", out_bias="bias", mlp_bias="bias"),
    "deepseek": replace(_LLAMA, mlp_bias=False), "deepseek_v2": replace(_LLAMA, mlp_bias=False),
    "ernie4_5": Traits(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias", tied=True),
    "ernie4_5_moe": Traits(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias", tied=True, router_bias=True),
    "seed_oss": Traits(out_bias="attention_out_bias"), "apertus": replace(_LLAMA, gated=False, qk_norm="head", sure=False),
    "iquestcoder": _LLAMA, "solar_open": _PLAIN,
    "bailing_moe": Traits(qkv_bias="use_qkv_bias", out_bias="use_bias", mlp_bias=False),
    "olmo": replace(_LLAMA, norms=0, final_norm=False), "olmo2": replace(_LLAMA, qk_norm="full"), "olmo3": replace(_LLAMA, qk_norm="full"),
    "olmoe": replace(_LLAMA, qk_norm="full"), "flex_olmo": replace(_LLAMA, qk_norm="full"),
    "exaone4": replace(_PLAIN, qk_norm="head"), "exaone4_5_text": replace(_PLAIN, qk_norm="head"),
    "qwen2": _QWEN2, "qwen2_vl": _QWEN2, "qwen2_vl_text": _QWEN2, "qwen2_5_vl": _QWEN2, "qwen2_5_vl_text": _QWEN2,
    "qwen2_5_omni_text": _QWEN2, "qwen2_moe": replace(_QWEN2, shared_gate=True),
    "qwen3": _QWEN3, "qwen3_moe": _QWEN3, "qwen3_vl_text": _QWEN3, "qwen3_vl_moe_text": _QWEN3,
    "qwen3_next": replace(_QWEN3_NEXT, draft_layers=1), "qwen3_5_text": _QWEN3_NEXT, "qwen3_5_moe_text": _QWEN3_NEXT,
    "gemma": _GEMMA, "gemma2": _GEMMA2, "gemma3_text": replace(_GEMMA2, qk_norm="head"),
    "phi3": _PLAIN, "phi3_v": _PLAIN,
    "phi": Traits(qkv_bias=True, out_bias=True, mlp_bias=True, head_bias=True, norms=1, norm_bias=True, gated=False),
    "phimoe": Traits(mlp_bias=False, head_bias="lm_head_bias", norm_bias=True),
    "stablelm": Traits(qkv_bias="use_qkv_bias", out_bias=False, mlp_bias=False, norm_bias=True),
    "starcoder2": Traits(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias", norm_bias=True, gated=False, tied=True),
    "gpt2": _GPT2, "gpt_bigcode": _GPT2,
    "gpt_neox": Traits(qkv_bias=True, out_bias=True, mlp_bias=True, norm_bias=True, gated=False),
    "opt": replace(_GPT2, positions="max_position_embeddings"),
    "bloom": replace(_GPT2, positions=None), "falcon": _FALCON, "RefinedWeb": _FALCON, "RefinedWebModel": _FALCON,
    "mpt": Traits(qkv_bias=False, out_bias=False, mlp_bias=False, gated=False, tied=True),
    "cohere": _COHERE, "cohere2": replace(_COHERE, qk_norm="none"),
    "chatglm": Traits(qkv_bias="add_qkv_bias", out_bias="add_bias_linear", mlp_bias="add_bias_linear"),
    "glm": Traits(out_bias=False, mlp_bias=False), "glm4": Traits(out_bias=False, mlp_bias=False, norms=4),
    "glm4v_text": Traits(out_bias=False, mlp_bias=False, norms=4), "glm4v": Traits(out_bias=False, mlp_bias=False, norms=4),
    "glm4_moe": _GLM4_MOE, "glm4v_moe_text": _GLM4_MOE,
    "deepseek_v3": _DEEPSEEK_V3, "kimi_k2": _DEEPSEEK_V3, "deepseek_v32": _DEEPSEEK_V3, "glm_moe_dsa": replace(_DEEPSEEK_V3, draft_tables=False),
    "axk1": replace(_DEEPSEEK_V3, norms=3, router_bias=False), "youtu": _DEEPSEEK_V3, "sarvam_mla": _DEEPSEEK_V3, "mistral4": replace(_DEEPSEEK_V3, router_bias=False),
    "minimax_m2": Traits(qkv_bias=False, out_bias=False, mlp_bias=False, qk_norm="full", router_bias=True),
    "gpt_oss": Traits(qkv_bias=True, out_bias=True, mlp_bias=True, sinks=True, router_bias=True),
    "hunyuan": replace(_LLAMA, qk_norm="use_qk_norm", tied=True), "hunyuan_v1_dense": replace(_LLAMA, qk_norm="head"),
    "llama4_text": replace(_LLAMA, mlp_bias=False),
    "lfm2": Traits(qkv_bias=False, out_bias=False, mlp_bias=False, qk_norm="head", tied=True),
    "nemotron_h": Traits(norms=1, gated=False),
    "jamba": _PLAIN, "bamba": replace(_LLAMA, sure=False), "falcon_h1": _LLAMA,
    "kimi_linear": replace(_DEEPSEEK_V3, sure=False), "gemma3n_text": replace(_GEMMA2, qk_norm="head", sure=False), "mellum": _QWEN3,
    "minimax_m1": _PLAIN,
    "mimo_v2_flash": Traits(out_bias=False, mlp_bias=False, router_bias=True),
    "qwen": Traits(qkv_bias=True, out_bias=False, mlp_bias=False),
    "phi3small": Traits(qkv_bias=True, out_bias=True, mlp_bias=True, norm_bias=True, tied=True),
    "olmo_hybrid": replace(_LLAMA, qk_norm="full"), "kolibri1": replace(_PLAIN, norms=4, qk_norm="head", router_bias=True),
    "nemotron-nas": _LLAMA, "mllama_text_model": _PLAIN, "gemma4_text": _GEMMA4, "gemma4_unified_text": _GEMMA4,
}  # fmt: skip


def says(config: HfConfig, trait: Trait) -> bool:
    """Whether a trait holds: it does, does not, or the file says so under that key."""
    return config.flag(trait) or False if isinstance(trait, str) else trait
