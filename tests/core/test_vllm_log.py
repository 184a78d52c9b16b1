"""vLLM's log as it is read: start-up facts, periodic lines, access lines, failures; old releases; hostile text."""

import gzip
from pathlib import Path

import pytest

from planner.core.logs.formats._yearless import CLOCK, YearlessClock
from planner.core.logs.formats.vllm import FORMAT
from planner.core.logs.reading import Reading, read
from planner.core.logs.record import Notice, Sample

REAL = Path(__file__).resolve().parent.parent.parent.parent / "shared/truth/logs/own/vllm"
PUBLIC = REAL.parent.parent / "public/vllm-0.19.2rc1-qwen36-35b-awq-rocm-gfx1151.log"
PREFIX = "(APIServer pid=7) INFO 11-29 14:49:{:02d} [loggers.py:335] "


def reading(text: str) -> tuple[Reading, list[Sample], list[Notice]]:
    found = read([text.encode()], engine="vllm")
    items = list(found)
    return found, [item for item in items if isinstance(item, Sample)], [item for item in items if isinstance(item, Notice)]


# A start as vLLM 0.19 on ROCm printed it (a hybrid model: its own block size), and one of 0.32 on a CPU.
START_0_19 = """\
(APIServer pid=31) INFO 05-07 08:06:15 [utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.19.2rc1.dev113+g6aa057c9d.d20260422
(APIServer pid=31) INFO 05-07 08:06:15 [utils.py:299]   █▄█▀ █     █     █     █  model   /srv/hub/models--cyankiwi--Qwen3.6-35B-A3B-AWQ-4bit/snapshots/7a1c
(APIServer pid=31) INFO 05-07 08:06:15 [utils.py:233] non-default args: {'model_tag': '/srv/hub', 'host': '127.0.0.1', 'port': 18002, 'max_model_len': 4096, 'enforce_eager': True, 'served_model_name': ['Q'], 'compilation_config': {'level': 3}, 'gpu_memory_utilization': 0.45, 'max_num_seqs': 1, 'api_key': 'abc'}
(APIServer pid=31) INFO 05-07 08:06:20 [scheduler.py:239] Chunked prefill is enabled with max_num_batched_tokens=4096.
(EngineCore pid=55) INFO 05-07 08:06:29 [core.py:107] Initializing a V1 LLM engine (v0.19.2rc1.dev113+g6aa057c9d.d20260422) with config: model='/srv/hub/models--cyankiwi--Qwen3.6-35B-A3B-AWQ-4bit/snapshots/7a1c', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1, quantization=compressed-tensors, kv_cache_dtype=auto, device_config=cuda, enable_prefix_caching=False
(EngineCore pid=55) INFO 05-07 08:06:47 [gpu_model_runner.py:4854] Model loading took 23.14 GiB memory and 12.427770 seconds
(EngineCore pid=55) INFO 05-07 08:06:47 [interface.py:606] Setting attention block size to 1056 tokens to ensure that attention page size is >= mamba page size.
(EngineCore pid=55) INFO 05-07 08:07:36 [gpu_worker.py:440] Available KV cache memory: 28.34 GiB
(EngineCore pid=55) INFO 05-07 08:07:36 [kv_cache_utils.py:1337] GPU KV cache size: 370,656 tokens
(EngineCore pid=55) INFO 05-07 08:07:36 [kv_cache_utils.py:1342] Maximum concurrency for 4,096 tokens per request: 201.00x
(APIServer pid=31) INFO:     Application startup complete.
"""
START_0_32 = """\
(APIServer pid=7) INFO 11-29 14:48:58 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0
(APIServer pid=7) INFO 11-29 14:48:58 [api_utils.py:347]   █▄█▀ █     █     █     █  model   tiny/llama8
(APIServer pid=7) INFO 11-29 14:48:58 [api_utils.py:286] non-default args: {'model': 'tiny/llama8', 'max_model_len': 1024, 'block_size': 32, 'num_gpu_blocks_override': 80, 'max_num_seqs': 8}
(EngineCore pid=8) INFO 11-29 14:49:09 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='tiny/llama8', max_seq_len=1024, device_config=cpu
(EngineCore pid=8) INFO 11-29 14:49:23 [kv_cache_utils.py:2619] Overriding num_gpu_blocks=1024 with num_gpu_blocks_override=80
(EngineCore pid=8) INFO 11-29 14:49:23 [kv_cache_utils.py:2327] CPU KV cache size: 2,560 tokens, Maximum concurrency for 1,024 tokens per request: 2.50x
INFO:     Application startup complete.
"""
# As releases before 0.8 (V0) print: no process, no brackets before the source.
START_0_6 = """\
INFO 01-15 10:23:40 api_server.py:529] args: Namespace(host=None, model='m/x', max_model_len=32768, gpu_memory_utilization=0.9, max_num_seqs=256, swap_space=4)
INFO 01-15 10:23:41 llm_engine.py:237] Initializing an LLM engine (v0.6.3) with config: model='m/x', dtype=torch.float16, max_seq_len=32768, tensor_parallel_size=2, quantization=None, kv_cache_dtype=auto
INFO 01-15 10:23:50 model_runner.py:1071] Loading model weights took 14.4800 GB
INFO 01-15 10:23:51 worker.py:267] the current vLLM instance can use total_gpu_memory (79.33GiB) x gpu_memory_utilization (0.90) = 71.39GiB
INFO 01-15 10:23:51 worker.py:267] model weights take 14.99GiB; non_torch_memory takes 1.39GiB; PyTorch activation peak memory takes 0.32GiB; the rest of the memory reserved for KV Cache is 54.69GiB.
INFO 01-15 10:23:52 distributed_gpu_executor.py:57] # GPU blocks: 12483, # CPU blocks: 2048
INFO 01-15 10:23:52 distributed_gpu_executor.py:61] Maximum concurrency for 32768 tokens per request: 6.10x
"""
STARTS = [
    (START_0_19, "V1", {
        "version": "0.19.2rc1.dev113+g6aa057c9d.d20260422", "model": "cyankiwi/Qwen3.6-35B-A3B-AWQ-4bit", "max_model_len": 4096, "max_num_seqs": 1,
        "gpu_memory_utilization": 0.45, "enforce_eager": True, "max_num_batched_tokens": 4096, "block_size": 1056, "available_kv_gib": 28.34,
        "kv_cache_tokens": 370_656, "max_concurrency": 201.0, "weights_gib": 23.14, "device": "cuda", "dtype": "bfloat16", "kv_cache_dtype": "auto",
        "tensor_parallel_size": 1, "quantization": "compressed-tensors", "enable_prefix_caching": False,
    }),
    (START_0_32, "V1", {
        "version": "0.32.0", "model": "tiny/llama8", "max_model_len": 1024, "block_size": 32, "num_gpu_blocks_override": 80, "num_blocks": 80,
        "max_num_seqs": 8, "device": "cpu", "kv_cache_tokens": 2560, "max_concurrency": 2.5,
    }),
    (START_0_6, "V0", {
        "version": "0.6.3", "model": "m/x", "max_model_len": 32_768, "gpu_memory_utilization": 0.9, "max_num_seqs": 256, "swap_space": 4,
        "dtype": "float16", "tensor_parallel_size": 2, "kv_cache_dtype": "auto", "weights_gib": 14.99, "available_kv_gib": 54.69, "num_blocks": 12_483, "max_concurrency": 6.1,
    }),
]  # fmt: skip


