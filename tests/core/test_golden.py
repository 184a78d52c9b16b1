"""Whole hand-overs of real plans, word for word. Rewrite them on purpose with UPDATE_GOLDEN=1, and read the diff.

The newest version of an engine has the whole text; an older one has what differs from it.
"""

import difflib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.core.engines._tables import flag_tables
from planner.core.engines.contract import HandOver, Step
from tests.core.test_flags import help_of
from tests.situations import CASES, VERSIONS, answer

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"
FACTS = ROOT.parent / "shared/facts"
HELP = {"llama-server": "llama_server_help.txt", "vllm": "vllm_help.txt"}
# The files beside the unit have golden files of their own (test_pack.py): they repeat what is here in other syntaxes.
BESIDE = ("check.sh", "run.sh", "load-test.sh", "compose.yaml", "config.yaml", "models.ini", "nginx/conf.d")
BINARIES = ("/usr/local/bin/llama-server", "/usr/local/bin/ollama", "/opt/vllm/bin/vllm", "/usr/bin/curl")
TARGETS = ("sysinit", "basic", "shutdown", "multi-user", "network-online")
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: apt-get install systemd"
)
every_case = pytest.mark.parametrize(("engine", "situation", "version"), CASES)


def shown(done: HandOver) -> str:
    """The hand-over as one text: settings for systemd, the steps, and what is to be known beside them."""
    parts = [f"$ {done.command}\n"]
    files = [file for file in done.files if not any(name in file.path for name in BESIDE)]
    parts += [f"==== {file.path} ({file.mode:04o}): {file.why}\n{file.content}" for file in files]
    for title, steps in (("apply", done.apply), ("verify", done.verify), ("undo", done.undo)):
        parts.append(f"==== {title}\n" + "\n".join(_step(steps)))
    parts += [f"==== {remark.code}\n{remark.message}" for remark in done.remarks]
    return "\n".join([*parts, ""])


def _step(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        yield f"$ {step.command}\n  → {step.expect}\n  {step.why}"


def golden(engine: str, situation: str, version: str) -> tuple[Path, str]:
    """The file of a case and what must be in it."""
    newest = VERSIONS[engine][-1]
    folder, text = GOLDEN / engine / situation, shown(answer(engine, situation, version)[1])
    if version == newest:
        return folder / f"{version}.txt", text
    other = shown(answer(engine, situation, newest)[1])
    lines = difflib.unified_diff(other.split("\n"), text.split("\n"), newest, version, n=0, lineterm="")
    # Without line numbers, which would change with every line above.
    lines = ("@@" if line.startswith("@@") else line for line in lines)
    return folder / f"{version}.diff", "\n".join([*lines, ""])


@every_case
def test_what_is_handed_over_is_word_for_word_as_agreed(engine: str, situation: str, version: str) -> None:
    path, text = golden(engine, situation, version)
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_every_golden_file_belongs_to_a_case() -> None:
    kept = {golden(*case)[0] for case in CASES}
    assert {path for engine in VERSIONS for path in (GOLDEN / engine).rglob("*.*")} == kept


@every_case
def test_every_option_is_known_to_its_version_and_has_a_reason(engine: str, situation: str, version: str) -> None:
    flags = flag_tables()[engine].at(version)
    for setting in answer(engine, situation, version)[1].settings:
        flag = flags.find(setting.flag or setting.env or "")
        assert flag, setting
        assert setting.env == flag.env(version)
        assert len(setting.why) > 15, setting
        assert setting.why.endswith("."), setting
        assert not setting.breaks or setting.breaks.endswith("."), setting
        assert setting.source, setting


@needs_systemd
@every_case
def test_systemd_accepts_every_unit_with_its_drop_in(engine: str, situation: str, version: str, tmp_path: Path) -> None:
    """Under a root of its own, where the programs are stubs and the targets are empty: then it says nothing at all."""
    for name in TARGETS:
        _write(tmp_path, f"/etc/systemd/system/{name}.target", "[Unit]\n")
    for binary in BINARIES:
        _write(tmp_path, binary, "#!/bin/sh\n").chmod(0o755)
    for file in answer(engine, situation, version)[1].files:
        _write(tmp_path, file.path, file.content)
    (unit,) = tmp_path.rglob("*.service")
    command = ["systemd-analyze", "verify", f"--root={tmp_path}", f"/{unit.relative_to(tmp_path)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


def _write(root: Path, path: str, content: str) -> Path:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)
    return target


@pytest.mark.parametrize(("engine", "situation"), [(e, s) for e, s, v in CASES if v == VERSIONS[e][-1] and e in HELP])
def test_what_is_written_for_the_newest_version_is_in_the_engine_s_own_help(engine: str, situation: str) -> None:
    path = FACTS / HELP[engine]
    if not path.exists():
        pytest.skip(f"the help text of {engine} is not beside the repository")
    text = path.read_text()
    for setting in answer(engine, situation, VERSIONS[engine][-1])[1].settings:
        if setting.flag is None:
            continue
        block = help_of(setting.flag, text)
        assert engine != "llama-server" or setting.env is None or f"(env: {setting.env})" in block, setting
        assert not setting.default or "default" not in block or setting.default in block, setting
