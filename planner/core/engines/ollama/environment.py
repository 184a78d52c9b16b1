"""Ollama's variables in a command line, read for the values that decide memory."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.core.errors import InputError
from planner.core.units import MAX_TOKENS

_ASSIGNMENT: Final = re.compile(r"(?:Environment=)?\"?(OLLAMA_[A-Z_]+)=([^\"]*)\"?", re.ASCII)
_TRUE: Final = frozenset(("1", "t", "true", "on", "yes"))


@dataclass(frozen=True, slots=True)
class Environment:
    """The values given; None where Ollama's own default holds."""

    num_parallel: int | None = None
    context_length: int | None = None
    cache_type: str | None = None
    flash_attention: bool | None = None

    @property
    def shapes_context(self) -> bool:
        return self.num_parallel is not None or self.context_length is not None


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or not 0 <= int(text) <= MAX_TOKENS:
        raise InputError(f"{name}={text[:40]}: Ollama wants a whole number from 0 to {MAX_TOKENS:,} here.", field="engine_args")
    return int(text)


@lru_cache(maxsize=256)
def parse(words: tuple[str, ...]) -> Environment:
    """The variables among `words` (`NAME=value`); others decide no memory. A zero counts as not given, as in Ollama.

    Raises InputError for a number that is none. Source: Ollama fb30760 envconfig/config.go.
    """
    found = {match[1]: match[2].strip() for word in words[:1_000] if (match := _ASSIGNMENT.fullmatch(word.strip()))}
    flash = found.get("OLLAMA_FLASH_ATTENTION")
    return Environment(
        num_parallel=_whole("OLLAMA_NUM_PARALLEL", found.get("OLLAMA_NUM_PARALLEL") or "0") or None,
        context_length=_whole("OLLAMA_CONTEXT_LENGTH", found.get("OLLAMA_CONTEXT_LENGTH") or "0") or None,
        cache_type=found.get("OLLAMA_KV_CACHE_TYPE") or None,
        flash_attention=None if not flash else flash.lower() in _TRUE,
    )
