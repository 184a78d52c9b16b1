"""Start-up text held against plans: every kind of line, every kind of difference with its cause, and text that is none.

Printed figures are those of the named reports; where no report is named, they follow from the rules tested elsewhere.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.engines import engines
from planner.core.errors import InputError
from planner.core.planning import expectation, make_plan
from planner.core.reconcile import Reconciliation, reconcile
from planner.core.request import read_request
from planner.sources import find_model, source_from_config

QWEN2_7B = {
    "model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "intermediate_size": 18_944, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152_064, "max_position_embeddings": 32_768, "torch_dtype": "bfloat16",
}  # fmt: skip
ON_4090 = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090"}


def compared(text: str, *, config: dict[str, Any] | None = None, **request: object) -> Reconciliation:
    asked = read_request(request)
    source = source_from_config(asked, config, name="model", where="test") if config else find_model(asked, None)
    plan, hand_over = make_plan(asked, source)
    return reconcile(text, plan, hand_over, lambda changed: expectation(changed, source))


def reasons(found: Reconciliation) -> dict[str, str]:
    return {row.key: row.why for row in found.rows if not row.equal}


def vllm(text: str, **request: object) -> Reconciliation:
    return compared(text, **{**ON_4090, "engine": "vllm", "engine_version": "0.33.0", **request})


def llama(text: str, **request: object) -> Reconciliation:
    return compared(text, **{**ON_4090, "engine": "llama-server", "engine_version": "b11434", **request})


@pytest.mark.parametrize("engine", ["vllm", "llama-server", "ollama"])
@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "Qwen/Qwen3.5-9B", "openai/gpt-oss-20b"])
def test_the_lines_a_plan_expects_are_as_planned(engine: str, model: str) -> None:
    asked = read_request({"model": model, "device": "h100-sxm", "engine": engine})
    source = find_model(asked, None)
    plan, hand_over = make_plan(asked, source)
    text = "\n".join(line.line for line in hand_over.expect.lines)
    found = reconcile(text, plan, hand_over, lambda changed: expectation(changed, source))
    assert found.equal, found
    assert found.summary.startswith("As planned")
    assert found.changes == {}


# Report: github.com/dennislee22/vLLM-benchmarking, Qwen2-7B on an A100 with a quarter and with half of its memory.
QUARTER = "Model loading took 14.2488 GiB\nAvailable KV cache memory: 5.01 GiB\nGPU KV cache size: 93,872 tokens\nMaximum concurrency for 16,384 tokens per request: 5.73x\n"
HALF = (
    "Available KV cache memory: 24.83 GiB\nGPU KV cache size: 464,848 tokens\nMaximum concurrency for 16,384 tokens per request: 28.37x\n"
)


@pytest.mark.parametrize("text", [QUARTER, HALF])
def test_a_real_start_agrees_once_its_memory_is_known(text: str) -> None:
    request = {"device": "a100-sxm4-80gb", "context": 16_384, "engine": "vllm", "engine_version": "0.11.0", "memory_utilization": 0.9}
    found = compared(text, config=QWEN2_7B, **request)
    why = reasons(found)
    assert set(why) <= {"cache_memory", "kv_cache_tokens", "max_concurrency", "weights"}
    assert "All of the difference is memory" in why["kv_cache_tokens"]
    assert "All of the difference is memory" in why["max_concurrency"]
    assert "Estimated in the budget: Peak of a pass, Outside PyTorch" in why["cache_memory"]
    assert compared(text, config=QWEN2_7B, **{**request, **found.changes}).rows[-1].equal


def test_a_cache_memory_within_the_estimate_is_told_from_one_beyond_it() -> None:
    within = vllm("Available KV cache memory: 4.81 GiB")
    beyond = vllm("Available KV cache memory: 1.02 GiB")
    assert "within that" in reasons(within)["cache_memory"]
    assert within.rows[0].explained
    assert "Look for something else on the card" in reasons(beyond)["cache_memory"]
    assert not beyond.rows[0].explained
    assert "without a cause" in beyond.summary


def test_a_printed_gib_stands_for_all_that_round_to_it() -> None:
    # 5 GiB are 2,275 blocks of 2,359,296 B; a hundredth of a GiB is 4.6 of them, so the figures of 2,273 and 2,277 are no difference either.
    for blocks in (2273, 2275, 2277):
        found = vllm(f"Available KV cache memory: 5.0 GiB\nGPU KV cache size: {blocks * 16:,} tokens")
        assert "All of the difference is memory" in reasons(found)["kv_cache_tokens"], blocks
    found = vllm(f"Available KV cache memory: 5.0 GiB\nGPU KV cache size: {2281 * 16:,} tokens")
    assert "All of the difference is memory" not in reasons(found)["kv_cache_tokens"]


def test_a_size_alone_is_explained_by_a_pool_within_the_estimate() -> None:
    why = reasons(vllm("GPU KV cache size: 35,024 tokens, Maximum concurrency for 8,192 tokens per request: 4.28x"))
    assert "4.81 GiB for the cache, which the plan estimates at 5.23 GiB" in why["kv_cache_tokens"]
    assert "look whether the server runs that way" in why["max_concurrency"]


# 1,000 tokens take 63 blocks of 16. With 16 GiB there are 7,281: 115,571 tokens from 0.20.1 on, 116,496 before.
@pytest.mark.parametrize(
    ("request_", "text", "key", "cause"),
    [
        ({"cache_memory": "16GiB"}, "GPU KV cache size: 116,496 tokens, Maximum concurrency for 32,768 tokens per request: 3.56x", "max_model_len", "An input: the server runs with --max-model-len 32,768 (the plan has 8,192)"),
        ({"cache_memory": "16GiB"}, "GPU KV cache size: 116,496 tokens, Maximum concurrency for 32,768 tokens per request: 3.56x", "max_concurrency", "--max-model-len 32,768 (the plan has 8,192)"),
        ({"cache_memory": "16GiB", "context": 1000}, "GPU KV cache size: 116,496 tokens", "kv_cache_tokens", "whose size line counts blocks × block size"),
        ({"cache_memory": "16GiB", "context": 1000, "engine_version": "0.14.0"}, "GPU KV cache size: 115,571 tokens", "kv_cache_tokens", "whose size line counts requests × their length"),
        ({"cache_memory": "16GiB", "context": 1000}, "INFO Initializing a V1 LLM engine (v0.17.0) with config: x\nGPU KV cache size: 116,496 tokens", "kv_cache_tokens", "All of the difference is that the server runs with vLLM 0.17.0"),
        ({"cache_memory": "16GiB"}, "Available KV cache memory: 16.0 GiB\nGPU KV cache size: 233,008 tokens", "kv_cache_tokens", "--kv-cache-dtype fp8"),
        ({"cache_memory": "16GiB"}, "tensor_parallel_size=2, kv_cache_dtype=fp8_e4m3\nAvailable KV cache memory: 16.0 GiB\nGPU KV cache size: 466,016 tokens", "kv_cache_tokens", "--tensor-parallel-size 2 (the plan has 1) and --kv-cache-dtype fp8 (the plan has auto)"),
        ({"cache_memory": "16GiB"}, "Available KV cache memory: 16.0 GiB\nGPU KV cache size: 466,032 tokens", "kv_cache_tokens", "--tensor-parallel-size 4"),
        ({}, "non-default args: {'gpu_memory_utilization': 0.85}\nAvailable KV cache memory: 3.55 GiB", "cache_memory", "--gpu-memory-utilization 0.85"),
        ({}, "the models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger than the available KV cache memory (4.81 GiB). Based on the available memory, the estimated maximum model length is 35008.", "start", "--max-model-len 40,960"),
        ({}, "the models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger than the available KV cache memory (4.81 GiB). Based on the available memory, the estimated maximum model length is 35008.", "longest", "--max-model-len 40,960 (the plan has 8,192) and 4.81 GiB for the cache"),
        ({"device": "h100-sxm"}, "# GPU blocks: 7281, # CPU blocks: 2048", "num_blocks", "GiB for the cache"),
        ({"cache_memory": "16GiB"}, 'vllm:cache_config_info{block_size="16",cache_dtype="fp8",num_gpu_blocks="14563"} 1.0', "num_blocks", "--kv-cache-dtype fp8 (the plan has auto)"),
    ],
)  # fmt: skip
def test_a_difference_in_vllms_lines_has_its_cause(request_: Mapping[str, object], text: str, key: str, cause: str) -> None:
    found = vllm(text, **request_)
    assert cause in reasons(found)[key], found


def kv(size: float, cells: int, layers: int, seqs: str, kind: str = "f16") -> str:
    half = size / 2
    return f"llama_kv_cache: size = {size:7.2f} MiB ({cells:6d} cells, {layers:3d} layers, {seqs} seqs), K ({kind}): {half:7.2f} MiB, V ({kind}): {half:7.2f} MiB"


GEMMA = {"model": "google/gemma-3-4b-it", "context": 16_384, "slots": 1}


@pytest.mark.parametrize(
    ("request_", "text", "key", "cause"),
    [
        ({}, "initializing, n_slots = 4, n_ctx_slot = 32768, kv_unified = 'true'", "n_slots", "An input: the server runs with -np 4 (the plan has 6)"),
        ({}, "initializing, n_slots = 4, n_ctx_slot = 32768, kv_unified = 'true'", "n_ctx_slot", "one pool for all slots, -kvu (the plan has a private stream for each) and -c 32,768"),
        ({}, "llama_context: n_ctx                 = 24576", "n_ctx", "An input: the server runs with -c 24,576 (the plan has 49,152)"),
        ({"slots": 3, "context": 4000}, kv(576, 4096, 36, " 3/1"), "kv.36.k", "one pool for all slots"),
        ({"context": 4096, "slots": 1}, kv(306, 4096, 36, " 1/1", "q8_0"), "kv.36.k", "-ctk q8_0 (the plan has f16)"),
        ({"context": 4096, "slots": 1}, kv(576, 4096, 36, " 1/1").replace("K (f16)", "K (bf16)").replace("V (f16)", "V (bf16)"), "type_k", "-ctk bf16"),
        ({"context": 4096, "slots": 1}, "llama_kv_cache_init:      CUDA0 KV buffer size =   306.00 MiB", "kv.size", "-ctk q8_0 -ctv q8_0"),
        ({"context": 4096, "slots": 1}, "llama_new_context_with_model: KV self size  = 1152.00 MiB, K (f16):  576.00 MiB, V (f16):  576.00 MiB", "kv.size", "-c 8,192 (the plan has 4,096)"),
        (GEMMA, f"{kv(320, 16384, 5, ' 1/1')}\n{kv(348, 3072, 29, ' 1/1')}", "kv.29.cells", "a micro-batch of 2,048 tokens"),
        (GEMMA, f"{kv(320, 16384, 5, ' 1/1')}\n{kv(1856, 16384, 29, ' 1/1')}", "kv.29.cells", "--swa-full"),
        (GEMMA, "llama_context: n_ubatch      = 1024\nllama_context: n_batch       = 2048\n" + kv(232, 2048, 29, " 1/1"), "kv.29.cells", "-ub 1024 (the plan has 512)"),
        ({"model": "Qwen/Qwen3.5-9B", "slots": 1}, "llama_memory_recurrent: size =  201.00 MiB (     4 cells,  32 layers,  4 seqs), R (f32):    9.00 MiB, S (f32):  192.00 MiB", "recurrent", "-np 4"),
        ({"slots": 4}, "output buffer size =     1.16 MiB", "output", "-np 2"),
        ({"device": "", "ram": "32GiB", "slots": 1, "context": 4096}, "sched_reserve: CPU compute buffer size =   308.75 MiB", "compute", "which keeps the logits of a whole micro-batch"),
    ],
)  # fmt: skip
def test_a_difference_in_llama_servers_lines_has_its_cause(request_: Mapping[str, object], text: str, key: str, cause: str) -> None:
    found = llama(text, **request_)
    assert cause in reasons(found)[key], found


def test_what_ollama_starts_is_read_from_its_own_line_and_from_the_servers() -> None:
    text = (
        'level=INFO msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model x --ctx-size 16384 --parallel 2 -b 512"\n'
        + kv(2304, 8192, 36, " 2/2")
    )
    found = compared(text, **ON_4090, engine="ollama")
    why = reasons(found)
    assert "-np 2" in why["n_slots"]
    assert "-c 16,384" in why["n_ctx"]
    assert "-np 2 (the plan has 6) and -c 16,384" in why["kv.36.k"]
    assert found.changes == {}, "a plan for Ollama is not offered as one for llama-server"


@pytest.mark.parametrize(
    "envelope",
    [
        "{}",
        "Nov 29 14:37:36 host vllm[4711]: (EngineCore_DP0 pid=26883) INFO 11-29 14:37:36 [kv_cache_utils.py:2327] {}",
        "vllm-1  | (EngineCore pid=26883) INFO 11-29 14:37:36 [kv_cache_utils.py:2327] {}",
        "2026-11-29T14:37:36.123456789Z stdout F INFO [kv_cache_utils.py:2327] {}",
        "\x1b[32mINFO\x1b[0m 11-29 14:37:36 \x1b[90m[kv_cache_utils.py:2327]\x1b[0;1m {}\x1b[0m",
        '{{"log":"INFO 11-29 [kv_cache_utils.py:2327] {}\\n","stream":"stdout","time":"2026-11-29T14:37:36Z"}}',
        "   {}\r",
    ],
)
def test_whatever_stands_around_a_line_is_passed_over(envelope: str) -> None:
    line = "GPU KV cache size: 116,496 tokens, Maximum concurrency for 8,192 tokens per request: 14.22x"
    assert vllm(envelope.format(line), cache_memory="16GiB").equal


def test_of_several_ranks_the_least_counts_and_of_several_starts_the_last() -> None:
    ranks = "Available KV cache memory: 16.0 GiB\nAvailable KV cache memory: 15.5 GiB"
    assert vllm(ranks, cache_memory="15.5GiB").equal
    starts = "non-default args: {}\nGPU KV cache size: 1 tokens\nnon-default args: {}\nGPU KV cache size: 116,496 tokens"
    assert vllm(starts, cache_memory="16GiB").equal


def test_a_decimal_comma_is_one() -> None:
    assert llama("llama_kv_cache_init:        CPU KV buffer size =   576,00 MiB", context=4096, slots=1).equal


@pytest.mark.parametrize("engine", ["vllm", "llama-server", "ollama"])
@pytest.mark.parametrize(
    "text", ["", "hello", "the quick brown fox\n" * 50, "\x00\x1b[31m", '{"log": 5}', "GPU KV cache size: many tokens"]
)
def test_text_without_a_start_up_line_says_what_to_paste(engine: str, text: str) -> None:
    found = compared(text, **ON_4090, engine=engine)
    assert found.rows == ()
    assert not found.equal
    assert "Paste the line" in found.summary


def test_more_text_than_a_start_has_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="64 KiB"):
        vllm("x" * (64 * 1024 + 1))


LINES = st.sampled_from(
    ["Available KV cache memory: {} GiB", "GPU KV cache size: {} tokens", "Maximum concurrency for {} tokens per request: {}x", "max_seq_len={}, tensor_parallel_size={}",
     "n_slots = {}, n_ctx_slot = {}, kv_unified = 'true'", "initializing, n_slots = {}, n_ctx_slot = {}, kv_unified = 'false'", "llama_context: n_ctx = {}", "llama_context: n_ubatch = {}",
     "llama_kv_cache: size = {} MiB ( {} cells, {} layers, {}/{} seqs), K (f16): {} MiB, V ({}): {} MiB", "CPU compute buffer size = {} MiB", "build: {} (x)", "LLM engine (v{}) with",
     "max seq len ({}), ({} GiB KV cache is needed, which is larger than the available KV cache memory ({} GiB)", "estimated maximum model length is {}", "# GPU blocks: {}"]
)  # fmt: skip
FIGURES = st.one_of(
    st.integers(-5, 2**70).map(str),
    st.floats().map(str),
    st.sampled_from(["0", "1", "0.00", "9,9,9", "1.2.3", "1e309", "٣", "8,192", "0.33.0", "nan", ""]),
)


@given(engine=st.sampled_from(sorted(engines())), lines=st.lists(st.tuples(LINES, st.lists(FIGURES, min_size=8, max_size=8)), max_size=4))
def test_no_text_makes_anything_but_a_comparison(engine: str, lines: list[tuple[str, list[str]]]) -> None:
    found = compared("\n".join(line.format(*figures) for line, figures in lines), **ON_4090, engine=engine)
    assert found.summary
    assert all(row.equal or row.why for row in found.rows)
