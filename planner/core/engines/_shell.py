"""POSIX shell syntax: command lines that mean exactly the arguments they were made from."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What still means something between double quotes, to an interactive bash as well.
_SPECIAL: Final = re.compile(r'["$`\\!]')


def quote(text: str) -> str:
    """One shell word, in double quotes where that saves an apostrophe from `'"'"'`."""
    return f'"{text}"' if "'" in text and not _SPECIAL.search(text) else shlex.quote(text)


def command(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """A command line, with variables set for this command only. Raises ValueError for a name that is no variable's."""
    variables = []
    for name, value in (environment or {}).items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a variable")
        variables.append(f"{name}={shlex.quote(value)}")
    return " ".join([*variables, shlex.join(arguments)])
