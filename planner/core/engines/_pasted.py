"""What people paste, as it was read: the form, the engine it is for, and every setting with the place it stands in."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from planner.core.engines._given import options
from planner.core.engines._tables import flag_tables

Form = Literal["unit", "drop_in", "exports", "variables", "compose", "docker", "config", "command"]

# More than any command line has; the rest of a longer one is not looked at.
MAX_WORDS: Final = 2_000

ASSIGNMENT: Final = re.compile(r"(?:export\s+|set\s+-gx\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# How each engine is started, in a command line or as an image.
_PROGRAMS: Final = {
    "llama-server": re.compile(r"(?:^|/)llama-server$|(?:^|/)llama\.cpp:"),
    "vllm": re.compile(r"(?:^|/)vllm$|^vllm\.entrypoints\.|(?:^|/)vllm-openai(?:-\w+)?(?::|$)"),
    "ollama": re.compile(r"(?:^|/)ollama$|(?:^|/)ollama/ollama(?::|$)"),
}
_PREFIXES: Final = {"LLAMA_": "llama-server", "VLLM_": "vllm", "OLLAMA_": "ollama"}
_FALSE: Final = frozenset({"0", "false", "off", "no", "disabled"})


@dataclass(frozen=True, slots=True)
class Given:
    """One setting as it was pasted. `spelling` is the flag or variable, `where` the place, `line` its line (0: not known, or there is only one)."""

    spelling: str
    value: str | None
    where: str
    line: int = 0

    @property
    def is_variable(self) -> bool:
        return not self.spelling.startswith("-")

    @property
    def shown(self) -> str:
        """As it would be typed."""
        if self.is_variable:
            return f"{self.spelling}={self.value or ''}"
        return self.spelling if self.value is None else f"{self.spelling} {self.value}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a unit. `section` is "" above the first."""

    section: str
    key: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Pasted:
    """`program` are the words that start the engine, `container` the options that start its container."""

    form: Form
    engine: str
    given: tuple[Given, ...]
    entries: tuple[Entry, ...] = ()
    program: tuple[str, ...] = ()
    container: tuple[str, ...] = ()
    image: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


def split(text: str) -> list[str]:
    """Words as a shell or systemd would take them; a quote that is never closed counts as a letter."""
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return text.split()


def engine_of(words: Sequence[str]) -> tuple[str, int] | None:
    """The engine that these words start, and where its program stands."""
    for number, word in enumerate(words):
        for engine, program in _PROGRAMS.items():
            if program.search(word):
                return engine, number
    return None


def engine_of_settings(given: Sequence[Given]) -> str:
    """The engine whose variables or options these are, "" where none is."""
    for each in given:
        for prefix, engine in _PREFIXES.items():
            if each.spelling.startswith(prefix):
                return engine
    scores = {
        name: sum(any(each.spelling in flag.spellings for flag in table.flags) for each in given) for name, table in flag_tables().items()
    }
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] and list(scores.values()).count(scores[best]) == 1 else ""


def program_end(engine: str, words: Sequence[str], start: int) -> int:
    """Where the engine's own options begin: behind its program and `serve`."""
    end = start + 1
    return end + 1 if engine in {"vllm", "ollama"} and words[end : end + 1] == ["serve"] else end


def program_options(engine: str, words: Sequence[str], where: str, line: int) -> Iterator[Given]:
    table, words = flag_tables()[engine], words[:MAX_WORDS]
    for spelling, value in options(words, table.at(table.newest)):
        yield Given(spelling, value, where, line)


def positional(engine: str, words: Sequence[str]) -> tuple[str, ...]:
    """The model that `vllm serve` takes without a flag."""
    return (words[0],) if engine == "vllm" and words and not words[0].startswith("-") else ()


def assignments(words: Sequence[str], where: str, line: int) -> Iterator[Given]:
    for word in words:
        match = ASSIGNMENT.fullmatch(word)
        if match:
            yield Given(match[1], match[2], where, line)


def is_false(value: str | None) -> bool:
    return value is not None and value.strip().lower() in _FALSE
