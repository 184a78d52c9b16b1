"""Reads what people paste: a unit, a drop-in, exports, an environment file, Compose, `docker run`, a config file or a command line.

Which it is, and for which engine, is found out from the text. It is read leniently: a mistake in it is what the reader is after.
"""

import re
import shlex
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from planner.core.engines._pasted import (
    ASSIGNMENT,
    Form,
    Given,
    Pasted,
    assignments,
    engine_of,
    engine_of_settings,
    positional,
    program_end,
    program_options,
)
from planner.core.engines._pasted_container import (
    COMPOSE_LINE,
    KEY_LINE,
    container_start,
    read_compose,
    read_config,
    read_docker,
)
from planner.core.engines._pasted_unit import UNIT_LINE, read_unit
from planner.core.engines._tables import flag_tables
from planner.core.errors import InputError

MAX_BYTES: Final = 65_536
# A word of a unit may be twice as long; what is quoted from here stays within that.
MAX_LINE: Final = 8_192
# No configuration has as many; of a longer list the first are looked at.
MAX_OPTIONS: Final = 300

_EXPORT: Final = re.compile(r"\s*(?:export|setenv)\s+[A-Za-z_]", re.ASCII)
_PROMPT: Final = re.compile(r"^[ \t]*[$>][ \t]+(?=\S)")


def read_pasted(text: str) -> Pasted:
    """What the text says. Raises InputError (field "text") for one that is too long, holds nothing, or names no engine known here."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise InputError(f"The text is longer than {MAX_BYTES // 1024} KiB: paste the unit, the drop-in or the command only.", field="text")
    text = text.replace("\r\n", "\n").replace("\u00a0", " ")
    if not text.strip():
        raise InputError("There is nothing to review: paste a unit, a drop-in, a Compose file, exports or a command line.", field="text")
    _check_characters(text)
    read = _read(text)
    if not read.engine:
        raise InputError(
            "The text names no engine known here: paste what starts llama-server, vLLM or Ollama, or its variables.", field="text"
        )
    given = read.given[:MAX_OPTIONS]
    if "\n" not in text.strip():
        given = tuple(replace(each, line=0) for each in given)
    return replace(read, given=given)


def _check_characters(text: str) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE:
            raise InputError(f"Line {number} of the text is longer than {MAX_LINE:,} characters.", field="text")
        if any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in line.replace("\t", " ")):
            raise InputError(f"Line {number} of the text holds a control character or a line separator: no file can hold it.", field="text")


def _read(text: str) -> Pasted:
    if UNIT_LINE.search(text):
        return read_unit(text)
    lines = _joined(text)
    first = _words(lines[0][1]) if lines else []
    start = container_start(first)
    if start is not None:
        return read_docker(first[start:])
    if COMPOSE_LINE.search(text):
        return read_compose(text)
    if _commands(lines):
        return _command(lines)
    if any(_EXPORT.match(line) for _, line in lines):
        return _variables(lines, "exports", "a shell's export")
    if lines and all(ASSIGNMENT.fullmatch(line.strip()) for _, line in lines):
        return _variables(lines, "variables", "an environment file")
    if all(KEY_LINE.fullmatch(line) for line in text.split("\n")):
        return read_config(text)
    return _command(lines)


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    return _without_sudo(words)


def _without_sudo(words: list[str]) -> list[str]:
    if words[:1] != ["sudo"]:
        return words
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in {"-u", "-g", "--user", "--group"} else rest[1:]
    return rest


def _joined(text: str) -> list[tuple[int, str]]:
    """(line number, text) of every line with something in it; continued lines are one, a prompt is left out."""
    found, pending, began = [], "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw if pending else _PROMPT.sub("", raw)
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        began = began or number
        if line.rstrip().endswith("\\"):
            pending += line.rstrip()[:-1] + " "
            continue
        found.append((began, pending + line))
        pending, began = "", 0
    return [*found, (began, pending)] if pending.strip() else found


def _program(words: Sequence[str]) -> Sequence[str]:
    """The words that start the engine, without the variables before them."""
    return [word for word in words if not ASSIGNMENT.fullmatch(word)]


def _variables(lines: Sequence[tuple[int, str]], form: Form, where: str) -> Pasted:
    given = []
    for number, line in lines:
        words = [word for word in _words(line.replace("setenv ", "export ", 1)) if word != "export"]
        given += list(assignments(words, where, number))
    return Pasted(form, engine_of_settings(given), tuple(given))


def _commands(lines: Sequence[tuple[int, str]]) -> bool:
    return any(engine_of(_words(line)) for _, line in lines)


def _command(lines: Sequence[tuple[int, str]]) -> Pasted:
    """A command line; exports before it reach it."""
    given: list[Given] = []
    for number, line in lines:
        words = [word for word in _words(line) if word != "export"]
        found = engine_of(words)
        if found is None:
            given += assignments(words, "the command line", number)
            continue
        engine, start = found
        end = program_end(engine, words, start)
        given += list(assignments(words[:start], "the command line", number))
        given += list(program_options(engine, words[end:], "the command line", number))
        return Pasted("command", engine, tuple(given), program=(*_program(words[:end]), *positional(engine, words[end:])))
    words = [word for _, line in lines for word in _words(line)]
    given = given or [each for name in flag_tables() for each in program_options(name, words, "the command line", 1)]
    engine = engine_of_settings(given)
    own = tuple(program_options(engine, words, "the command line", 1)) if engine else ()
    return Pasted("command", engine, own)
