"""What llama-server allocates, against what real servers printed (tests/truth/llama_caches.jsonl), and its rules one by one."""

import pytest

from planner.core.accuracy.llama_server import cache_comparison
from planner.core.engines.llama_server import ENGINE
from planner.core.errors import InputError
from planner.core.readers.hf_config import read_shape
from planner.core.units import MIB
from planner.records import read_records
from tests.core.llama_models import (
    DEEPSEEK_V3,
    QWEN3_8B,
    QWEN35_35B,
    gguf,
    heads,
    job,
)


@pytest.mark.parametrize("record", read_records().llama_caches, ids=lambda record: record["name"])
def test_every_cache_and_state_has_the_size_the_server_prints(record):
    assert cache_comparison(record).misses == []


def test_deepseek_v4_keeps_a_stream_per_slot_even_in_a_shared_pool() -> None:
    ratios = [0, 0] + [4, 128] * 20 + [4]
    model = gguf(
        "deepseek4", 43, 4096, 64, 1, attention__sliding_window=128, attention__compress_ratios=ratios, attention__indexer__key_length=128, **heads(512)
    )  # fmt: skip
    shared = ENGINE.expect(job(model, "-c 16384 -fit off"), 1).values["kv"]
    assert [(entry["kind"], entry["cells"], entry["layers"], entry["streams"]) for entry in shared] == [
        ("full", 16384, 0, 4), ("swa", 768, 43, 4), ("compressed", 4096, 21, 4), ("compressed", 256, 20, 4), ("indexer", 4096, 21, 4),
    ]  # fmt: skip
    # Measured: 142 MiB with one slot, 569 with the four automatic ones.
    total = sum(entry["k_bytes"] + entry["v_bytes"] for entry in shared) / MIB
    assert total == pytest.approx(4 * 142.25)


def test_without_flash_attention_values_are_as_wide_as_the_widest_layer() -> None:
    pattern = [layer % 6 != 5 for layer in range(12)]
    model = gguf(
        "gemma4", 12, 1024, 8, 2, attention__sliding_window=512, attention__sliding_window_pattern=pattern,
        attention__key_length_swa=256, attention__value_length_swa=256, **heads(512),
    )  # fmt: skip
    with_flash, without = (ENGINE.expect(job(model, f"-c 4096 -np 1 {args} -fit off"), 1).values["kv"][1] for args in ("", "-fa off"))
    assert without["v_bytes"] == 2 * with_flash["v_bytes"]
    assert without["k_bytes"] == with_flash["k_bytes"]


def test_minicpm3_s_latent_attention_is_stored_expanded() -> None:
    config = {
        "model_type": "minicpm3", "architectures": ["MiniCPM3ForCausalLM"], "num_hidden_layers": 62, "hidden_size": 2560, "vocab_size": 73448,
        "num_attention_heads": 40, "num_key_value_heads": 40, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32,
        "intermediate_size": 6400, "max_position_embeddings": 32768,
    }  # fmt: skip
    kept = ENGINE.expect(job(read_shape(config), "-c 4096 -np 1"), 1).values["kv"]
    # Source: llama.cpp b11434 src/models/minicpm3.cpp: keys of 64 + 32 and values of 2560 / 40 for every head.
    assert [(entry["k_bytes"], entry["v_bytes"]) for entry in kept] == [(4096 * 62 * 40 * 96 * 2, 4096 * 62 * 40 * 64 * 2)]


REFUSED = [
    (QWEN3_8B, "-fa off -ctv q8_0", "quantized V cache requires flash_attn"),
    (DEEPSEEK_V3, "-ctk q8_0", "does not support different K"),
    (gguf("phi2", 32, 2560, 32, 32), "-ctk q8_0", "does not divide n_embd_head_k=80"),  # head size 80
    (gguf("grok", 64, 6144, 48, 8, **heads(128)), "-ctv q8_0", "quantized V cache requires flash_attn"),
    (QWEN3_8B, "-ctk q4_K", "no cache type"),
    (QWEN3_8B, "-np 0", "number of slots"),
    (QWEN3_8B, "-np 300 -c 4096", "at most 256 slots"),
    (QWEN3_8B, "-c eight", "whole number"),
    (QWEN3_8B, "-c", "needs a value"),
    (QWEN3_8B, "-fa maybe", "one of on, off, auto"),
]


@pytest.mark.parametrize(("model", "args", "reason"), REFUSED)
def test_what_the_engine_refuses_is_refused_with_its_reason(model: dict[str, object], args: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        ENGINE.check(job(model, args))


def test_quantised_keys_do_without_flash_attention() -> None:
    ENGINE.check(job(QWEN3_8B, "-c 4096 -np 1 -fa off -ctk q8_0"))


def test_the_draft_layers_of_a_model_have_a_cache_of_their_own() -> None:
    model = {**QWEN35_35B, "qwen35moe.block_count": 41, "qwen35moe.nextn_predict_layers": 1}
    plain = ENGINE.expect(job(model, "-c 8192 -np 1"), 1).values["kv"]
    drafting = ENGINE.expect(job(model, "-c 8192 -np 1 --spec-type draft-mtp"), 1).values["kv"]
    assert plain == drafting[:-1]
    assert (drafting[-1]["kind"], drafting[-1]["layers"], drafting[-1]["k_bytes"]) == ("draft", 1, 8192 * 2 * 256 * 2)
