"""A pasted unit or drop-in of systemd, read as leniently as people write them."""

import re
from collections.abc import Iterator
from typing import Final

from planner.core.engines._pasted import (
    Entry,
    Form,
    Given,
    Pasted,
    assignments,
    engine_of,
    engine_of_settings,
    positional,
    program_end,
    program_options,
    split,
)
from planner.core.engines._pasted_container import container_start, read_docker

_SECTION: Final = re.compile(r"\[([A-Za-z]+)\]")
_DIRECTIVE: Final = re.compile(r"([A-Za-z][A-Za-z-]*)\s*=\s*(.*)", re.DOTALL)
UNIT_LINE: Final = re.compile(r"^[ \t]*(?:\[(?:Unit|Service|Install)\]|Environment(?:File)?[ \t]*=|Exec\w+[ \t]*=)", re.MULTILINE)


def read_unit(text: str) -> Pasted:
    entries = tuple(_entries(text))
    given: list[Given] = []
    engine = ""
    program: tuple[str, ...] = ()
    container: tuple[str, ...] = ()
    for entry in entries:
        words = [word.replace("%%", "%") for word in split(entry.value)]
        if entry.key == "ExecStart":
            words = [word.replace("$$", "$") for word in words]
        if entry.key == "Environment":
            given += assignments(words, "Environment=", entry.line)
        elif entry.key == "ExecStart" and (start := container_start(words)) is not None:
            inside = read_docker(words[start:])
            engine, program, container = inside.engine, inside.program, inside.container
            given += inside.given
        elif entry.key == "ExecStart" and (found := engine_of(words)):
            engine, start = found
            end = program_end(engine, words, start)
            program = (*words[:end], *positional(engine, words[end:]))
            given = [each for each in given if each.where != "ExecStart="] + list(
                program_options(engine, words[end:], "ExecStart=", entry.line)
            )
    named = {entry.section for entry in entries if entry.section}
    form: Form = "drop_in" if named <= {"Service"} else "unit"
    return Pasted(form, engine or engine_of_settings(given), tuple(given), entries, program, container)


def _entries(text: str) -> Iterator[Entry]:
    """Every assignment; systemd leaves out comments between continued lines."""
    section, pending, began = "", "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        began = began or number
        joined = f"{pending} {line}".strip()
        if joined.endswith("\\"):
            pending = joined[:-1].rstrip()
            continue
        match = _DIRECTIVE.fullmatch(joined)
        head = _SECTION.fullmatch(joined)
        if head:
            section = head[1]
        elif match:
            yield Entry(section, match[1], match[2].strip(), began)
        pending, began = "", 0
