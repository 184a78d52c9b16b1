"""A request to a running engine, and what of its log to show where something differs."""

import re
from typing import Any

from oracle.checks import Run
from oracle.server import Server


def ask(run: Run, server: Server) -> None:
    """One chat completion, as the plan's own verification sends it."""
    body = {"model": run.model, "max_tokens": 4, "messages": [{"role": "user", "content": "Count to twenty."}]}
    try:
        answer = server.call("/v1/chat/completions", body)
    except OSError as problem:
        answer = str(problem)
    run.expect("answers", "a completion", passed=isinstance(answer, dict) and bool(answer.get("choices")), detail=str(answer)[:200])


def told(server: Server, path: str) -> Any:
    """What a running engine answers under `path`; None where it has gone."""
    try:
        return server.call(path)
    except OSError:
        return None


def last_words(lines: list[str]) -> str:
    errors = [line for line in lines if re.search(r" E |error|failed|assert", line, re.IGNORECASE)]
    return " … ".join((errors or lines)[-2:])[-300:]


def nearest(lines: list[str], wanted: str) -> str:
    start = re.split(r"[\d=]", wanted)[0].strip()
    near = [line[line.find(start):] for line in lines if start in line]  # fmt: skip
    return " | ".join(near) or "nothing like it"
