"""`python -m oracle`: installs the engines, tries them, prints a line per run, and ends with 1 where anything differed."""

import argparse
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from oracle import checks, install, llama_server, vllm_serve
from oracle.checks import Run

ROOT = Path(__file__).resolve().parent.parent / "build/oracle"


def _runs(asked: argparse.Namespace) -> Iterator[Run]:
    if "llama-server" in asked.engine:
        build = install.llama_server(ROOT)
        folder = ROOT / "llama-server"
        folder.mkdir(parents=True, exist_ok=True)
        yield from llama_server.runs(build, folder, asked.model or (() if asked.all else llama_server.MODELS))
    if "vllm" in asked.engine:
        folder = ROOT / "vllm"
        folder.mkdir(parents=True, exist_ok=True)
        yield from vllm_serve.runs(vllm_serve.Environment(install.vllm(ROOT), folder), asked.model)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m oracle", description=__doc__)
    parser.add_argument("--engine", nargs="+", choices=("llama-server", "vllm"), default=("llama-server", "vllm"))
    parser.add_argument("--model", nargs="+", default=(), help="only these of the tiny models, such as gemma3-dense")
    parser.add_argument("--all", action="store_true", help="every architecture that llama.cpp can make a tiny model of")
    # Without this, being told to end would leave the engine of the moment running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    runs = []
    for run in _runs(parser.parse_args()):
        runs.append(run)
        print(
            f"{run.engine} {run.model}, {run.arguments}: {len(run.failures)} of {len(run.checks)} checks failed",
            file=sys.stderr,
            flush=True,
        )
    print(*checks.table(runs), "", checks.summary(runs), sep="\n")
    return bool(any(run.failures for run in runs))


if __name__ == "__main__":
    sys.exit(main())
