"""Whole plans on catalogue models: the facts that must come out, the engine and why, what would help, and refusals."""

import json
from typing import Any

import pytest

from planner.answer import Answer, answer
from planner.core.errors import InputError
from planner.core.request import read_request

CHAT = {"users": 20, "generate_seconds": 12, "turn_seconds": 90, "context": 8192}


def planned(model: str = "Qwen/Qwen3-8B", **inputs: Any) -> Answer:
    machine = {} if {"device", "gpu_memory", "ram"} & inputs.keys() else {"device": "rtx-4090"}
    return answer(read_request({"model": model, **CHAT, **machine, **inputs}), hub=None)


# Bytes per token at 16 bit, from each config.json by hand: 2 × layers × KV heads × head size × 2 B; one latent vector for DeepSeek.
BYTES_PER_TOKEN = [
    ("Qwen/Qwen3-8B", 147_456),
    ("meta-llama/Llama-3.1-8B", 131_072),
    ("meta-llama/Llama-2-7b-hf", 524_288),
    ("deepseek-ai/DeepSeek-V3", 70_272),
]


@pytest.mark.parametrize(("model", "size"), BYTES_PER_TOKEN)
@pytest.mark.parametrize("engine", ["vllm", "llama-server"])
def test_bytes_per_token(model: str, size: int, engine: str) -> None:
    plan = planned(model, device="h200-sxm", count=8, engine=engine, context=2048).plan
    assert plan.cache.bytes_per_token == size


def test_a_conversation_of_8192_tokens_is_1_125_gib_and_five_are_5_63() -> None:
    cache = planned(engine="llama-server").plan.cache
    assert cache.request_bytes == 1_207_959_552
    assert round(5 * cache.request_bytes / 2**30, 3) == 5.625
    assert cache.working == (
        "full attention: 2 × 36 layers × 8 KV heads × 128 × 2 B = 147,456 B = 144 KiB per token; 8,192 tokens = 1.125 GiB",
    )


