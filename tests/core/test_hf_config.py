"""The reader of config.json: what it takes from a file, what it refuses in a sentence, and that it never does anything else."""

import json
import zlib
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.core.attention.config import ConfigError, HfConfig
from planner.core.model_shape import FeedForward, ModelShape
from planner.core.readers.hf_config import compact_config, expand_config, parse_config, read_shape
from tests.core.model_facts import FACTS, Fact, latent, plain

LLAMA = plain("llama", 32, 4096, 32, 8, architectures=["LlamaForCausalLM"], torch_dtype="bfloat16", intermediate_size=11_008)


def nested(levels: int) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for _ in range(levels):
        config = {"text_config": config}
    return config


# what is wrong with the file, and what the sentence must name
REFUSED: list[tuple[Any, str]] = [
    ({}, "names neither model_type nor architectures"),
    ([], "must be a JSON object"),
    (None, "must be a JSON object"),
    ("x", "must be a JSON object"),
    (nested(300), "nests one language model in another"),
    ({"model_type": "llama"}, "num_hidden_layers is missing"),
    ({**LLAMA, "num_hidden_layers": 0}, "num_hidden_layers is “0”"),
    ({**LLAMA, "num_hidden_layers": -3}, "num_hidden_layers is “-3”"),
    ({**LLAMA, "num_hidden_layers": "32"}, "num_hidden_layers is the text “32”"),
    ({**LLAMA, "num_hidden_layers": 10**12}, "from 1 to 2,048"),
    ({**LLAMA, "num_hidden_layers": 10**5000}, "an impossibly large number"),
    ({**LLAMA, "num_hidden_layers": True}, "num_hidden_layers is “true”"),
    ({**LLAMA, "num_hidden_layers": 32.5}, "num_hidden_layers is “32.5”"),
    ({**LLAMA, "hidden_size": float("inf")}, "hidden_size is “Infinity”"),
    ({**LLAMA, "hidden_size": float("nan")}, "hidden_size is “NaN”"),
    ({**LLAMA, "hidden_size": [4096]}, "hidden_size is a list of 1"),
    ({**LLAMA, "num_attention_heads": 0}, "num_attention_heads is “0”"),
    ({**LLAMA, "num_attention_heads": 33}, "does not divide num_attention_heads 33"),
    ({**LLAMA, "num_attention_heads": 24}, "hidden_size 4,096 is no multiple of num_attention_heads 24"),
    ({**LLAMA, "num_key_value_heads": 5}, "num_key_value_heads 5 does not divide num_attention_heads 32"),
    ({**LLAMA, "num_key_value_heads": None, "num_attention_heads": None}, "num_attention_heads is missing"),
    ({**LLAMA, "head_dim": -128}, "head_dim is “-128”"),
    ({**LLAMA, "vocab_size": None}, "vocab_size is missing"),
    ({**LLAMA, "sliding_window": 8, "use_sliding_window": "no"}, "use_sliding_window is “no”"),
    ({**LLAMA, "sliding_window": -1, "layer_types": ["sliding_attention"] * 32}, "sliding_window is “-1”"),
    ({**LLAMA, "max_position_embeddings": "4k"}, "max_position_embeddings is the text “4k”"),
    ({**plain("unheard_of", 4, 64, 4, 2), "num_key_value_heads": 3}, "num_key_value_heads 3 does not divide"),
    (
        {key: value for key, value in plain("unheard_of", 4, 64, 4, 2).items() if key != "num_key_value_heads"},
        "num_key_value_heads is missing",
    ),
    (latent("deepseek_v3", 2, 64, 2, qk_rope_head_dim=None), "qk_rope_head_dim is missing"),
]

# files of models that do not generate text, and what the sentence calls them
NOT_GENERATIVE: list[tuple[dict[str, Any], str]] = [
    ({"model_type": "bert", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12}, "encoder"),
    ({"model_type": "xlm-roberta", "architectures": ["XLMRobertaForSequenceClassification"]}, "encoder"),
    ({**LLAMA, "architectures": ["LlamaForSequenceClassification"]}, "classifier, reranker or reward model"),
    ({**LLAMA, "architectures": ["InternLM2ForRewardModel"]}, "reward model"),
    ({**LLAMA, "model_type": "mistral", "architectures": ["MistralModel"]}, "embedding model"),
    ({"model_type": "t5", "architectures": ["T5EncoderModel"]}, "encoder"),
    ({"model_type": "llada", "architectures": ["LLaDAModelLM"]}, "diffusion language model"),
    ({"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.30"}, "image or video diffusion model"),
    ({"model_type": "siglip2"}, "encoder for images or sound"),
    ({"model_type": "wav2vec2", "architectures": ["Wav2Vec2ForCTC"]}, "images or sound"),
]


