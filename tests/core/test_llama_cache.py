"""What llama-server allocates, against what real servers printed. A row: model, command line, (cells, layers, MiB) of every cache."""

import pytest

from planner.core.engines.llama_server import ENGINE
from planner.core.errors import InputError
from planner.core.readers.hf_config import read_shape
from planner.core.units import MIB
from tests.core.llama_models import (
    DEEPSEEK_V3,
    GEMMA_3_4B,
    GPT_OSS_20B,
    LLAMA_8B,
    QWEN3_8B,
    QWEN35_35B,
    gguf,
    heads,
    job,
    latent,
    some,
)

Caches = list[tuple[int, int, float]]

INDEX = {"attention__indexer__key_length": 128}
MINIMAX_M3 = gguf("minimax-m3", 2, 256, 2, 2, leading_dense_block_count=1, **INDEX, **heads(128))
QWEN4_EXP = gguf(
    "qwen4exp", 2, 256, 2, 2, attention__recurrent_layers=[1, 0], attention__compress_ratios=[4, 4], hyper_connection__count=4,
    ple__layers=[0], ple__ngram_size=3, ple__conv_kernel=4, ssm__conv_kernel=4, ssm__inner_size=256, ssm__state_size=128,
    ssm__time_step_rank=2, ssm__group_count=2, **INDEX, **heads(128),
)  # fmt: skip

# llama.cpp b11434 on a CPU, every row started for this purpose, unless a comment names another report.
PRINTED: list[tuple[dict[str, object], str, Caches]] = [
    # plain attention: the context is padded to 256, after the division by the slots
    (LLAMA_8B, "-c 8192", [(8192, 32, 1024)]),
    (LLAMA_8B, "-c 8192 -np 4", [(2048, 32, 1024)]),
    (QWEN3_8B, "-c 4000 -np 3", [(1536, 36, 648)]),
    (QWEN3_8B, "-c 4000 -np 3 -kvu", [(4096, 36, 576)]),
    (QWEN3_8B, "-c 1000 -np 8", [(256, 36, 288)]),
    (QWEN3_8B, "-c 5000 -np 1", [(5120, 36, 720)]),
    (QWEN3_8B, "--kv-unified-per-slot 2048 -np 4 -kvu", [(8192, 36, 1152)]),
    # element types: blocks of 32 with their scales
    (QWEN3_8B, "-c 4096 -np 1 -ctk f32 -ctv f32", [(4096, 36, 1152)]),
    (QWEN3_8B, "-c 4096 -np 1 -ctk bf16 -ctv bf16", [(4096, 36, 576)]),
    (QWEN3_8B, "-c 4096 -np 1 -ctk q8_0 -ctv q8_0", [(4096, 36, 306)]),
    (QWEN3_8B, "-c 4096 -np 1 -ctk q5_1 -ctv q5_1", [(4096, 36, 216)]),
    (QWEN3_8B, "-c 4096 -np 1 -ctk q5_0 -ctv q5_0", [(4096, 36, 198)]),
    (QWEN3_8B, "-c 4096 -np 1 -ctk q4_1 -ctv q4_1", [(4096, 36, 180)]),
    (QWEN3_8B, "-c 4096 -np 1 -ctk q4_0 -ctv q4_0", [(4096, 36, 162)]),
    (QWEN3_8B, "-c 4096 -np 1 -ctk iq4_nl -ctv iq4_nl", [(4096, 36, 162)]),
    (QWEN3_8B, "-c 4096 -np 1 -ctk q8_0", [(4096, 36, 441)]),
    # windows that llama.cpp does not know of
    (gguf("llama", 32, 4096, 32, 8, attention__sliding_window=4096), "-c 8192 -np 1", [(8192, 32, 1024)]),
    (gguf("phi3", 32, 3072, 32, 32, attention__sliding_window=2047), "-c 4096 -np 1", [(4096, 32, 1536)]),
    # windows: one of each in private streams, as many as slots in a shared one, and always a micro-batch more
    (GEMMA_3_4B, "-c 16384 -np 1", [(16384, 5, 320), (1536, 29, 174)]),
    (GEMMA_3_4B, "-c 16384 -np 4", [(4096, 5, 320), (1536, 29, 696)]),
    (GEMMA_3_4B, "-c 16384 -np 4 -kvu", [(16384, 5, 320), (4608, 29, 522)]),
    (GEMMA_3_4B, "-c 16384 -np 1 --swa-full", [(16384, 5, 320), (16384, 29, 1856)]),
    (GEMMA_3_4B, "-c 16384 -np 1 -ub 2048", [(16384, 5, 320), (3072, 29, 348)]),
    (GEMMA_3_4B, "-c 16384 -np 16 -kvu", [(16384, 5, 320), (16384, 29, 1856)]),
    (GPT_OSS_20B, "-c 32768 -np 8 -kvu", [(32768, 12, 768), (1536, 12, 36)]),
    (gguf("gemma2", 42, 3584, 16, 8, **heads(256)), "-c 8192 -np 1", [(8192, 21, 1344), (4608, 21, 756)]),
    (gguf("llama4", 48, 5120, 40, 8, **heads(128)), "-c 16384 -np 1", [(16384, 12, 768), (8704, 36, 1224)]),
    (gguf("gemma3n", 35, 2048, 8, 2, attention__sliding_window=512, **heads(256)), "-c 8192", [(8192, 4, 64), (2560, 16, 80)]),
    # latent attention: one row of 576 and no values; an old file without the keys expands it for every head
    (latent("deepseek2", 27, 2048, 16), "-c 16384", [(16384, 27, 486)]),
    (latent("deepseek2", 27, 2048, 16), "-c 16384 -np 1 -ctk q8_0 -ctv q8_0", [(16384, 27, 258.1875)]),
    (gguf("deepseek2", 27, 2048, 16, 16, attention__kv_lora_rank=512, **heads(192, 128)), "-c 8192 -np 1", [(8192, 27, 2160)]),
    (latent("deepseek32", 61, 7168, 128, attention__indexer__key_length=128), "-c 8192 -np 1", [(8192, 61, 549), (8192, 61, 122)]),
    # public reports of other builds: Qwen3-32B, Nemotron Ultra 253B, Falcon-H1 1.5B, gpt-oss-120b under Ollama, Gemma 4 12B and E4B
    # (of the last, the report shows the first cache; the 20 others follow from its pattern)
    (gguf("qwen3", 64, 5120, 64, 8, **heads(128)), "-c 16768 -np 1 -ctk q8_0 -ctv q8_0", [(16896, 64, 2244)]),
    (gguf("deci", 162, 16384, 128, some(162, range(64), 8)), "-c 12228 -np 1 -ctk q8_0 -ctv q4_0", [(12288, 162, 1248)]),
    (gguf("falcon-h1", 24, 2048, 8, 2, ssm__conv_kernel=4, **heads(128)), "-c 32768 -np 1", [(32768, 24, 768)]),
    (gguf("gpt-oss", 36, 2880, 64, 8, attention__sliding_window=128, **heads(64)), "-c 262144 -np 2 -b 1024 -ub 1024", [(131072, 18, 9216), (1280, 18, 90)]),
    (
        gguf("gemma4", 48, 3840, 16, [1 if layer % 6 == 5 else 8 for layer in range(48)], attention__sliding_window=1024,
             attention__sliding_window_pattern=[layer % 6 != 5 for layer in range(48)],
             attention__key_length_swa=256, attention__value_length_swa=256, **heads(512)),
        "-c 8192 -ub 2048", [(8192, 8, 128), (6144, 40, 1920)],
    ),
    (
        gguf("gemma4", 42, 2560, 8, 2, attention__sliding_window=512, attention__shared_kv_layers=18,
             attention__sliding_window_pattern=[layer % 6 != 5 for layer in range(42)],
             attention__key_length_swa=256, attention__value_length_swa=256, **heads(512)),
        "-c 32768 -np 1 --swa-full", [(32768, 4, 512), (32768, 20, 1280)],
    ),
    # indexed attention: a vector without values beside latent rows, values as wide as a head's beside plain heads, raw and pooled keys in Qwen4
    (
        latent("dots3note", 2, 128, 1, **INDEX, attention__indexer__types=[1, 0], attention__sliding_window=300,
               attention__sliding_window_pattern=[0, 1]),
        "-c 6144 -np 3", [(2048, 1, 6.75), (2048, 1, 1.5), (1024, 1, 3.375)],
    ),
    (MINIMAX_M3, "-c 6144 -np 3", [(2048, 2, 12), (2048, 1, 3)]),
    (MINIMAX_M3, "-c 3072 -np 2 -fa off", [(1536, 2, 6), (1536, 1, 1.5)]),
    (QWEN4_EXP, "-c 6144 -np 3", [(2048, 1, 6), (2048, 1, 3)]),
]  # fmt: skip