@pytest.mark.parametrize(("text", "form", "facts"), STARTS)
def test_a_start_says_what_the_server_has(text: str, form: str, facts: dict[str, object]) -> None:
    found, samples, notices = reading(text)
    assert (found.facts.engine, found.facts.format, found.facts.starts) == ("vllm", form, 1)
    assert found.facts.values == facts
    assert (samples, notices, found.counts.unparsed_lines, found.counts.other_lines) == ([], [], 0, 0)


def test_neither_a_key_nor_a_name_nor_a_place_is_kept() -> None:
    found, _, _ = reading(START_0_19)
    assert "/srv" not in repr(found.facts)
    assert "abc" not in repr(found.facts)


# Lines and what is in them: (running, waiting, prompt, generation, cache, prefix hits, preemptions, engine). Sources: vLLM
# 0.32 loggers.py LoggingStatLogger.log (optional parts in their order), 0.6 metrics.py, 0.11 AggregatedLoggingStatLogger.
PERIODIC = [
    ("Engine 000: Avg prompt throughput: 133.6 tokens/s, Avg generation throughput: 91.8 tokens/s, Running: 7 reqs, Waiting: 1 reqs, CPU KV cache usage: 97.5%, Prefix cache hit rate: 0.0%",
     (7, 1, 133.6, 91.8, 0.975, 0.0, None, 0)),
    ("Engine 012: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 1.2 tokens/s, Running: 5 reqs, Waiting: 3 reqs, Deferred: 2 reqs, KV fetch: 12, Preemptions: 4, GPU KV cache usage: 15.7%, Prefix cache hit rate: 80.7%, Corrupted: 0 reqs, External prefix cache hit rate: 3.0%, MM cache hit rate: 9.0%",
     (5, 3, 0.0, 1.2, 0.157, 0.807, 4, 12)),
    ("Avg prompt throughput: 522.3 tokens/s, Avg generation throughput: 6.9 tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 3.8%, CPU KV cache usage: 1.0%.",
     (1, 2, 522.3, 6.9, 0.038, None, None, 0)),
    ("2 Engines Aggregated: Avg prompt throughput: 10393.9 tokens/s, Avg generation throughput: 272.6 tokens/s, Running: 96 reqs, Waiting: 0 reqs, GPU KV cache usage: 10.9%, Prefix cache hit rate: 0.2%",
     (96, 0, 10393.9, 272.6, 0.109, 0.002, None, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("line", "figures"), PERIODIC)
@pytest.mark.parametrize("outer", ["", "vllm-1  | ", "Nov 29 14:49:35 gpu1 vllm[7]: "])
def test_a_periodic_line_is_read_in_every_part(outer: str, line: str, figures: tuple[object, ...]) -> None:
    found, samples, _ = reading(outer + PREFIX.format(35) + line + "\n")
    (sample,) = samples
    assert found.counts.unparsed_lines == found.counts.other_lines == 0
    assert sample.at_s == 0
    assert (
        sample.running, sample.waiting, sample.prompt_rate, sample.generation_rate, sample.cache_share, sample.prefix_hit_share,
        sample.preemptions, sample.engine,
    ) == figures  # fmt: skip


def test_a_line_of_one_step_says_how_long_it_took() -> None:
    line = "Engine 000: Iteration(0): 1 context requests, 532 context tokens, 2 generation requests, 2 generation tokens, iteration elapsed time: 1064.00 ms, CPU KV cache usage: 1.7%"
    _, (sample,), _ = reading(PREFIX.format(30) + line + "\n")
    assert (sample.step_s, sample.running, sample.cache_share) == (1.064, 3, 0.017)
    assert (sample.prompt_rate, sample.generation_rate) == (pytest.approx(500), pytest.approx(2 / 1.064))


@pytest.mark.parametrize(
    "line",
    [
        "Avg prompt throughput: -1.0 tokens/s, Avg generation throughput: 1.2 tokens/s, Waiting: 3 reqs",
        "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: nan tokens/s, Running: 1 reqs",
        "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: -1 reqs",
        "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: 1 reqs, GPU KV cache usage: 170.0%",
        "Avg prompt throughput: 1.0 tokens/s, Avg gen",
        "Engine 000: Iteration(3): 1 context requests, 5 context tokens, 0 generation requests, 0 generation tokens, iteration elapsed time: 0.00 ms",
    ],
)
def test_what_is_no_figure_is_counted_as_not_understood(line: str) -> None:
    found, samples, _ = reading(PREFIX.format(35) + line + "\n")
    assert samples == []
    assert found.counts.unparsed_lines == 1
    assert found.counts.unparsed_examples


def test_answers_that_failed_are_noticed_and_a_full_queue_is_known_where_it_has_a_bound() -> None:
    access = 'INFO:     127.0.0.1:41500 - "POST /v1/completions HTTP/1.1" {}\n'
    probes = (
        'INFO:     127.0.0.1:41500 - "GET /health HTTP/1.1" 200 OK\nINFO:     127.0.0.1:41500 - "GET /favicon.ico HTTP/1.1" 404 Not Found\n'
    )
    answers = probes + "".join(access.format(status) for status in ("200 OK", "400 Bad Request", "503 Service Unavailable"))
    assert [(notice.code, notice.value) for notice in reading(answers)[2]] == [("http_error", 400), ("http_error", 503)]
    bounded = "(APIServer pid=7) INFO 11-29 14:40:17 [api_utils.py:286] non-default args: {'max_num_queued_reqs': 4}\n"
    assert [(notice.code, notice.value) for notice in reading(bounded + answers)[2]] == [("http_error", 400), ("queue_full", 503)]


# Texts that end a start (0.32 unless said otherwise): the notice's figure is the longest context that would fit.
NEEDS = "max seq len ({}), (0.25 GiB KV cache is needed, which is larger than the available KV cache memory (0.09 GiB)"
FAILED = [
    ("ValueError: To serve at least one request with the model's " + NEEDS.format("8192") + ". Based on the available memory, the estimated maximum model length is 3072. Try",
     "cache_too_small", 3072.0),
    ("ValueError: To serve at least one request with the models's " + NEEDS.format("131,072") + ". Try increasing", "cache_too_small", None),
    ("ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (93760). Try", "cache_too_small", 93760.0),  # 0.8
    ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", "no_memory_for_cache", None),
    ("vllm: error: unrecognized arguments: --swap-space 4", "unknown_argument", None),
    ("pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig", "invalid_argument", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "word", "longest"), FAILED)
def test_a_start_that_fails_says_why_once(line: str, word: str, longest: float | None) -> None:
    error = "(EngineCore pid=8) ERROR 11-29 14:47:59 [core.py:1510] "
    end = "RuntimeError: Engine core initialization failed. See root cause above.\n"
    found, _, (notice,) = reading(f"{error}{line}\n{error}Traceback (most recent call last):\n{line}\n{end}")
    assert (notice.code, notice.value, notice.line) == ("start_failed", longest, 1)
    assert found.facts.values["failure"] == word
    assert found.facts.starts == 1


def test_a_request_that_is_not_valid_is_no_failed_start() -> None:
    found, _, notices = reading("pydantic_core._pydantic_core.ValidationError: 1 validation error for ChatCompletionRequest\n" + START_0_32)
    assert (notices, "failure" in found.facts.values) == ([], False)


def test_a_restart_begins_with_new_facts_and_goes_on_in_time() -> None:
    between = PREFIX.format(50) + PERIODIC[0][0] + "\n"
    second = START_0_32.replace("14:4", "14:5").replace("2,560", "5,120")
    found, samples, _ = reading(START_0_32 + between + second + between.replace("14:49", "14:59"))
    assert found.facts.starts == 2
    assert found.facts.values["kv_cache_tokens"] == 5_120
    assert [sample.at_s for sample in samples] == [52, 652]
    assert found.counts.backwards == 0


def test_preemptions_of_old_releases_are_noticed() -> None:
    line = "WARNING 05-09 00:49:33 scheduler.py:1057] Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. {}=51\n"
    for count in ("total_cumulative_preemption_cnt", "total_num_cumulative_preemption"):
        _, _, (notice,) = reading(line.format(count))
        assert (notice.code, notice.value) == ("preempted", 51)


def test_memory_that_ran_out_and_requests_that_are_too_long_are_noticed_once_though_a_traceback_repeats_them() -> None:
    out = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.53 GiB"
    long = "ValueError: This model's maximum context length is 2048 tokens. However, you requested 3049 tokens (3000 in the messages, 49 in the completion)."
    error = "(EngineCore pid=8) ERROR 11-29 14:47:59 [core.py:1510] "
    _, _, notices = reading(f"{error}{out}\n{out}\n{error}{long}\n{long}\n")
    assert [(notice.code, notice.value) for notice in notices] == [("out_of_memory", 0.5), ("too_long", 3049)]


@pytest.mark.parametrize(
    ("printed", "gap_s"),
    [
        (("11-29 23:59:58", "11-30 00:00:03"), 5),
        (("12-31 23:59:58", "01-01 00:00:03"), 5),
        (("02-28 23:59:58", "03-01 00:00:03"), 5),  # no leap day seen: a year without
        (("02-29 23:59:58", "03-01 00:00:03"), 5),
        (("02-28 12:00:00", "02-29 12:00:00"), 86_400),
        (("06-30 12:00:00", "06-30 11:59:00"), -60),  # a step back is no new year
    ],
)
def test_a_clock_without_a_year_runs_on(printed: tuple[str, str], gap_s: float) -> None:
    clock = YearlessClock()
    moments = [clock.seconds(found) for text in printed if (found := CLOCK.search(text.encode()))]
    assert moments[1] - moments[0] == gap_s  # type: ignore[operator]


def test_years_go_on_one_after_another() -> None:
    clock = YearlessClock()
    text = b"".join(b"%02d-15 00:00:00 " % month for _ in range(3) for month in range(1, 13))
    moments = [clock.seconds(found) for found in CLOCK.finditer(text)]
    assert moments == sorted(moments)
    assert moments[-1] - moments[0] == (3 * 365 - 31) * 86_400  # type: ignore[operator]


def test_a_day_that_no_year_has_is_no_time() -> None:
    assert [YearlessClock().seconds(found) for found in CLOCK.finditer(b"13-01 00:00:00 00-10 00:00:00 10-32 00:00:00 10-10 25:00:00")] == [
        None
    ] * 4


def test_a_prompt_that_quotes_the_server_says_nothing_of_it() -> None:
    words = "CUDA out of memory. Tried to allocate 2.00 GiB. Engine 000: " + PERIODIC[0][0]
    found, samples, notices = reading(
        f"INFO 04-02 22:33:17 logger.py:37] Received request chatcmpl-6e: prompt: '{words}', params: SamplingParams(n=1)\n"
    )
    assert (samples, notices, found.counts.unparsed_lines) == ([], [], 0)


def test_tracebacks_and_other_programs_lines_are_counted_as_other() -> None:
    text = 'Traceback (most recent call last):\n  File "x.py", line 8, in <module>\nnanobind: leaked 4 instances!\n'
    found, _, _ = reading(START_0_32 + text)
    assert (found.counts.other_lines, found.counts.unparsed_lines) == (3, 0)


NEAR_MISSES = [
    "Avg prompt throughput: " + "A a" * 33_000,
    "Avg prompt throughput: " + "Running: " * 11_000,
    "Avg prompt throughput: " + "1" * 100_000,
    '"POST ' + "/a" * 2_000 + ' HTTP/1.1 "POST ' * 3_000,
    '"POST ' * 16_000 + " HTTP/1.1",
    "non-default args: {" + "'\\" * 50_000,
    "non-default args: {" + "'a': [" * 16_000,
    "non-default args: " + "{" * 100_000,
    " LLM engine (v" + "1." * 50_000,
    " LLM engine (v1) model='" + "model='" * 14_000,
    "args: Namespace(" + "max_num_seqs=1" * 7_000,
    "█  version " + "1" * 100_000,
    "█  model " + "a/" * 50_000,
    " KV cache size: " + "1,234" * 20_000,
    "model weights take 1GiB; " + "KV Cache is -" * 7_000,
    "Maximum concurrency for " + "1,234" * 20_000,
    "max seq len (" + "1,234" * 20_000,
    ": Iteration(" + "1" * 100_000,
    "out of memory. Tried to allocate " + "1" * 100_000,
    "maximum context length is " * 4_000,
    "11-29 14:49:" * 8_000 + "Avg prompt throughput: 1",
    "(a pid=1) " * 10_000,
]


@pytest.mark.parametrize("line", NEAR_MISSES, ids=[line[:24] for line in NEAR_MISSES])
def test_near_misses_of_a_hundred_kilobytes_cost_no_more_than_reading_them(line: str) -> None:
    # A pattern that backtracks would not come back from any of these in the time a suite has.
    found, samples, _ = reading((line + "\n") * 3 + START_0_32)
    assert samples == []
    assert found.counts.lines == 10


def test_its_lines_are_known_from_others() -> None:
    assert FORMAT.sniff(START_0_32.encode()) == 6
    assert FORMAT.sniff(START_0_6.encode()) == 7
    assert FORMAT.sniff(b"slot launch_slot_: id  0 | task 0 | processing task\nINFO:     Started server process [1]\n") == 0


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public logs are not here")
def test_a_public_log_says_what_its_start_says_here() -> None:
    found = read([PUBLIC.read_bytes()])
    periodic = [item for item in found if isinstance(item, Sample)]
    expected = STARTS[0][2]
    assert {name: found.facts.values.get(name) for name in expected} == expected
    assert (found.counts.unparsed_lines, len(periodic)) == (0, 5)
    assert [(sample.running, sample.generation_rate, sample.cache_share) for sample in periodic[:3]] == [
        (0, 3.2, 0.0),
        (1, 3.4, 0.003),
        (1, 24.9, 0.003),
    ]


@pytest.mark.skipif(not REAL.exists(), reason="the real servers' logs are not here")
@pytest.mark.parametrize("path", sorted(REAL.rglob("*.log.gz")), ids=lambda path: path.name.removesuffix(".log.gz"))
def test_logs_of_a_real_server_are_read_whole(path: Path) -> None:
    found = read([gzip.decompress(path.read_bytes())])
    items = list(found)
    assert (found.facts.engine, found.facts.starts, found.counts.unparsed_lines) == ("vllm", 1, 0)
    periodic = [item for item in items if isinstance(item, Sample) and item.step_s is None]
    text = gzip.decompress(path.read_bytes()).decode()
    assert len(periodic) == text.count("Avg prompt throughput")
    assert ("failure" in found.facts.values) == path.name.startswith("err_")
    assert not any(isinstance(item, Notice) and item.code == "start_failed" for item in items) or path.name.startswith("err_")
    for sample, line in zip(periodic, (line for line in text.splitlines() if "Avg prompt throughput" in line), strict=True):
        parts = dict(part.rsplit(": ", 1) for part in line.partition("Engine 000: ")[2].split(", "))
        assert f"{sample.prompt_rate} tokens/s" == parts["Avg prompt throughput"]
        assert f"{sample.generation_rate} tokens/s" == parts["Avg generation throughput"]
        assert (f"{sample.running} reqs", f"{sample.waiting} reqs") == (parts["Running"], parts["Waiting"])
        assert sample.cache_share == pytest.approx(float(parts["CPU KV cache usage"].removesuffix("%")) / 100)
        assert sample.prefix_hit_share == pytest.approx(float(parts["Prefix cache hit rate"].removesuffix("%")) / 100)
    if (blocks := found.facts.values.get("num_blocks")) is not None:
        assert found.facts.values["kv_cache_tokens"] == blocks * 32  # type: ignore[operator]
