"""Logs of real llama-servers: what they say of their start and their requests, beside figures read by hand and what clients measured.

The records stand here; the logs themselves are looked for beside the repository, and the tests of them are skipped without.
"""

import gzip
import json
import tomllib
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from planner.core.logs.reading import Reading, read
from planner.core.logs.record import Task

HERE = Path(__file__).resolve().parent
LOGS = HERE.parent.parent.parent / "shared/truth/logs"
RECORDS = tomllib.loads((HERE / "llama_logs.toml").read_text())["log"]
OWN = sorted((LOGS / "own/llama-server").glob("*.client.json"))
OLD = sorted((LOGS / "own/llama-server/old").glob("*.log.gz"))
STALLS = sorted((LOGS / "own/llama-server/stall").glob("*.log.gz"))


def reading(data: bytes) -> tuple[Reading, list[Task]]:
    found = read([data])
    return found, [item for item in found if isinstance(item, Task)]


def assert_facts(found: Reading, record: dict[str, Any]) -> None:
    values = found.facts.values
    assert {name: values.get(name) for name in record["facts"]} == record["facts"]
    caches: Any = values["kv"]
    assert [{name: cache[name] for name in wanted} for cache, wanted in zip(caches, record["kv"], strict=True)] == record["kv"]


def start_lines(record: dict[str, Any], *, point: str) -> str:
    """A start that prints the record's figures, in the words of the builds around b9010."""
    facts, (cache,) = record["facts"], record["kv"]

    def mib(value: float) -> str:
        return f"{value:8.2f} MiB".replace(".", point)

    kept = f"K ({cache['k_type']}): {mib(cache['k_mib'])}, V ({cache['v_type']}): {mib(cache['v_mib'])}"
    lines = [
        f"build_info: {facts['version']}-0a1b2c3",
        f"system_info: n_threads = {facts['threads']} (n_threads_batch = 4) / 32 | CPU : AVX2 = 1 |",
        f"srv    load_model: loading model '/some/where/{facts['model']}'",
        f"llama_context: n_ctx         = {facts['n_ctx']}",
        f"llama_context:       Host  output buffer size = {mib(facts['output_mib'])}",
        f"llama_kv_cache: size = {mib(facts['kv_mib'])} ({cache['cells']:6} cells, {cache['layers']:3} layers, {cache['streams']:2}/1 seqs), {kept}",
        f"sched_reserve:      Device compute buffer size = {mib(facts['compute_mib'])}",
    ]
    if "recurrent_mib" in facts:
        states = f"(     8 cells,  40 layers,  8 seqs), R (f32): {mib(2.81)}, S (f32): {mib(60)}"
        lines.append(f"llama_memory_recurrent: size = {mib(facts['recurrent_mib'])} {states}")
    if "layers" in facts:
        lines.append(f"load_tensors: offloaded {facts['layers_on_gpu']}/{facts['layers']} layers to GPU")
    if "n_slots" in facts:
        lines.append(f"srv    load_model: initializing slots, n_slots = {facts['n_slots']}")
        lines.append(f"slot   load_model: id  0 | task -1 | new slot, n_ctx = {facts['n_ctx_slot']}")
    return "\n".join(lines)


@pytest.mark.parametrize("point", [".", ","])
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["file"])
def test_a_start_that_prints_these_figures_is_read_as_they_stand(record: dict[str, Any], point: str) -> None:
    found, tasks = reading(start_lines(record, point=point).encode())
    assert tasks == []
    assert_facts(found, record)
    assert (found.counts.unparsed_lines, found.counts.other_lines) == (0, 0)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["file"])
