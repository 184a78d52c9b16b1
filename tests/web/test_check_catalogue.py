"""`manage.py check_catalogue` and the operator's own devices at the start."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from planner.core import catalog
from planner.core.errors import InputError
from planner.web import site

ROOT = Path(__file__).resolve().parents[2]
OWN = """
[device.acme-mini]
name = "Acme Mini"
vendor = "other"
class = "consumer"
memory = { nominal_gb = 16 }
bandwidth_gb_s = 500
sources = ["its box"]
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "devices.toml"
    file.write_text(OWN, encoding="utf-8")
    yield file
    catalog.set_additions(None)


def test_the_catalogue_is_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check_catalogue", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert "error" not in {each["severity"] for each in found["findings"]}


def test_what_must_be_mended_is_said_and_is_the_exit_status(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("= 500", "= 9000"), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        call_command("check_catalogue", "--file", str(own), "--errors")
    assert ended.value.code == 1
    assert "error     acme-mini: bandwidth_gb_s = 9000 lies outside" in capsys.readouterr().out


def test_another_list_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gpus.csv").write_text("id,tdp_w\nrtx-4090,500\n", encoding="utf-8")
    call_command("check_catalogue", "--against", str(tmp_path), "--errors")
    assert "drift     rtx-4090: watts is 450 here and 500 in the list" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "content", "match"),
    [("--file", b"[device.x", "--file|no TOML"), ("--file", b"\xff\xfe", "UTF-8"), ("--file", None, "cannot be read")],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, option: str, content: bytes | None, match: str) -> None:
    file = tmp_path / "x.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError, match=match) as refused:
        call_command("check_catalogue", option, str(file))
    assert refused.value.returncode == 2


def test_the_operators_devices_join_at_the_start(own: Path, settings: Any) -> None:
    settings.CATALOGUE_FILE = str(own)
    site.add_own_devices()
    assert catalog.device("acme mini").memory_bytes == 16 * 2**30


def test_a_start_with_a_file_that_cannot_be_used_names_it(own: Path, settings: Any) -> None:
    own.write_text("[device.rtx-4090]\n", encoding="utf-8")
    settings.CATALOGUE_FILE = str(own)
    with pytest.raises(InputError, match=r"devices\.toml: device\.rtx-4090\.name: field required"):
        site.add_own_devices()


@pytest.mark.parametrize(
    ("content", "status", "said"), [(OWN, 0, ""), ("[device.x", 2, "SLOTWISE_CATALOGUE: "), (None, 2, "cannot be read")]
)
def test_the_program_starts_with_them_or_says_why_not(tmp_path: Path, content: str | None, status: int, said: str) -> None:
    file = tmp_path / "devices.toml"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "manage.py", "plan", "Qwen/Qwen3-8B", "--device", "acme-mini", "--json"],
        cwd=ROOT,
        env={**os.environ, "SLOTWISE_CATALOGUE": str(file)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1