def test_a_24_gb_card_under_vllm_holds_four_or_five_conversations_of_qwen3_8b() -> None:
    plan = planned(engine="vllm", engine_version="0.32.0").plan
    assert 36_000 <= (plan.memory.cache_tokens or 0) <= 41_000
    assert plan.fit.slots_that_fit in {4, 5}
    assert (plan.fit.slots_needed, plan.fit.verdict, plan.fit.limit) == (6, "tight", "memory")
    assert plan.memory.usable_bytes == -(-plan.memory.total_bytes * 92 // 100)


def test_the_window_of_mistral_7b_bounds_its_cache_in_vllm_and_not_in_llama_cpp() -> None:
    long, short = ({"engine": engine, "context": tokens} for engine, tokens in (("vllm", 32_768), ("vllm", 8192)))
    model, card = "mistralai/Mistral-7B-v0.1", {"device": "h100-sxm"}
    windowed = [planned(model, **card, **each).plan.cache for each in (long, short)]
    assert windowed[0].bytes_per_token == 0
    assert windowed[0].bytes_per_sequence == windowed[1].bytes_per_sequence == 4096 * 131_072
    full = planned(model, **card, engine="llama-server", context=32_768).plan.cache
    assert full.bytes_per_token == 131_072


def test_llama_server_gets_slots_times_context_and_ollama_both_apart() -> None:
    llama = {setting.flag: setting.value for setting in planned(engine="llama-server", slots=4).hand_over.settings}
    ollama = {setting.env: setting.value for setting in planned(engine="ollama", slots=4).hand_over.settings}
    assert (llama["--ctx-size"], llama["--parallel"]) == ("32768", "4")
    assert (ollama["OLLAMA_NUM_PARALLEL"], ollama["OLLAMA_CONTEXT_LENGTH"]) == ("4", "8192")


@pytest.mark.parametrize("model", ["Qwen/Qwen3.5-27B", "Qwen/Qwen3-Next-80B-A3B-Instruct", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"])
def test_families_that_ollama_serves_one_at_a_time_say_so(model: str) -> None:
    plan = planned(model, engine="ollama", device="h200-sxm").plan
    assert (plan.fit.slots_that_fit, plan.fit.limit) == (1, "engine")
    assert any("one request at a time" in remark.message for remark in plan.remarks)


@pytest.mark.parametrize(
    ("inputs", "engine", "words"),
    [
        ({}, "vllm", "5 requests are in flight"),
        ({"users": 5}, "llama-server", "Only 2 requests"),
        ({"ram": "32GiB"}, "llama-server", "no GPU"),
        ({"device": "apple-m4-max-16-128gb"}, "llama-server", "no CUDA device"),
        ({"weights_quant": "Q4_K_M"}, "llama-server", "GGUF"),
        ({"gpu_memory": "8GiB"}, "llama-server", "no memory to spare"),
        ({"engine": "ollama"}, "ollama", "You chose Ollama"),
    ],
)
def test_the_engine_is_chosen_for_a_reason(inputs: dict[str, Any], engine: str, words: str) -> None:
    choice = planned(**inputs).plan.engine
    assert choice.name == engine
    assert words in choice.why


def test_what_would_help_is_tried_out_and_reaches_the_slots() -> None:
    made = planned(engine="vllm").plan
    kinds = {name for alternative in made.alternatives for name, _ in alternative.changes}
    assert {"context", "cache_type", "weights_quant"} <= kinds
    for alternative in made.alternatives:
        again = planned(**{"engine": "vllm", **dict(alternative.changes)}).plan
        assert again.fit.slots_that_fit == alternative.slots_that_fit >= made.fit.slots_needed


def test_a_small_cpu_box_is_offered_a_smaller_model() -> None:
    plan = planned("Qwen/Qwen3-32B", ram="8GiB", users=3).plan
    assert plan.fit.verdict == "does_not_fit"
    assert any("smaller model" in alternative.change for alternative in plan.alternatives)


def test_generation_time_follows_from_tokens_and_measured_speeds() -> None:
    plan = planned(generate_seconds=None, turn_seconds=None, prompt_tokens=1600, output_tokens=500, think_seconds=60,
                   prefill_rate=800, decode_rate=50, cached_share=0.5).plan  # fmt: skip
    # Half of the prompt is cached: 800 tokens at 800/s, then 500 at 50/s.
    assert plan.workload.generate_seconds == pytest.approx(11)
    assert plan.workload.turn_seconds == pytest.approx(71)
    assert plan.speed.measured


@pytest.mark.parametrize(("pool", "said"), [("6GiB", False), ("23GiB", True), ("1000GiB", True)])
def test_a_known_pool_that_the_device_cannot_hold_is_taken_and_said(pool: str, said: bool) -> None:  # noqa: FBT001
    plan = planned(engine="vllm", cache_memory=pool).plan
    assert any(remark.code == "cache_memory_beyond_device" for remark in plan.remarks) is said
    assert plan.fit.slots_that_fit >= 5


def test_a_turn_shorter_than_its_generation_is_said() -> None:
    plan = planned(generate_seconds=40, turn_seconds=20).plan
    assert plan.workload.always_in_flight
    assert any(remark.code == "always_in_flight" and "everyone is always in flight" in remark.message for remark in plan.remarks)


@pytest.mark.parametrize(
    ("inputs", "field", "words"),
    [
        ({"context": 100_000}, "context", "40,960"),
        ({"device": "a100"}, "device", "a100-"),
        ({"device": "rtx-9999"}, "device", "rtx-"),
        ({"engine": "vllm", "tensor_parallel": 3, "count": 3}, "tensor_parallel", "3"),
        ({"engine": "llama-server", "cache_type": "fp8"}, "cache_type", "q8_0"),
        ({"engine": "vllm", "cache_type": "q8_0"}, "cache_type", "fp8"),
        ({"engine": "vllm", "engine_version": "0.5.0"}, "engine_version", "not known here"),
        ({"engine": "vllm", "weights_quant": "Q4_K_M"}, "weights_quant", "GGUF"),
        ({"engine": "vllm", "ram": "32GiB"}, "engine", "GPU"),
        ({"weights_quant": "Q9_K"}, "weights_quant", "Q4_K_M"),
        ({"engine_args": "-c 8192"}, "engine", "say which"),
        ({"engine": "llama-server", "engine_args": "-c 'x"}, "engine_args", "within a quote"),
        ({"engine": "llama-server", "engine_args": "-c 4096 \\"}, "engine_args", "after a backslash"),
        ({"engine": "llama-server", "engine_args": "\u2014ctx-size 4096"}, "engine_args", "typographic dash"),
        ({"engine": "vllm", "engine_args": "--enforce-eager \u2212tp 2"}, "engine_args", "typographic dash"),
        ({"model": "no/such-model"}, "model", "config.json"),
    ],
)
def test_what_cannot_be_planned_is_refused_at_its_field(inputs: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        planned(**inputs)
    assert refused.value.field == field
    assert words in str(refused.value)


def test_without_a_machine_the_question_is_which() -> None:
    with pytest.raises(InputError, match="Say what it runs on") as refused:
        answer(read_request(CHAT), hub=None)
    assert refused.value.field == "device"


def test_a_model_shorter_than_the_default_context_is_planned_at_its_own() -> None:
    asked = {"model": "mistralai/Mixtral-8x7B-v0.1", "users": 2, "device": "h100-sxm", "config": None}
    short = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 512,
             "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 2048}  # fmt: skip
    request = read_request({**asked, "config": json.dumps(short)})
    assert answer(request, hub=None).plan.fit.context_per_slot == 2048
    with pytest.raises(InputError, match="beyond it"):
        answer(read_request({**asked, "config": json.dumps(short), "context": 8192}), hub=None)


def test_a_checkpoint_published_in_mxfp4_is_planned_as_the_gguf_file_that_keeps_it() -> None:
    made = planned("openai/gpt-oss-20b", engine="llama-server")
    assert any("MXFP4_MOE" in str(setting.value) for setting in made.hand_over.settings)
    assert 11 < made.plan.memory.size_of("weights") / 2**30 < 12  # its GGUF file has 11.3 GiB