def test_real_logs_say_what_was_read_from_them_by_hand(record: dict[str, Any]) -> None:
    path = LOGS / "public" / record["file"]
    if not path.exists():
        pytest.skip("the real log is not here")
    found, tasks = reading(path.read_bytes())
    assert_facts(found, record)
    done = [task for task in tasks if task.ending == "finished"]
    assert {
        "begun": len(tasks),
        "finished": len(done),
        "prompt": sum(task.prompt_tokens or 0 for task in done),
        "computed": sum(task.computed_tokens or 0 for task in done),
        "output": sum(task.output_tokens or 0 for task in done),
        "prefill_ms": pytest.approx(sum(task.prefill_s or 0 for task in done) * 1e3),
        "generate_ms": pytest.approx(sum(task.generate_s or 0 for task in done) * 1e3),
    } == record["requests"]
    assert {task.ending for task in tasks} <= {"finished", "cut"}
    assert found.counts.unparsed_lines == 0


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name.removesuffix(".client.json"))
def test_every_request_that_a_client_sent_is_found_with_its_tokens_and_seconds(path: Path) -> None:
    found, tasks = reading(gzip.decompress(path.with_name(path.name.replace(".client.json", ".log.gz")).read_bytes()))
    requests = [request for request in json.loads(path.read_text())["requests"] if "ttft_s" in request]
    answered = [request for request in requests if "prompt_ms" in request.get("server_timings", {})]
    left = {task.number: task for task in tasks}
    waits: list[tuple[float, float, float]] = []
    for request in answered:
        timings = request["server_timings"]
        (task,) = [
            task
            for task in left.values()
            if task.prefill_s == pytest.approx(timings["prompt_ms"] / 1e3, abs=6e-6)
            and task.generate_s == pytest.approx(timings["predicted_ms"] / 1e3, abs=6e-6)
        ]
        del left[task.number]
        assert (task.computed_tokens, task.output_tokens) == (timings["prompt_n"], timings["predicted_n"])
        assert task.prompt_tokens == timings["prompt_n"] + timings["cache_n"]
        assert task.ending == "finished"
        if task.first_token_s is not None and task.launched_s is not None:
            waits.append((task.launched_s - request["t_send_s"], task.first_token_s - task.launched_s, request["ttft_s"]))
    # What waited for a slot, or for the end of a pass, did so before its launch, which the log does not know.
    soonest = min((sent for sent, _, _ in waits), default=0.0)
    at_once = [abs(said - seen) / max(0.1 * seen, 0.05) for sent, said, seen in waits if sent - soonest <= 0.05]
    assert not waits or median(at_once) <= 1
    assert {task.ending for task in left.values()} <= {"refused", "cancelled"}
    assert sum(task.ending == "refused" for task in tasks) == sum(request.get("status") == 400 for request in requests)
    assert found.counts.unparsed_lines <= 1


# Prompt, computed and generated tokens of the seven requests each old build got: README of the logs, and their own lines.
SEVEN = {(100, 100, 40), (3000, 3000, 16), (64, 64, 260), (100, 1, 30)}


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.name)
def test_old_builds_say_the_same_seven_requests(path: Path) -> None:
    _, tasks = reading(gzip.decompress(path.read_bytes()))
    assert len(tasks) == 7
    said = {(task.prompt_tokens, task.computed_tokens, task.output_tokens) for task in tasks if task.ending == "finished"}
    if "0.1.10" in path.name:  # b4798 chose another slot for the repeated prompt, and cut the long one short
        assert said == {(100, 100, 40), (3000, 3000, 16), (64, 64, 260), (100, 100, 30), (4904, 4904, 10)}
        return
    assert said == SEVEN
    (refused,) = [task for task in tasks if task.ending == "refused"]
    assert refused.asked_tokens == 9000


@pytest.mark.parametrize("path", STALLS, ids=lambda path: path.name)
def test_stalls_are_in_the_marks_of_the_answer_they_hold_up(path: Path) -> None:
    _, tasks = reading(gzip.decompress(path.read_bytes()))
    assert sorted(task.ending for task in tasks) == ["cancelled", "finished", "finished", "finished", "finished"]
    held = next(task for task in tasks if task.ending == "cancelled")
    gaps = [after.at_s - before.at_s for before, after in zip(held.marks, held.marks[1:], strict=False) if not before.prefill]
    assert max(gaps) > 3
