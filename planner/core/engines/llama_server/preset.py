"""The INI file of `llama-server --models-preset`: one section for each model that a router offers.

Source: llama.cpp b11434 common/preset.cpp, the grammar of parse_ini_from_file (keys are long flags or variables; a value ends at
`;`, `#` or the line's end; `[*]` is for all models) and tools/server/server-models.cpp: the router sets host, port and alias itself.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from planner.core.engines import _arguments, _systemd
from planner.core.engines._place import Place
from planner.core.engines.contract import File, Setting

_ROUTERS_OWN: Final = {"--host", "--port", "--alias", "--api-key", "--metrics", "--timeout"}
# What the grammar would read as a comment, as another line or as the end of a section's name.
_UNSAFE: Final = re.compile(r"[;#\x00-\x1f\x7f\u0085\u2028\u2029]|^\s|\s$")


def section(name: str, entries: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """The lines of one model: (key, value, reason) each. Raises ValueError for text that the file cannot hold."""
    if _UNSAFE.search(name) or "]" in name or not name:
        raise ValueError("a section's name holds no brackets, comment signs or control characters")
    yield f"[{name}]"
    for key, value, why in entries:
        if _UNSAFE.search(value):
            raise ValueError(f"the value of {key} holds a comment sign, a control character or a blank at an end")
        yield from _systemd.comment([why])
        yield f"{key} = {value}"


def preset_file(place: Place, settings: Sequence[Setting], *, head: Sequence[str], path: str) -> File | None:
    """The file with the plan's model as its first section; None for a path that such a file cannot hold."""
    how = [
        "For several models behind one address, with a section for each. Start it with",
        f"llama-server --models-preset {path} --models-max 1",
        "Every model it loads has a server of its own, with its weights and its cache: the memory of this plan is for one at a time.",
    ]
    try:
        lines = list(section(place.name, list(_entries(settings))))
    except ValueError:
        return None
    text = "\n".join([*_systemd.comment([*head, *how]), "", *lines, ""])
    return File(path, text, "A router's list of models, with this one as its first. Optional.")


def _entries(settings: Sequence[Setting]) -> Iterator[tuple[str, str, str]]:
    for setting in settings:
        if setting.flag not in _ROUTERS_OWN and (setting.env or setting.flag):
            key = setting.env or (setting.flag or "").lstrip("-")
            yield key, _arguments.variable_value(setting), _arguments.reason(setting)