# R and S of one slot together, in MiB.
STATES: list[tuple[dict[str, object], str, float]] = [
    (QWEN35_35B, "-c 16384 -np 4", 251.25),  # a public report
    (QWEN35_35B, "-c 65536 -np 2 -kvu", 125.625),  # a public report
    (QWEN35_35B, "-c 16384 -np 1 --spec-type draft-mtp --spec-draft-n-max 6", 62.8125 * 7),
    (gguf("mamba2", 64, 4096, 0, 0, ssm__conv_kernel=4, ssm__inner_size=8192, ssm__state_size=128, ssm__group_count=8), "-c 16384", 1054),
    (
        gguf("jamba", 32, 4096, 32, some(32, {4, 12, 20, 28}, 8), ssm__conv_kernel=4, ssm__inner_size=8192, ssm__state_size=16),
        "-c 16384",
        66.5,
    ),
    (gguf("lfm2", 16, 2048, 32, some(16, {2, 5, 8, 10, 12, 14}, 8), shortconv__l_cache=3), "-c 16384 -np 1", 0.15625),
    (
        latent("kimi-linear", 27, 2304, 32, some(27, {3, 7, 11, 15, 19, 23, 26}, 1), ssm__conv_kernel=4, kda__head_dim=128),
        "-c 16384",
        171.25,
    ),
]


@pytest.mark.parametrize(("model", "args", "printed"), PRINTED)
def test_every_cache_has_the_size_the_server_prints(model: dict[str, object], args: str, printed: Caches) -> None:
    values = ENGINE.expect(job(model, f"{args} -fit off"), 1).values
    found = [(entry["cells"], entry["layers"], (entry["k_bytes"] + entry["v_bytes"]) / MIB) for entry in values["kv"]]
    assert found == printed


@pytest.mark.parametrize(("model", "args", "mib"), STATES)
def test_recurrent_state_is_per_slot_whatever_the_context(model: dict[str, object], args: str, mib: float) -> None:
    assert ENGINE.expect(job(model, f"{args} -fit off"), 1).values["recurrent_bytes"] == mib * MIB


def test_n_gram_embeddings_keep_rows_of_their_own() -> None:
    # Printed by b11434: R 0.03, S 0.38 and P 0.11 MiB of three slots.
    line = next(each.line for each in ENGINE.expect(job(QWEN4_EXP, "-c 6144 -np 3 -fit off"), 1).lines if "recurrent" in each.line)
    assert line.endswith("rs_seq), R (f32):    0.03 MiB, S (f32):    0.38 MiB, P (f32):    0.11 MiB")


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
