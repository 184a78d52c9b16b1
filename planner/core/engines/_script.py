"""POSIX shell scripts: the plain start of an engine, each option below its reason, for a terminal or another supervisor."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from planner.core.engines import _shell, _systemd
from planner.core.engines._systemd import Argument

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def words(texts: Sequence[str]) -> str:
    """Quoted words. Raises ValueError for one that no line can hold."""
    return " ".join(_shell.quote(_systemd.printable(text)) for text in texts)


def script(head: Sequence[str], lines: Sequence[str]) -> str:
    """A script's text: what it is for, then its lines."""
    return "\n".join(["#!/bin/sh", *_systemd.comment(head), "", *lines, ""])


def start_script(
    head: Sequence[str], program: Sequence[str], arguments: Sequence[Argument], variables: Mapping[str, tuple[str, str]]
) -> str:
    """Starts the engine in the foreground. `variables` are values with their reasons.

    The command line grows by one option per line, because a comment cannot stand inside a continued line.
    """
    return script(head, list(_start(program, arguments, variables)))


def _start(program: Sequence[str], arguments: Sequence[Argument], variables: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    for name, (value, why) in variables.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a variable")
        yield from _systemd.comment([why]) if why else []
        yield f"export {name}={words([value])}"
    yield f"set -- {words(program)}"
    for argument in arguments:
        yield from _systemd.comment([argument.why]) if argument.why else []
        yield f'set -- "$@" {words(argument.words)}'
    yield 'exec "$@"'
