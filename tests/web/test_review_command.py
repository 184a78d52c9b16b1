"""`manage.py review`: the same options as plan, one object with --json, and one line for what cannot be used."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command

from planner.web.management.commands.review import Command

OPTIONS = ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--device", "rtx-4090", "--weights-quant", "Q4_K_M", "--context", "16384"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def command(*words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = 0
        try:
            Command().run_from_argv(["manage.py", "review", *words])
        except SystemExit as ended:
            status = int(ended.code or 0)
        return status, *capfd.readouterr()

    return command


def test_a_file_is_reviewed_for_the_engine_it_names(tmp_path: Path) -> None:
    path = tmp_path / "bashrc"
    path.write_text("export OLLAMA_MAX_QUEUE=512\n")
    output = io.StringIO()
    call_command("review", str(path), *OPTIONS, "--json", stdout=output)
    done = json.loads(output.getvalue())
    assert (done["schema"], done["engine"], done["form"]) == (1, "ollama", "exports")
    assert [item["code"] for item in done["items"] if item["kind"] == "wrong"] == ["long_queue", "shell_export"]
    assert done["counts"]["wrong"] == 2
    assert "Environment=OLLAMA_MAX_QUEUE=" in done["replacement"]


def test_standard_input_and_a_terminal(run: Callable[..., tuple[int, str, str]]) -> None:
    status, said, problem = run("-", *OPTIONS, stdin="[Service]\nEnvironment=OLLAMA_NUM_PARALLEL=2\n")
    assert (status, problem) == (0, "")
    assert said.startswith("Read as drop-in for ollama ")
    assert "nothing wrong" in said
    assert "As a whole" in said


@pytest.mark.parametrize(
    ("words", "stdin", "sentence"),
    [
        (["-", *OPTIONS], "hello", "names no engine known here"),
        (["-", *OPTIONS], "x" * 70_000, "longer than 64 KiB"),
        (["-", *OPTIONS, "--engine", "vllm"], "OLLAMA_NUM_PARALLEL=2", "The text is for ollama"),
        (["/nowhere/x", *OPTIONS], "", "cannot be read"),
        (["-", "--device", "rtx-4090", "--users", "-1"], "OLLAMA_NUM_PARALLEL=2", "users must be"),
        ([], "", "required"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_status_2(
    words: list[str], stdin: str, sentence: str, run: Callable[..., tuple[int, str, str]]
) -> None:
    status, said, problem = run(*words, stdin=stdin)
    assert (status, said) == (2, "")
    assert sentence in problem
    assert problem.count("\n") == 1
