"""A pasted vLLM command line: what it sets, and what vLLM would refuse."""

from typing import Any

import pytest

from planner.core.engines.vllm.arguments import parse
from planner.core.errors import InputError


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # utils/argparse_utils.py, human_readable_int: small letters are decimal, capital ones binary.
        ("--max-model-len 16k", {"max_model_len": 16_000}),
        ("--max-model-len 16K", {"max_model_len": 16_384}),
        ("--max-model-len 25.6k", {"max_model_len": 25_600}),
        ("--max-model-len auto", {"max_model_len": -1}),
        ("--max-model-len -1", {"max_model_len": -1}),
        ("--kv-cache-memory-bytes 4G", {"kv_cache_memory_bytes": 4 * 2**30}),
        ("--kv-cache-memory 4g", {"kv_cache_memory_bytes": 4 * 10**9}),
        # Spellings argparse accepts.
        ("vllm serve Qwen/Qwen3-8B --max_num_seqs=32", {"max_num_seqs": 32}),
        ("-tp 2 -pp=3 -dp 4", {"tensor_parallel_size": 2, "pipeline_parallel_size": 3, "data_parallel_size": 4}),
        ("--device-memory-utilization .9", {"gpu_memory_utilization": 0.9}),
        ("--no-enable-prefix-caching --enforce-eager", {"enable_prefix_caching": False, "enforce_eager": True}),
        ("--max-num-seqs 8 --max-num-seqs 16", {"max_num_seqs": 16}),
        ('-sc {"method":"mtp","num_speculative_tokens":2}', {"speculative_config": {"method": "mtp", "num_speculative_tokens": 2}}),
        ("--spec-method mtp --speculative-config.num_speculative_tokens 2", {"speculative_config": {"method": "mtp", "num_speculative_tokens": "2"}}),
        # What does not touch memory is passed over, with its value.
        ("--port 8000 --api-key a b --enable-log-requests --block-size 32 -O3", {"block_size": 32}),
        ("", {}),
    ],
)  # fmt: skip
def test_a_command_line_sets_what_vllm_would_set(line: str, expected: dict[str, Any]) -> None:
    found = parse(tuple(line.split()))
    assert {name: getattr(found, name) for name in expected} == expected
    assert all(getattr(found, name) is None for name in found.__slots__ if name not in expected)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--max-model-len 1.5K", "write 1.5k"),
        ("--max-model-len zero", "whole number"),
        ("--max-model-len", "needs a value"),
        ("--max-num-seqs --enforce-eager", "needs a value"),
        ("--max-num-seqs 0", "from 1"),
        ("--max-num-seqs 1e9", "whole number"),
        ("--max-num-seqs ٣", "whole number"),
        ("--gpu-memory-utilization 1.2", "up to 1"),
        ("--gpu-memory-utilization nan", "share"),
        ("--gpu-memory-utilization .", "share"),
        ("--kv-cache-memory-bytes 99999999999T", "from 1 to"),
        ("--speculative-config [1]", "JSON object"),
        ("--speculative-config " + "[" * 4000, "JSON object"),
        ("--limit-mm-per-prompt image=2", '\\{"image": 2\\}'),
        ("--compilation-config 3", "cudagraph_capture_sizes"),
        ("--kv-cache-dtype fp8;rm", "a name"),
        ("x " * 1001, "more than 1,000 words"),
    ],
)
def test_a_value_that_vllm_refuses_is_refused_in_a_sentence(line: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        parse(tuple(line.split()))
    assert refused.value.field == "engine_args"
