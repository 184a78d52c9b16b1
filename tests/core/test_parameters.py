"""Parameters counted from config.json, against the element counts of published checkpoints.

`tests/truth/parameters.jsonl`: one model a line. `elements` is the number of stored elements that the Hub lists for its safetensors
files (as collected in llmfit 1.1.17, parameters_raw); `config` has the config.json keys that decide the count; `stored` says what a
checkpoint stores beside what an engine loads: draft layers (MTP), or a tied table a second time.
"""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.accuracy.parameters import comparison, stored
from planner.core.errors import InputError
from planner.core.readers.parameters import parameter_count
from planner.records import read_records

ROOT = Path(__file__).resolve().parents[2]
ROWS = read_records().parameters
SHARED = ROOT.parent / "shared" / "data"

LLAMA = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip
MIXTRAL = {**LLAMA, "model_type": "mixtral", "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["model"]))
def test_the_count_is_that_of_the_published_checkpoint(row: Mapping[str, Any]) -> None:
    assert comparison(row).misses == []
    count = parameter_count(row["config"])
    assert count.exact
    assert count.low == count.total == count.high


def test_the_parts_add_up_by_hand() -> None:
    # Llama-3.1-8B: 128,256 × 4,096 twice; per layer 4,096 × (4,096 + 2 × 1,024 + 4,096) + 3 × 4,096 × 14,336 + 2 × 4,096; one last norm.
    count = parameter_count(LLAMA)
    layer = 4096 * (4096 + 2 * 1024 + 4096) + 3 * 4096 * 14336 + 2 * 4096
    assert (count.embedding, count.output) == (128256 * 4096, 128256 * 4096)
    assert count.body == 32 * layer + 4096
    assert count.total == 8_030_261_248
    assert count.active == count.total


def test_experts_count_whole_in_the_total_and_by_use_in_the_active_part() -> None:
    count = parameter_count(MIXTRAL)
    assert count.total == 46_702_792_704
    assert count.experts == 32 * 8 * 3 * 4096 * 14336
    assert count.active_experts * 4 == count.experts
    assert count.active == 12_879_925_248  # Mistral AI gives 12.9 billion


@pytest.mark.parametrize(
    ("model", "billions"),
    # Active parameters as the publishers state them on their model cards.
    [("deepseek-ai/DeepSeek-R1", 37), ("Qwen/Qwen3-30B-A3B", 3.3), ("openai/gpt-oss-20b", 3.6), ("openai/gpt-oss-120b", 5.1)],
)
def test_the_active_parameters_are_what_the_publisher_says(model: str, billions: float) -> None:
    row = next(row for row in ROWS if row["model"] == model)
    count = parameter_count(row["config"])
    # Publishers leave the input table out or not; either is within this.
    assert count.active - count.embedding <= billions * 1.02e9
    assert count.active >= billions * 0.97e9


def test_a_family_that_is_not_known_is_an_estimate_with_a_range() -> None:
    count = parameter_count({**LLAMA, "model_type": "llama-from-next-year"})
    assert not count.exact
    assert count.low < count.total < count.high
    assert "counted like a Llama" in count.why


def test_an_encoder_of_unknown_layout_is_counted_and_marked() -> None:
    vision = {"hidden_size": 1152, "num_hidden_layers": 27, "intermediate_size": 4304, "model_type": "new_vision"}
    count = parameter_count({**LLAMA, "vision_config": vision})
    assert 350e6 < count.towers < 550e6
    assert count.low < count.total - 100e6
    assert "vision encoder" in count.why


@pytest.mark.parametrize("missing", ["hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads"])
def test_a_missing_key_is_named(missing: str) -> None:
    with pytest.raises(InputError, match=missing.removeprefix("num_").split("_")[-1]):
        parameter_count({key: value for key, value in LLAMA.items() if key != missing})


_KEYS = st.sampled_from(
    [
        *LLAMA,
        "num_experts",
        "num_experts_per_tok",
        "moe_intermediate_size",
        "first_k_dense_replace",
        "head_dim",
        "kv_lora_rank",
        "q_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
        "n_shared_experts",
        "num_nextn_predict_layers",
        "vision_config",
        "audio_config",
        "layer_types",
        "hybrid_override_pattern",
        "block_configs",
        "mlp_only_layers",
        "moe_layer_freq",
    ]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-4, 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["hidden_size", "depth", "patch_size", "ffn", "ffn_mult"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(_KEYS, _VALUES, max_size=10), st.sampled_from(["llama", "qwen3_moe", "deepseek_v3", "nemotron_h", "gemma4_text", "x"])
)
def test_whatever_stands_in_a_config_it_is_counted_or_refused(changes: dict[str, object], model_type: str) -> None:
    try:
        count = parameter_count({**LLAMA, "num_hidden_layers": 4, **changes, "model_type": model_type})
    except InputError:
        return
    assert 0 < count.low <= count.total <= count.high
    assert count.body >= 0
    assert 0 <= count.active_experts <= count.experts


# Published element counts that do not agree with the count, and why. What is quantised is told apart by rule below.
DIFFER = {
    "BAAI/bge-large-en": "an encoder: refused by the planner",
    "intfloat/multilingual-e5-large": "an encoder: refused by the planner",
    "intfloat/e5-mistral-7b-instruct": "an embedding model: the checkpoint has no lm_head",
    "Qwen/Qwen3-Embedding-8B": "an embedding model: the checkpoint has no lm_head",
    "Zyphra/Zamba-7B-v1": "shared blocks are not counted: refused",
    "Zyphra/Zamba2-2.7B": "shared blocks are not counted: refused",
    "RWKV/rwkv-5-world-3b": "RWKV layers are not counted: refused",
    "baidu/ERNIE-4.5-VL-28B-A3B-PT": "widths per modality: refused",
    "ibm-ai-platform/Bamba-9B-v2": "class defaults that do not say which layers attend: refused",
    "openai-community/gpt2": "the file stores its causal masks (12 × 1024²)",
    "openai-community/gpt2-medium": "the file stores its causal masks (24 × 1024²)",
    "EleutherAI/pythia-410m": "the file stores its causal masks (24 × 2048²) and rotary frequencies",
    "EleutherAI/gpt-neox-20b": "the file stores its causal masks (44 × 2048²) and rotary frequencies",
    "zai-org/glm-4-9b": "the file stores 32 rotary frequencies",
    "meta-llama/Llama-2-7b-hf": "the file stores rotary frequencies (32 × 64)",
    "meta-llama/Llama-2-7b-chat-hf": "the file stores rotary frequencies (32 × 64)",
    "meta-llama/Llama-2-13b-hf": "the file stores rotary frequencies (40 × 64)",
    "meta-llama/Llama-2-13b-chat-hf": "the file stores rotary frequencies (40 × 64)",
    "microsoft/Phi-3-small-8k-instruct": "the file stores rotary frequencies (32 × 64)",
    "google/gemma-4-26B-A4B": "no layer scales and no image standardisation in the base model (2,334)",
    "nvidia/Gemma-4-26B-A4B-NVFP4": "the count is of the base model, as above",
    "baidu/ERNIE-4.5-21B-A3B-PT": "a draft layer that the config does not name (123,217,920)",
    "XiaomiMiMo/MiMo-V2-Flash": "three draft layers that the config does not name",
    "WizardLMTeam/WizardCoder-15B-V1.0": "StarCoder's own 15,517,456,384 plus one row of 6,144 is ours",
    "facebook/opt-125m": "OPT's published 125,239,296 is ours",
    "openbmb/MiniCPM3-4B": "the publisher's 4.07 billion is ours",
    "Qwen/Qwen-VL-Chat": "an encoder of its own kind; the publisher says 9.6 billion",
    "baichuan-inc/Baichuan2-7B-Chat": "a count of 5.5 billion for a model of 7.5: not of this checkpoint",
    "internlm/internlm-chat-7b": "a count of 5.5 billion for a model of 7.3: not of this checkpoint",
    "liuhaotian/llava-v1.5-7b": "a count of 5.2 billion for a model of 7.1: not of this checkpoint",
    "nvidia/Cosmos-Reason2-2B": "the config is of the 8B sibling",
    "allenai/OLMoE-1B-7B-0924": "class defaults, twice as wide as the checkpoint",
    "zai-org/GLM-4.5-Air": "transcribed under the wrong model type",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": "a copy of the config without its vision part",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "a copy of the config without its vision part",
    "mistralai/Mistral-Small-4-119B-2603": "class defaults of the text part alone",
    "mlx-community/Mistral-Small-4-119B-2603-4bit": "the count includes a vision part that this checkpoint dropped",
    "PaddlePaddle/PaddleOCR-VL": "class defaults of the text part alone",
    "baidu/Unlimited-OCR": "class defaults of the text part alone",
    "unsloth/gemma-2-2b-bnb-4bit": "a count of packed words",
    "Youssofal/Qwen3.8-27B-MTPLX-Optimized-Speed": "a conversion with 4,608 fewer norms",
}


def quantised(row: dict[str, str]) -> bool:
    """Whether the listed count is of a quantised checkpoint, or of the quantised original that a copy names as its base."""
    return bool(row["quant_method"]) or "FP8" in row["hf_id"] or row["hf_id"].startswith(("nvidia/", "deepseek-ai/", "TheBloke/"))


@pytest.mark.skipif(not (SHARED / "weights.csv").exists(), reason="the larger collection of configurations is not here")
def test_every_published_count_agrees_lies_in_the_range_or_has_a_reason() -> None:
    rows = [row for row in csv.DictReader((SHARED / "weights.csv").read_text().splitlines()) if row["params"]]
    equal, differ = 0, set()
    for row in rows:
        config, elements, model = json.loads((SHARED / row["config"]).read_text()), int(row["params"]), row["hf_id"]
        try:
            count = parameter_count(config)
        except InputError:
            differ.add(model)
            continue
        if elements in stored(count).values():
            equal += 1
            continue
        # Scales of 8-bit weights are stored elements: one for every 1,500 weights or fewer in what is listed here.
        scales = any(0 < elements - own < elements / 1500 for own in stored(count).values()) and quantised(row)
        beside = max(stored(count).values()) - count.total
        estimated = not count.exact and count.low <= elements <= count.high + beside
        if not scales and not estimated:
            differ.add(model)
    assert differ == set(DIFFER)
    assert equal >= 209
