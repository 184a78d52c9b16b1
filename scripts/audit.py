"""Known vulnerabilities of what is installed: `python -m scripts.audit`. Says so where the advisories cannot be asked, and fails for none then."""

import json
import subprocess
import sys
from typing import Any

SECONDS = 120
# Python's own tools for making the environment; nothing of Slotwise imports them.
NOT_OURS = frozenset({"pip", "setuptools", "wheel"})
# An advisory that does not concern us: its id and why.
ACCEPTED: dict[str, str] = {}


class NotReachableError(Exception):
    """The advisories could not be asked; the sentence says why."""


def advisories() -> list[dict[str, Any]]:
    """What pip-audit says of every installed package. Raises NotReachableError."""
    run = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--timeout", "10"]
    try:
        said = subprocess.run(run, capture_output=True, text=True, check=False, timeout=SECONDS)
        found = json.loads(said.stdout)["dependencies"]
    except subprocess.TimeoutExpired as error:
        raise NotReachableError(f"no answer within {SECONDS} s") from error
    except (ValueError, KeyError) as error:
        raise NotReachableError(said.stderr.strip().splitlines()[-1][:200] if said.stderr.strip() else "no answer") from error
    return [each for each in found if each["name"] not in NOT_OURS]


def vulnerable(found: list[dict[str, Any]]) -> list[str]:
    """One line for each advisory that is not accepted. Raises NotReachableError where nothing is known of any package."""
    if all("skip_reason" in each for each in found):
        raise NotReachableError("it knows none of these packages, so it is a mirror without advisories")
    return [
        f"{each['name']} {each['version']}: {advisory['id']}, mended in {', '.join(advisory['fix_versions']) or 'no release yet'}"
        for each in found
        for advisory in each.get("vulns", [])
        if advisory["id"] not in ACCEPTED
    ]


def main() -> int:
    try:
        found = advisories()
        lines = vulnerable(found)
    except NotReachableError as error:
        sys.stdout.write(f"NOT audited: the advisory service cannot be asked ({error}).\n")
        return 0
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.write(f"{len(found)} packages audited, {len(lines)} with a known vulnerability.\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
