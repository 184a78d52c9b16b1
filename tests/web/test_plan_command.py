"""`manage.py plan`: the object scripts rely on, files on disk, batches, and refusals in one line with status 2."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import ManagementUtility

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = [
    "Qwen/Qwen3-8B",
    "--device",
    "rtx-4090",
    "--context",
    "8192",
    "--users",
    "20",
    "--generate-seconds",
    "12",
    "--turn-seconds",
    "90",
]
CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128_256, "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "intermediate_size": 14_336,
}  # fmt: skip

# Every key that interfaces promise, by section.
KEYS = {
    "model": {"id", "revision", "architecture", "layers", "max_context", "parameters", "source"},
    "cache": {"type", "bytes_per_token", "bytes_per_sequence", "bytes_per_request", "groups"},
    "memory": {"total", "usable", "weights", "overhead", "cache_pool", "cache_tokens", "free"},
    "workload": {"users", "in_flight_mean", "in_flight_p95", "in_flight_p99"},
    "fit": {
        "slots", "slots_needed", "slots_that_fit", "context_per_slot", "verdict", "limit", "wait_probability", "mean_wait", "max_queue",
        "slots_at_p95_length", "warm_conversations",
    },
    "speed": {"prefill_rate", "decode_rate", "measured", "ttft", "itl", "pause"},
    "engine": {"name", "version", "flags", "command", "files", "apply", "verify", "undo", "expect"},
}  # fmt: skip


class Ran:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command in this process, as manage.py would."""

    def call(*words: str, stdin: str | bytes = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode())))
        status: Any = 0
        try:
            ManagementUtility(["manage.py", "plan", *words]).execute()
        except SystemExit as stop:
            status = stop.code or 0
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call


@pytest.mark.parametrize("engine", ["vllm", "llama-server", "ollama"])
def test_the_json_object_has_every_promised_key(run: Any, engine: str) -> None:
    ran = run(*EXAMPLE, "--engine", engine, "--json")
    plan = json.loads(ran.out)
    assert (ran.status, ran.err, plan["schema"]) == (0, "", 1)
    for section, keys in KEYS.items():
        assert keys <= plan[section].keys(), section
    assert plan["cache"]["bytes_per_token"] == 147_456
    assert plan["workload"]["in_flight_mean"] == pytest.approx(2.667, abs=0.001)
    assert plan["fit"]["slots_needed"] == 6
    assert all(flag["why"].strip() for flag in plan["engine"]["flags"])
    assert all({"flag", "env", "value", "default", "why"} <= flag.keys() for flag in plan["engine"]["flags"])
    assert all({"path", "content", "why"} <= file.keys() for file in plan["engine"]["files"])


@pytest.mark.parametrize("engine", ["vllm", "llama-server", "ollama"])
def test_the_memory_lines_sum_up(run: Any, engine: str) -> None:
    memory = json.loads(run(*EXAMPLE, "--engine", engine, "--json").out)["memory"]
    assert sum(line["bytes"] for line in memory["lines"]) == memory["total"]


def test_every_null_has_a_warning(run: Any) -> None:
    plan = json.loads(run(*EXAMPLE, "--json").out)
    said = " ".join(warning["code"] for warning in plan["warnings"])
    for section in ("model", "memory", "fit", "speed"):
        for key, value in plan[section].items():
            if value is None and key != "revision":
                assert key in said or "latency" in said or "lengths" in said, key


def test_files_are_written_below_their_path(run: Any, tmp_path: Path) -> None:
    ran = run(*EXAMPLE, "--engine", "llama-server", "--out", str(tmp_path))
    assert ran.status == 0
    unit = tmp_path / "etc/systemd/system/llama-server.service"
    assert "ExecStart=" in unit.read_text()
    secrets = [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_mode & 0o077 == 0]
    assert secrets, "the environment file for keys is for its owner only"


def test_what_was_written_and_the_commands_for_it_stand_below_the_plan(run: Any, tmp_path: Path) -> None:
    out = run(*EXAMPLE, "--engine", "llama-server", "--out", str(tmp_path)).out
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    told = out.partition(f"Files in {tmp_path}\n")[2]
    assert sorted(line.strip() for line in told.split("\n\n")[0].splitlines()[::2]) == written
    assert "  sudo systemctl daemon-reload\n" in told


def test_text_for_a_terminal_names_the_verdict_first(run: Any) -> None:
    lines = run(*EXAMPLE, "--engine", "vllm").out.splitlines()
    assert lines[0].startswith("Tight: 4 ")
    assert any("147,456 B = 144 KiB per token" in line for line in lines)


REFUSALS = [
    (["--users", "0"], "--users: "),
    (["--context", "8 thousand"], "--context: "),
    (["--device", "a100"], "--device: "),
    (["--engine", "vllm", "--cache-type", "q8_0"], "--cache-type: "),
    (["--port", "99999"], "--port: "),
    (["--config", "/does/not/exist.json"], "--config: "),
    (["--nonsense"], "--nonsense"),
    (["--out", "/dev/null/x"], "--out: "),
    (["--out", ""], "--out: Name the directory"),
    (["--config", "/dev/zero"], "save what it gives in a file"),
    (["--gguf", "/dev/zero"], "save what it gives in a file"),
    (["--config", ""], "--config: "),
    (["--gguf", "/does/not/exist.gguf"], "--gguf: "),
    (["--config", "a", "--gguf", "b"], "not both"),
    (["--batch", "/does/not/exist"], "write model into them"),
]


