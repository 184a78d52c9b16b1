"""The environment file of a systemd service (`EnvironmentFile=`): variables that must not stand in a unit."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from planner.core.engines import _systemd

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Inside double quotes a backslash protects these four; anything else it precedes keeps it.
_PROTECTED: Final = re.compile(r'(["\\`$])')
_LINE: Final = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_UNPROTECT: Final = re.compile(r'\\(["\\`$])')


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable and the comment above it. Without a value it is left for the operator to fill in, as a comment."""

    name: str
    value: str | None
    why: str


def env_file(head: Sequence[str], variables: Iterable[Variable]) -> str:
    """The file's text. Raises ValueError for a name or value it cannot hold."""
    lines = _systemd.comment(head)
    for variable in variables:
        if not _NAME.fullmatch(variable.name):
            raise ValueError(f"{variable.name!r} is not the name of a variable")
        lines += ["", *_systemd.comment([variable.why])]
        if variable.value is None:
            lines.append(f"#{variable.name}=")
        else:
            protected = _PROTECTED.sub(r"\\\1", _systemd.printable(variable.value))
            lines.append(f'{variable.name}="{protected}"')
    return "\n".join([*lines, ""])


def parse_env_file(text: str) -> dict[str, str]:
    """The variables of a file that `env_file` wrote."""
    found = (_LINE.fullmatch(line) for line in text.split("\n"))
    return {match[1]: _UNPROTECT.sub(r"\1", match[2]) for match in found if match}
