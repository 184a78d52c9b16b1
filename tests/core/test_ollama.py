"""Ollama: llama.cpp's memory under Ollama's variables, and the families it serves one request at a time."""

import pytest

from planner.core.engines.ollama import ENGINE
from planner.core.engines.ollama.versions import VERSIONS
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.readers.hf_config import read_shape
from planner.core.units import MIB
from tests.core.llama_models import GEMMA_3_4B, QWEN3_8B, QWEN35_35B, card, gguf, heads, job, some

VERSION = VERSIONS[-1]
ONE_AT_A_TIME = [
    QWEN35_35B,
    gguf("qwen3next", 48, 2048, 16, 2, ssm__conv_kernel=4, ssm__inner_size=4096, ssm__state_size=128, ssm__group_count=16, **heads(256)),
    gguf("lfm2", 16, 2048, 32, some(16, {2, 5, 8}, 8), shortconv__l_cache=3),
    gguf("qwen3vl", 36, 4096, 32, 8, **heads(128)),
]


@pytest.mark.parametrize("model", ONE_AT_A_TIME)
def test_some_families_get_one_request_at_a_time_whatever_is_asked(model: dict[str, object]) -> None:
    asked = job(model, version=VERSION)
    capacity = ENGINE.capacity(asked)
    assert (capacity.slots, capacity.limit) == (1, "engine")
    assert [remark.code for remark in capacity.remarks] == ["ollama_one_at_a_time"]
    assert ENGINE.expect(asked, 6).values["n_slots"] == 1
    assert ENGINE.reserved_bytes(asked, 6) == ENGINE.reserved_bytes(asked, 1)


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [("qwen3_5_moe_text", "Qwen3_5MoeForConditionalGeneration"), ("qwen3_vl_text", "Qwen3VLForConditionalGeneration"), ("qwen3_5", "")],
)
def test_the_families_are_known_by_their_config_json_as_well(model_type: str, architecture: str) -> None:
    config = {
        "model_type": model_type, "architectures": [architecture] if architecture else [], "num_hidden_layers": 4, "hidden_size": 2048,
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "intermediate_size": 6144, "vocab_size": 151_936,
        "max_position_embeddings": 32_768, "layer_types": ["full_attention"] * 4,
    }  # fmt: skip
    assert ENGINE.capacity(job(read_shape(config), version=VERSION)).slots == 1


def test_other_models_get_a_private_context_for_every_request() -> None:
    values = ENGINE.expect(job(QWEN3_8B, version=VERSION), 4).values
    assert (values["n_ctx"], values["n_ctx_slot"], values["n_slots"], values["kv_unified"]) == (32768, 8192, 4, False)


def test_windows_hold_a_batch_of_512_more() -> None:
    kv = ENGINE.expect(job(GEMMA_3_4B, version=VERSION), 1).values["kv"]
    assert (kv[1]["cells"], (kv[1]["k_bytes"] + kv[1]["v_bytes"]) / MIB) == (1536, 174)


def test_variables_win_over_the_plan() -> None:
    line = 'OLLAMA_NUM_PARALLEL=2 OLLAMA_CONTEXT_LENGTH=16384 Environment="OLLAMA_KV_CACHE_TYPE=q8_0" OLLAMA_HOST=0.0.0.0'
    asked = job(QWEN3_8B, line, version=VERSION)
    values = ENGINE.expect(asked, 7).values
    assert (values["n_slots"], values["n_ctx_slot"]) == (2, 16384)
    assert ENGINE.cache_types(asked) == ("q8_0", "q8_0")
    assert ENGINE.capacity(asked).slots == 2


def test_a_context_length_alone_means_one_request_at_a_time() -> None:
    assert ENGINE.expect(job(QWEN3_8B, "OLLAMA_CONTEXT_LENGTH=16384", version=VERSION), 7).values["n_slots"] == 1


def test_the_context_is_cut_to_what_the_model_was_trained_for() -> None:
    assert ENGINE.expect(job(QWEN3_8B, "OLLAMA_CONTEXT_LENGTH=999999", version=VERSION), 1).values["n_ctx"] == 40_960


REFUSED = [
    ("", "q5_1", "no “q5_1”"),
    ("OLLAMA_FLASH_ATTENTION=0", "q8_0", "needs flash attention"),
    ("OLLAMA_NUM_PARALLEL=many", "auto", "whole number"),
    ("OLLAMA_NUM_PARALLEL=1000", "auto", "at most 256 slots"),
]


@pytest.mark.parametrize(("line", "cache", "reason"), REFUSED)
def test_what_ollama_cannot_do_is_refused_in_words(line: str, cache: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        ENGINE.check(job(QWEN3_8B, line, cache=cache, version=VERSION))


def test_only_the_sources_that_were_read_are_planned_for() -> None:
    for version in (*VERSIONS, "0.32.5", "auto"):
        ENGINE.check(job(QWEN3_8B, version=version))
    for version in ("0.11.0", "0.29.9", "0.34.0"):
        with pytest.raises(InputError, match="not known here"):
            ENGINE.check(job(QWEN3_8B, version=version))


def test_a_model_that_does_not_fit_is_not_promised_a_request() -> None:
    assert ENGINE.capacity(job(QWEN35_35B, node=Node((card(8),)), gib=20, version=VERSION)).slots == 0
