"""The form of the diagnosis: what may be sent, what was typed, and how to get a log from each engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings

from planner.web.carried import Carried
from planner.web.diagnosing.uploaded import BESIDE, LABELS, NUMBERS, UNPACKED


@dataclass(frozen=True, slots=True)
class Source:
    """Where a log comes from: the command that writes it to a file, and what to know about it."""

    id: str
    title: str
    command: str
    note: str


SOURCES: Final = (
    Source(
        "journald",
        "systemd",
        "journalctl --unit llama-server --since=-1d --output=short-iso-precise --no-pager | gzip > server.log.gz",
        "The same for vllm and ollama. The journal’s own times are read too.",
    ),
    Source("docker", "Docker", "docker logs --since 24h --timestamps llama-server 2>&1 | gzip > server.log.gz", "Or docker compose logs --timestamps."),
    Source(
        "llama-server",
        "llama-server",
        "LLAMA_ARG_LOG_VERBOSITY=4 llama-server --log-file server.log …",
        "Its default says enough for most findings; 4 adds what was found in the cache. Builds before b9247 need --log-prefix --log-timestamps "
        "to say when.",
    ),
    Source(
        "vllm",
        "vLLM",
        "curl -s http://127.0.0.1:8000/metrics > metrics.txt",
        "Its log has a line every ten seconds and none for a request (leave --disable-log-stats out). Times to first token, gaps and preemptions "
        "are only in its metrics: give both.",
    ),
    Source("ollama", "Ollama", "journalctl --unit ollama --since=-1d --no-pager > server.log", "On a Mac ~/.ollama/logs/server.log."),
    Source("vmstat", "The machine meanwhile", "vmstat -t 1 3600 > vmstat.txt", "An hour of it says whether the machine swapped."),
)  # fmt: skip


def context(plan: Carried, typed: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The context of diagnose/_form.html: everything as it was typed. Files cannot be given back to a browser."""
    typed, errors = typed or {}, errors or {}
    return {
        "nav": "diagnose",
        "plan": plan,
        "text": typed.get("text", ""),
        "numbers": [(each, typed.get(each.name, ""), errors.get(each.name, "")) for each in NUMBERS],
        "beside": [(each, errors.get(each.name, "")) for each in BESIDE],
        "beside_open": any(typed.get(each.name) for each in NUMBERS) or any(name not in {"logs", "text"} for name in errors),
        "logs_error": errors.get("logs", ""),
        "problems": [(name, LABELS[name], sentence) for name, sentence in errors.items()],
        "sources": SOURCES,
        "most": settings.DIAGNOSE_MAX_BYTES,
        "unpacked": UNPACKED * settings.DIAGNOSE_MAX_BYTES,
    }