@pytest.mark.parametrize(("words", "start"), REFUSALS, ids=[" ".join(words) for words, _ in REFUSALS])
def test_bad_input_is_one_line_on_stderr_and_status_2(run: Any, words: list[str], start: str) -> None:
    ran = run(*EXAMPLE, *words)
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.strip().splitlines()) == 1
    assert start in ran.err


def test_a_config_file_replaces_the_model_and_keeps_its_name(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    plan = json.loads(run("team/assistant", "--config", str(path), "--gpu-memory", "24GiB", "--json").out)
    assert (plan["model"]["id"], plan["cache"]["bytes_per_token"]) == ("team/assistant", 131_072)


def test_a_batch_answers_line_by_line_in_order(run: Any) -> None:
    machine = {"gpu_memory": "24GiB", "context": 2048, "users": 5, "engine": "llama-server"}
    lines = [
        json.dumps({**machine, "config": CONFIG}),
        json.dumps({**machine, "config": {**CONFIG, "num_key_value_heads": 5}}),
        "not json",
        json.dumps({**machine, "config": None}),
        json.dumps({**machine, "users": "many"}),
        json.dumps({**machine, "model": "Qwen/Qwen3-8B", "unknown": 1}),
        json.dumps({**machine, "model": "Qwen/Qwen3-8B"}),
    ]
    answers = [json.loads(line) for line in run("--batch", "-", "--json", stdin="\n".join(lines) + "\n").out.splitlines()]
    assert ["error" in answer for answer in answers] == [False, True, True, True, True, True, False]
    assert answers[0]["cache"]["bytes_per_token"] == 131_072
    assert all(0 < len(answer["error"]) < 500 for answer in answers if "error" in answer)


def test_closed_forms_are_there_for_long_batches(run: Any) -> None:
    words = ("Qwen/Qwen3-8B", "--device", "rtx-4090", "--users", "20", "--json")
    simulated, closed = (json.loads(run(*words, *more).out) for more in ((), ("--no-simulation",)))
    assert simulated["speed"]["ttft"] is not None
    assert closed["speed"]["ttft"] is None
    assert closed["engine"]["expect"] == simulated["engine"]["expect"]
    line = json.dumps({"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "users": 20})
    assert json.loads(run("--batch", "-", "--no-simulation", stdin=line + "\n").out) == closed


ASKED = {"gpu_memory": "24GiB", "context": 2048, "model": "Qwen/Qwen3-8B", "engine": "llama-server"}


def test_a_line_of_a_batch_may_be_anything_and_the_next_is_answered_all_the_same(run: Any) -> None:
    good = json.dumps(ASKED).encode()
    lines = [
        b"\xef\xbb\xbf" + good,
        good + b"\r",
        b"",
        b"\x80\xff\x00",
        b"[1]",
        b"[" * 100_000,
        b'{"users": 1' + b"0" * 400 + b"}",
        b'{"users": NaN}',
        b'{"users": true}',
        b'{"model": "\\ud800"}',
        b" " * (4 * 2**20) + good,
        good,
    ]
    answers = [json.loads(line) for line in run("--batch", "-", stdin=b"\n".join(lines)).out.splitlines()]
    assert ["error" in answer for answer in answers] == [False, False, *[True] * 8, False]
    assert all(answer["error"].isprintable() and len(answer["error"]) < 300 for answer in answers if "error" in answer)
    assert "one JSON object a line" in answers[2]["error"]


def test_a_batch_refuses_what_it_would_not_look_at(run: Any) -> None:
    ran = run("--batch", "-", "--users", "5", stdin=json.dumps(ASKED))
    assert (ran.status, ran.out) == (2, "")
    assert "write users into them" in ran.err


def test_nothing_waits_for_a_pipe_that_nobody_writes_to(run: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for words in (["--config", str(pipe)], ["--gguf", str(pipe)]):
        assert "is a pipe or a device" in run(*EXAMPLE, *words).err
    assert "is a pipe or a device" in run("--batch", str(pipe)).err


def test_a_file_whose_name_is_no_text_is_read_all_the_same(run: Any, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/na\xff\nme.json"
    Path(os.fsdecode(path)).write_text(json.dumps(CONFIG))
    ran = run("--config", os.fsdecode(path), "--gpu-memory", "24GiB", "--context", "2048")
    assert ran.status == 0
    assert "na-me: 32 layers, from na me.json" in ran.out


def test_a_batch_names_a_config_after_its_own_type_where_no_name_is_given(run: Any) -> None:
    lines = [
        json.dumps({**ASKED, "config": CONFIG}),
        json.dumps({**ASKED, "model": None, "config": {**CONFIG, "model_type": "llama $(id)"}}),
    ]
    answers = [json.loads(line) for line in run("--batch", "-", stdin="\n".join(lines)).out.splitlines()]
    assert [answer["model"]["id"] for answer in answers] == ["Qwen/Qwen3-8B", "my-llama-id"]


def test_a_config_may_be_as_large_as_real_ones_are(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIG, "id2label": {str(n): "x" * 100 for n in range(30_000)}}))
    assert run("--config", str(path), "--gpu-memory", "24GiB").status == 0


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "manage.py", "plan", "--batch", "-"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        program.stdin.write(f"{json.dumps(ASKED)}\n".encode() * 3)
        program.stdin.close()
        assert program.stderr.read() == b""
    assert program.returncode == 0


def test_the_real_program_exits_2_with_a_plain_sentence() -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "plan", *EXAMPLE, "--users", "-1"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "--users: users must be at least 1.\n"
