"""Ollama's log as it is read: settings, memory and offload lines of several releases, access lines, and the llama-server inside."""

import pytest

from planner.core.logs.formats.ollama import FORMAT, _duration_s
from planner.core.logs.reading import Reading, read
from planner.core.logs.record import Notice, Task
from tests.log_writer import Style, write
from tests.schedules import random_schedule

GO = "time=2026-08-19T08:08:{:02d}.500-05:00 level=INFO source={} "
CONFIG = (
    GO.format(1, "routes.go:1554")
    + 'msg="server config" env="map[HTTPS_PROXY: OLLAMA_CONTEXT_LENGTH:4096 OLLAMA_FLASH_ATTENTION:true OLLAMA_HOST:http://10.1.2.3:11434 '
    "OLLAMA_KEEP_ALIVE:5m0s OLLAMA_KV_CACHE_TYPE:q8_0 OLLAMA_LLM_LIBRARY: OLLAMA_MAX_LOADED_MODELS:0 OLLAMA_MAX_QUEUE:512 "
    'OLLAMA_MODELS:/home/ann/.ollama/models OLLAMA_NUM_PARALLEL:4 OLLAMA_ORIGINS:[http://localhost app://*]]"\n'
)
LISTENING = GO.format(2, "routes.go:1810") + 'msg="Listening on [::]:11434 (version 0.33.1)"\n'
BEGIN = CONFIG + LISTENING
CHILD = (
    GO.format(3, "llama_server.go:433")
    + 'msg="starting llama-server" cmd="/usr/local/lib/ollama/llama-server --model /home/ann/blobs/sha256-947a --port 40115 -c 16384 -np 4 --flash-attn auto -b 512 -ub 512"\n'
    "llama_model_loader: - kv   2:                               general.name str              = Llama 3.2 3B Instruct\n"
    "srv    load_model: loading model '/home/ann/blobs/sha256-947a'\n"
    "srv    load_model: initializing, n_slots = 4, n_ctx_slot = 4096, kv_unified = 'false'\n"
    + GO.format(8, "llama_server.go:1362")
    + 'msg="llama-server started in 5.08 seconds"\n'
)
GIN = '[GIN] 2026/08/19 - {} | {} | {:>12} |       127.0.0.1 | {:<8} "{}"\n'
TASK = (
    "slot get_availabl: id  {slot} | task -1 | selected slot by LRU, t_last = -1\n"
    "slot launch_slot_: id  {slot} | task {task} | processing task, is_child = 0\n"
    "slot print_timing: id  {slot} | task {task} | prompt eval time =    1000.00 ms /   200 tokens (    5.00 ms per token,   200.00 tokens per second)\n"
    "slot print_timing: id  {slot} | task {task} |        eval time =    2000.00 ms /    50 tokens (   40.82 ms per token,    24.50 tokens per second)\n"
    "slot print_timing: id  {slot} | task {task} |       total time =    3000.00 ms /   250 tokens\n"
    "slot      release: id  {slot} | task {task} | stop processing: n_tokens = 249, truncated = 0\n"
)


def reading(text: str) -> tuple[Reading, list[Task], list[Notice]]:
    found = read([text.encode()])
    items = list(found)
    return found, [item for item in items if isinstance(item, Task)], [item for item in items if isinstance(item, Notice)]


def test_its_settings_and_the_child_s_are_facts_and_nobody_s_address_or_home() -> None:
    found, tasks, notices = reading(BEGIN + CHILD)
    assert (found.facts.engine, found.facts.starts, tasks, notices) == ("ollama", 1, [], [])
    expected = {
        "version": "0.33.1", "num_parallel": 4, "max_queue": 512, "context_length": 4096, "kv_cache_type": "q8_0", "flash_attention": True,
        "keep_alive": "5m0s", "max_loaded_models": 0, "model": "Llama 3.2 3B Instruct", "n_ctx": 16_384, "n_slots": 4, "n_ctx_slot": 4096, "n_batch": 512, "model_loads": 1,
        "load_s": 5.08, "kv_unified": False,
    }  # fmt: skip
    assert {name: found.facts.values.get(name) for name in expected} == expected
    assert "ann" not in repr(found.facts)
    assert "10.1.2.3" not in repr(found.facts)
    assert found.counts.unparsed_lines == found.counts.other_lines == 0