@pytest.mark.parametrize(("config", "named"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_faulty_configuration_is_refused_in_one_sentence(config: Any, named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_shape(config)
    assert named in str(refused.value)
    assert len(str(refused.value)) < 500
    assert refused.value.field == "config"


@pytest.mark.parametrize(("config", "named"), NOT_GENERATIVE, ids=lambda value: value if isinstance(value, str) else "")
def test_a_model_that_does_not_generate_text_is_told_what_it_is(config: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        read_shape(config)


@pytest.mark.parametrize(
    "architecture",
    ["Qwen3ForCausalLM", "ChatGLMModel", "QWenLMHeadModel", "InternVLChatModel", "GPT2LMHeadModel", "T5ForConditionalGeneration"],
)
def test_generative_classes_pass_whatever_their_names_end_in(architecture: str) -> None:
    assert read_shape({**LLAMA, "architectures": [architecture]}).architecture == architecture


def test_one_shape_holds_what_the_file_says() -> None:
    shape = read_shape(LLAMA)
    assert (shape.model_type, shape.architecture, shape.hidden_size, shape.vocab_size) == ("llama", "LlamaForCausalLM", 4096, 32_000)
    assert (shape.attention_heads, shape.head_dim, shape.max_context, shape.dtype) == (32, 128, 32_768, "bfloat16")
    assert shape.feed_forward == FeedForward(intermediate_size=11_008)
    assert (shape.draft_layers, shape.quantization, shape.cache_dtype, shape.notes) == ((), None, None, ())


@pytest.mark.parametrize("section", ["text_config", "llm_config", "language_config"])
def test_the_language_model_is_found_where_it_is_nested(section: str) -> None:
    shape = read_shape({"model_type": "outer", "vision_config": {"hidden_size": 1}, section: plain("llama", 4, 256, 4, 2)})
    assert (len(shape.layers), shape.model_type, shape.has_vision, shape.has_audio) == (4, "llama", True, False)


def test_an_omni_model_is_read_through_its_thinker() -> None:
    thinker = {"audio_config": {"d_model": 8}, "text_config": plain("qwen2_5_omni_text", 28, 3584, 28, 4, sliding_window=32_768)}
    shape = read_shape({"model_type": "qwen2_5_omni", "thinker_config": thinker, "talker_config": {"num_hidden_layers": 2}})
    assert (len(shape.layers), shape.has_audio, shape.layers[0].kind) == (28, True, "full")


def test_what_the_class_supplies_is_marked() -> None:
    shape = read_shape(
        {"model_type": "llava", "text_config": {"model_type": "llama", "max_position_embeddings": 4096}, "torch_dtype": "float16"}
    )
    assert (len(shape.layers), shape.hidden_size, shape.dtype) == (32, 4096, "float16")
    (note,) = shape.notes
    assert note.code == "class_default"
    assert "num_attention_heads 32" in note.message


def test_a_class_does_not_supply_counts_to_a_file_of_its_own() -> None:
    with pytest.raises(ConfigError, match="num_hidden_layers is missing"):
        read_shape({"model_type": "gemma2", "hidden_size": 2304, "vocab_size": 256_000})


# (keys, tokens): vLLM 0.32, vllm/config/model.py
CONTEXTS: list[tuple[dict[str, Any], int]] = [
    ({}, 32_768),
    ({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}}, 131_072),
    ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}}, 32_768),
    ({"rope_scaling": {"type": "linear", "factor": 2}}, 65_536),
    ({"rope_scaling": {"type": "longrope", "factor": 2}}, 32_768),
    ({"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}}, 32_768),
    ({"rope_scaling": {"type": "yarn", "factor": "4"}}, 32_768),
    ({"seq_length": 8192}, 8192),
    ({"model_max_length": 4096, "max_position_embeddings": 8192}, 4096),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "tokens"), CONTEXTS, ids=str)
def test_the_longest_context_follows_the_rotary_scaling(keys: dict[str, Any], tokens: int) -> None:
    assert read_shape({**LLAMA, **keys}).max_context == tokens


# (quantization_config, method, cache type)
QUANTISED: list[tuple[dict[str, Any], str | None, str | None]] = [
    ({"quant_method": "awq", "bits": 4}, "awq", None),
    ({"quant_method": "FP8", "weight_block_size": [128, 128]}, "fp8", None),
    ({"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "compressed-tensors", "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, "modelopt", "fp8"),
    ({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}, "modelopt", "fp8"),
    ({"quant_algo": "NVFP4", "kv_cache_quant_algo": None}, "modelopt", None),
    ({"bits": 4, "group_size": 64}, "mlx", None),
    ({"quant_method": "mxfp4", "modules_to_not_convert": ["a"]}, "mxfp4", None),
    ({}, None, None),
]


@pytest.mark.parametrize(("section", "method", "cache"), QUANTISED, ids=str)
def test_quantisation_and_the_cache_type_it_asks_for(section: dict[str, Any], method: str | None, cache: str | None) -> None:
    shape = read_shape({**LLAMA, "quantization_config": section})
    assert (shape.quantization, shape.cache_dtype) == (method, cache)


# (keys, layer kinds of the draft): DeepSeek-V3, Qwen3.5, MiniMax-M2, Nemotron-3-Super
DRAFTS: list[tuple[dict[str, Any], list[str]]] = [
    (latent("deepseek_v3", 2, 64, 2, num_nextn_predict_layers=1), ["latent"]),
    (plain("qwen3_5_text", 4, 64, 2, 1, layer_types=["full_attention"] * 4, mtp_num_hidden_layers=2), ["full", "full"]),
    (plain("minimax_m2", 2, 64, 2, 1, use_mtp=True, num_mtp_modules=3, mtp_transformer_layers=1), ["full"] * 3),
    (plain("minimax_m2", 2, 64, 2, 1, use_mtp=False, num_mtp_modules=3), []),
    (plain("nemotron_h", 3, 64, 2, 1, hybrid_override_pattern="*E*", num_nextn_predict_layers=1, mtp_hybrid_override_pattern="*E"), ["full", "attention_free"]),
    (plain("llama", 2, 64, 2, 1), []),
]  # fmt: skip


@pytest.mark.parametrize(("config", "kinds"), DRAFTS, ids=lambda value: "" if isinstance(value, dict) else str(value))
def test_draft_layers_stand_apart(config: dict[str, Any], kinds: list[str]) -> None:
    shape = read_shape(config)
    assert [layer.kind for layer in shape.draft_layers] == kinds
    assert len(shape.layers) == config["num_hidden_layers"]


# config.json of the models named
EXPERTS: list[tuple[dict[str, Any], FeedForward]] = [
    # Qwen3-30B-A3B
    (
        {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "intermediate_size": 6144, "decoder_sparse_step": 1, "mlp_only_layers": []},
        FeedForward(6144, 128, 8, 768, 0, 0),
    ),
    # Mixtral-8x7B
    ({"num_local_experts": 8, "num_experts_per_tok": 2, "intermediate_size": 14_336}, FeedForward(14_336, 8, 2, 14_336, 0, 0)),
    # DeepSeek-V3
    (
        {"n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1, "intermediate_size": 18_432, "first_k_dense_replace": 3},
        FeedForward(18_432, 256, 8, 2048, 2048, 3),
    ),
    # Hunyuan-A13B states sizes per layer
    (
        {"num_experts": 64, "moe_topk": [8] * 32, "moe_intermediate_size": [3072] * 32, "num_shared_expert": [1] * 32, "intermediate_size": 3072},
        FeedForward(3072, 64, 8, 3072, 3072, 0),
    ),
    # Llama-4-Maverick: every other layer dense
    (
        {"num_local_experts": 128, "num_experts_per_tok": 1, "intermediate_size": 8192, "intermediate_size_mlp": 16_384, "interleave_moe_layer_step": 2},
        FeedForward(16_384, 128, 1, 8192, 0, 16),
    ),
    # MiMo-V2-Flash
    (
        {"n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "intermediate_size": 16_384, "moe_layer_freq": [0] + [1] * 31},
        FeedForward(16_384, 256, 8, 2048, 0, 1),
    ),
    # GPT-2 states nothing: four times the hidden size
    ({"intermediate_size": None}, FeedForward(4 * 4096)),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "expected"), EXPERTS, ids=lambda value: "" if isinstance(value, dict) else str(value.experts))
def test_the_feed_forward_part_is_read_under_every_name(keys: dict[str, Any], expected: FeedForward) -> None:
    assert read_shape({**LLAMA, **keys}).feed_forward == expected


def test_text_from_the_file_stays_on_one_line() -> None:
    shape = read_shape({**LLAMA, "model_type": "llama\n[Service]\x00\ud800", "num_key_value_heads": 8})
    assert "\n" not in shape.model_type
    shape.model_type.encode()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("not json", "not JSON (line 1, column 1)"),
        ("[1, 2]", "must be a JSON object: give the whole text of a config.json"),
        ('{"a": 1} trailing', "not JSON"),
        ('{"a":' * 100_000, "nested more than"),
        ('{"a":' + "[" * 70 + "]" * 70 + "}", "nested more than 64 levels"),
        ('{"a": ' + "9" * 5000 + "}", "sensible length"),
        (b"\xff\xfe{}", "UTF-8"),
        ('{"a": "' + "x" * (4 * 2**20) + '"}', "MiB"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_text_that_is_no_configuration_is_refused(text: str | bytes, named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config(text)
    assert named in str(refused.value)


def test_real_files_may_contain_infinity_and_a_byte_order_mark() -> None:
    text = "\ufeff" + json.dumps({**LLAMA, "time_step_limit": [0.0, float("inf")]})
    assert read_shape(parse_config(text)) == read_shape(LLAMA) == read_shape(parse_config(text.encode()))


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_a_shortened_configuration_has_the_same_shape(fact: Fact) -> None:
    short = compact_config(fact.config)
    assert set(short) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert read_shape(expand_config(short)) == read_shape(fact.config) == read_shape(expand_config(json.dumps(fact.config)))


def test_shortening_leaves_out_what_decides_nothing() -> None:
    ballast = {
        "id2label": {str(n): f"label {n}" for n in range(1000)},
        "auto_map": {"AutoConfig": "x.y"},
        "quantization_config": {"quant_method": "fp8", "ignore": [f"model.layers.{n}.mlp" for n in range(500)]},
        "chat_template": "x" * 10_000,
        "time_step_limit": [0.0, float("inf")],
    }
    short = compact_config({**LLAMA, **ballast})
    assert len(short) < 500
    assert read_shape(expand_config(short)) == read_shape({**LLAMA, **ballast})


@pytest.mark.parametrize(
    "text",
    ["", "abc", "é", "AAAA" * 10, compact_config(LLAMA)[:-8], "A" * 300_000, urlsafe_b64encode(zlib.compress(b"x" * 5 * 2**20)).decode(), urlsafe_b64encode(zlib.compress(b"[1]")).decode()],
    ids=["empty", "letters", "not ASCII", "no zlib", "cut", "long", "bomb", "a list"],
)  # fmt: skip
def test_what_was_not_shortened_here_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        expand_config(text)


def shape_or_sentence(config: dict[str, Any]) -> ModelShape | str:
    try:
        return read_shape(config)
    except ConfigError as refused:
        return str(refused)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["full_attention", "linear_attention", "*E", "4 a : 1 b"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = sorted(
    {key for fact in FACTS for config in (fact.config, HfConfig.of(fact.config).values) for key in config}
    | {"rope_scaling", "num_experts", "quantization_config"}
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300)
@given(st.sampled_from(FACTS), st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), json_values, max_size=4), st.booleans())
def test_any_change_to_a_configuration_gives_a_shape_or_a_sentence(fact: Fact, changes: dict[str, Any], inside: bool) -> None:  # noqa: FBT001
    config = {**(HfConfig.of(fact.config).values if inside else fact.config), **changes}
    shape = shape_or_sentence(config)
    if isinstance(shape, str):
        assert 20 < len(shape) < 500
        return
    assert shape.layers
    assert all(store.elements_per_row > 0 for store in shape.growing)
    assert read_shape(expand_config(compact_config(config))).layers == shape.layers


@given(json_values)
def test_any_json_gives_a_shape_or_a_sentence(value: Any) -> None:
    with pytest.raises(ConfigError):
        read_shape(value)
    with pytest.raises(ConfigError):
        read_shape({"model_type": "llama", "text_config": value})


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_an_object_or_a_sentence(text: str | bytes) -> None:
    try:
        parsed: object = parse_config(text)
    except ConfigError as refused:
        parsed = str(refused)
    assert isinstance(parsed, dict) or (isinstance(parsed, str) and len(parsed) < 500)
