"""kvfit's own command for one plan, with what it asks the Hub for answered from a file: no network, no waiting. Run by compare_bench.

Arguments: the folder kvfit is in, the file of answers ({"config": …, "files": …}), then kvfit's own. It imports nothing of ours.
"""

import io
import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from kvfit import cli, hf

ANSWERS = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))


class _Answer(io.BytesIO):
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


def _answered(request: hf.Request, **_: object) -> _Answer:
    return _Answer(json.dumps(ANSWERS["files" if "/api/models/" in request.full_url else "config"]).encode())


hf.urlopen = _answered
status = cli.main(sys.argv[3:])
# The kernel's own peak of this program; getrusage has that of whoever started it in it.
print(Path("/proc/self/status").read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0], file=sys.stderr)
sys.exit(status)
