"""docs/files.md says what is handed over, and the score that systemd gives."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from planner.core.engines import engines
from tests.core.test_hand_over import handed

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "files.md").read_text()


@pytest.mark.parametrize("name", sorted(engines()))
def test_every_file_that_is_handed_over_is_in_the_table(name: str) -> None:
    listed = {row.split("`")[1].replace("NAME", name) for row in TEXT.split("\n") if row.startswith("| `/")}
    assert {file.path for file in handed(name).files} <= listed


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: apt-get install systemd")
@pytest.mark.parametrize("name", sorted(engines()))
def test_the_exposure_is_what_systemd_says(name: str, tmp_path: Path) -> None:
    unit = tmp_path / f"{name}.service"
    unit.write_text(next(file.content for file in handed(name).files if file.path.endswith(".service")))
    said = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True, check=False
    ).stdout
    exposure = re.search(r"exposure level for \S+: ([\d.]+)", said)
    written = re.search(rf"\| `{name}.service` \| ([\d.]+) \|", TEXT)
    assert exposure
    assert written
    # Versions of systemd weigh some points differently.
    assert float(exposure[1]) == pytest.approx(float(written[1]), abs=0.4)
