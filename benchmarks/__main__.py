"""`make bench`: every module here whose name ends in `_bench`, each in a process of its own, so that its peak memory is its own.

Such a module has `figures()`, which yields lines to print. Ratios are measured within one run: machines differ, ratios less.
`python -m benchmarks simulation` runs one.
"""

import importlib
import pkgutil
import resource
import subprocess
import sys
from pathlib import Path

SUFFIX = "_bench"


def names() -> list[str]:
    """Of all benchmarks, without the suffix."""
    modules = (entry.name for entry in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return [name.removesuffix(SUFFIX) for name in modules if name.endswith(SUFFIX)]


def run(name: str) -> None:
    """One benchmark, here. The peak is the process's resident set: interpreter and imports included."""
    print(name)
    for line in importlib.import_module(f"benchmarks.{name}{SUFFIX}").figures():
        print(f"  {line}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory {peak:,.0f} MiB")


def main(wanted: list[str]) -> int:
    unknown = set(wanted) - set(names())
    if unknown:
        print(f"No benchmark is called {', '.join(sorted(unknown))}: there are {', '.join(names())}.", file=sys.stderr)
        return 2
    if len(wanted) == 1:
        run(wanted[0])
        return 0
    results = [subprocess.run([sys.executable, "-m", "benchmarks", name], check=False) for name in wanted or names()]  # noqa: S603 - ourselves
    return max(result.returncode for result in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