# Memory and offload lines: before 0.11 (memory.go), 0.11 to 0.30 (device.go, ggml.go, runner.go), and of the child.
MEMORY = [
    (GO.format(3, "memory.go:356")
     + 'msg="offload to cuda" layers.requested=-1 layers.model=41 layers.offload=29 layers.split="" memory.available="[6.9 GiB]" memory.required.full="9.6 GiB" memory.required.partial="6.8 GiB" memory.required.kv="400.0 MiB" memory.weights.total="8.2 GiB"\n',
     {"layers": 41, "layers_on_gpu": 29, "kv_mib": 400.0, "needed_mib": 9830.4}),
    (GO.format(3, "runner.go:1271")
     + "msg=load request=\"{Operation:fit LoraPath:[] Parallel:1 BatchSize:512 FlashAttention:true KvSize:8192 KvCacheType: NumThreads:8 GPULayers:41}\"\n"
     + GO.format(3, "runner.go:1271")
     + "msg=load request=\"{Operation:commit LoraPath:[] Parallel:1 BatchSize:512 FlashAttention:true KvSize:4096 KvCacheType:q8_0 NumThreads:8 GPULayers:29}\"\n"
     + GO.format(3, "ggml.go:136") + 'msg="" architecture=qwen3moe file_type=unknown name="Qwen3 Coder 30B" description="" num_tensors=579\n'
     + GO.format(3, "ggml.go:494") + 'msg="offloaded 29/41 layers to GPU"\n'
     + GO.format(3, "device.go:240") + 'msg="model weights" device=CUDA0 size="4.7 GiB"\n'
     + GO.format(3, "device.go:245") + 'msg="model weights" device=CPU size="2.0 GiB"\n'
     + GO.format(3, "device.go:251") + 'msg="kv cache" device=CUDA0 size="1.2 GiB"\n'
     + GO.format(3, "device.go:256") + 'msg="kv cache" device=CPU size="384.0 MiB"\n'
     + GO.format(3, "device.go:262") + 'msg="compute graph" device=CUDA0 size="190.5 MiB"\n',
     {"model": "Qwen3 Coder 30B", "n_slots": 1, "n_ctx": 4096, "n_batch": 512, "kv_cache_type": "q8_0", "threads": 8, "layers_on_gpu": 29, "layers": 41,
      "weights_mib": 6860.8, "weights_cpu_mib": 2048.0, "kv_mib": 1612.8, "compute_mib": 190.5}),
    (GO.format(3, "types.go:42") + 'msg="inference compute" id=0 library=CUDA compute=8.9 name=CUDA0 description="RTX" type=discrete total="24.0 GiB" available="22.1 GiB"\n'
     + GO.format(3, "routes.go:1768") + 'msg="vram-based default context" total_vram="24.0 GiB" default_num_ctx=32768\n'
     + GO.format(3, "server.go:444") + 'msg="starting runner" cmd="/usr/bin/ollama runner --ollama-engine --port 33791"\n',
     {"devices": [{"library": "CUDA", "total_mib": 24576.0}], "default_num_ctx": 32_768, "model_loads": None}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MEMORY)
def test_memory_is_read_as_each_release_prints_it(text: str, expected: dict[str, object]) -> None:
    found, _, _ = reading(BEGIN + text)
    assert {name: found.facts.values.get(name) for name in expected} == expected
    assert found.counts.unparsed_lines == 0


def test_layers_left_on_the_processor_are_noticed_once() -> None:
    _, _, notices = reading(BEGIN + MEMORY[0][0] + MEMORY[1][0])
    assert [(notice.code, notice.value) for notice in notices] == [("layers_on_cpu", 12)]


def test_a_request_is_joined_with_the_access_line_that_ends_it() -> None:
    # It came 5 s before its answer was whole; the child was busy with it for 3 of them.
    text = BEGIN + CHILD + TASK.format(slot=3, task=0) + GIN.format("08:08:20", 200, "5.0s", "POST", "/api/chat")
    found, (task,), notices = reading(text)
    assert (task.ending, task.prompt_tokens, task.output_tokens, task.prefill_s, task.generate_s) == ("finished", 200, 50, 1.0, 2.0)
    assert task.arrived_s == pytest.approx(13.5)  # on an axis that began at 08:08:01.5
    assert (task.launched_s, task.started_s, task.released_s) == (pytest.approx(15.5), pytest.approx(15.5), pytest.approx(18.5))
    assert notices == []
    assert found.facts.format == "llama-server inside"


def test_with_several_slots_each_task_gets_an_access_line_that_is_long_enough() -> None:
    short = TASK.format(slot=2, task=9).replace("1000.00", " 100.00").replace("2000.00", " 200.00")
    text = BEGIN + CHILD + TASK.format(slot=3, task=0) + short
    text += GIN.format("08:08:20", 200, "400ms", "POST", "/api/chat") + GIN.format("08:08:21", 200, "6.0s", "POST", "/api/chat")
    _, tasks, _ = reading(text)
    assert [(task.number, task.arrived_s) for task in tasks] == [(9, pytest.approx(18.1)), (0, pytest.approx(13.5))]


def test_with_journald_s_clock_the_child_s_lines_have_times_of_their_own() -> None:
    stamped = (BEGIN + CHILD + TASK.format(slot=3, task=0)).splitlines()
    text = "".join(f"Aug 19 08:08:{10 + index:02d} box ollama[7]: {line}\n" for index, line in enumerate(stamped))
    text += "Aug 19 08:08:40 box ollama[7]: " + GIN.format("08:08:40", 200, "25.5s", "POST", "/api/generate")
    _, (task,), _ = reading(text)
    assert (task.launched_s, task.released_s, task.arrived_s) == (8.0, 12.0, pytest.approx(4.5))


def test_an_older_runner_has_only_access_lines() -> None:
    text = (
        BEGIN
        + GIN.format("08:08:20", 200, "2m30s", "POST", "/v1/chat/completions")
        + GIN.format("08:08:25", 200, "8.5s", "POST", "/api/generate")
    )
    text += GIN.format("08:08:26", 200, "47.063µs", "GET", "/api/version") + GIN.format("08:08:26", 200, "4ms", "POST", "/api/show")
    _, tasks, _ = reading(text)
    assert [(task.ending, task.released_s, task.arrived_s) for task in tasks] == [("finished", 18.5, -131.5), ("finished", 23.5, 15.0)]
    assert [(task.number, task.launched_s, task.prefill_s) for task in tasks] == [(1, None, None), (2, None, None)]


def test_a_full_queue_a_client_that_left_and_errors_are_noticed() -> None:
    statuses = [(503, "42.04ms"), (499, "1.5s"), (500, "3.1s"), (404, "1ms"), (200, "1s")]
    _, tasks, notices = reading(BEGIN + "".join(GIN.format("08:08:20", status, took, "POST", "/api/chat") for status, took in statuses))
    assert [(notice.code, notice.value) for notice in notices] == [
        ("queue_full", 503),
        ("cancelled", None),
        ("http_error", 500),
        ("http_error", 404),
    ]
    assert [task.ending for task in tasks] == ["cancelled", "finished"]


TROUBLES = [
    ('msg="truncating input prompt" limit=4096 prompt=6537 keep=4 new=4096', "truncated_input", 6537),
    ('msg="context limit hit - shifting" id=0 limit=2048', "context_shift", None),
    ('msg="Load failed" model=/x error="model requires more system memory (5.6 GiB) than is available (4.2 GiB)"', "start_failed", None),
    ('error="model requires more system memory (5.6 GiB) than is available (4.2 GiB)"', "start_failed", 5.6),
    ('error="timed out waiting for llama runner to start: context canceled"', "timeout", None),
]


@pytest.mark.parametrize(("said", "code", "value"), TROUBLES)
def test_trouble_is_noticed_with_its_figure(said: str, code: str, value: float | None) -> None:
    _, _, (notice,) = reading(BEGIN + GO.format(9, "runner.go:153") + said + "\n")
    assert (notice.code, notice.value, notice.at_s, notice.line) == (code, value, 8.0, 3)


def test_a_prompt_that_quotes_the_server_says_nothing_of_it() -> None:
    words = "timed out waiting for llama runner; | task 7 | processing task; requires more system memory (5.6 GiB)"
    _, tasks, notices = reading(
        BEGIN + GO.format(9, "routes.go:1500").replace("INFO", "DEBUG") + f'msg="chat request" images=0 prompt="{words}"\n'
    )
    assert (tasks, notices) == ([], [])


def test_a_restart_begins_with_new_facts() -> None:
    again = BEGIN.replace("NUM_PARALLEL:4", "NUM_PARALLEL:1").replace("08:08", "08:09")
    found, _, _ = reading(BEGIN + MEMORY[0][0] + again)
    assert (found.facts.starts, found.facts.values["num_parallel"], "layers" in found.facts.values) == (2, 1, False)


@pytest.mark.parametrize(
    ("printed", "seconds"),
    [
        ("42.044125ms", 0.042044125),
        ("2m30s", 150),
        ("3m2s", 182),
        ("1h0m1s", 3601),
        ("47.063µs", 47.063e-6),
        ("4.9643197s", 4.9643197),
        ("0s", 0),
    ],
)
def test_durations_are_read_as_go_prints_them(printed: str, seconds: float) -> None:
    assert _duration_s(printed.encode()) == pytest.approx(seconds)


@pytest.mark.parametrize("printed", ["s", "1", "1x", "-1s", "1.s", "nan", "1s2"])
def test_what_is_no_duration_is_none(printed: str) -> None:
    assert _duration_s(printed.encode()) is None


def test_every_task_of_the_child_is_found_however_many_there_are() -> None:
    # The child's default: verbosity 4 without prefix and time.
    written = write(random_schedule(35), Style(envelope="no prefix"))
    found, tasks, _ = reading(BEGIN + written.text)
    truths = {truth.number: (truth.prompt_tokens, truth.computed_tokens, truth.output_tokens) for truth in written.truths}
    assert found.facts.engine == "ollama"
    assert {task.number: (task.prompt_tokens, task.computed_tokens, task.output_tokens) for task in tasks} == truths


NEAR_MISSES = [
    "[GIN] 2026/08/19 - 08:08:20 | 200 |" + " " * 100_000,
    "[GIN] 2026/08/19 - 08:08:20 | 200 | " + "1.1" * 33_000,
    '[GIN] 2026/08/19 - 08:08:20 | 200 | 1s | 127.0.0.1 | POST "' + "/a" * 50_000,
    'msg="server config" env="map[' + "OLLAMA_NUM_PARALLEL:" * 5_000,
    'msg="starting llama-server" cmd=" --model x' + " -c 1" * 20_000,
    'msg="kv cache" device=' + "C" * 100_000,
    " layers.model=" + "1" * 100_000,
    "time=2026-08-19T08:08:" * 4_500 + " started in 1",
    'msg="inference compute"' + " library=" * 11_000,
]


@pytest.mark.parametrize("line", NEAR_MISSES, ids=[line[:24] for line in NEAR_MISSES])
def test_near_misses_of_a_hundred_kilobytes_cost_no_more_than_reading_them(line: str) -> None:
    found, tasks, _ = reading(BEGIN + (line + "\n") * 3)
    assert tasks == []
    assert found.counts.lines == 5


def test_its_lines_are_known_from_llama_server_s_alone() -> None:
    child = (CHILD.splitlines(keepends=True)[3]).encode()
    assert FORMAT.sniff(child) == 0
    assert FORMAT.sniff((BEGIN + CHILD).encode()) == 7
