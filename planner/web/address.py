"""The address of a plan or its simulation: every input that was given, in one order, so that equal ones have equal addresses."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from planner.core.simulation.request import SimulationRequest

_ORDER: Final = tuple(SimulationRequest.model_fields)
# What the planner opens with: the worked example.
EXAMPLE: Mapping[str, str] = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "context": "8192", "users": "20", "usage": "chat"}


def given(values: Mapping[str, str]) -> dict[str, str]:
    """The inputs that are not blank, known ones first and in the requests' own order; unknown ones stay, to be refused by name."""
    filled = {name: value for name, value in values.items() if value.strip()}
    known = {name: filled.pop(name) for name in _ORDER if name in filled}
    return known | filled


def query(values: Mapping[str, str], **changes: object) -> str:
    """The query string of `values` with `changes` on top; a change to None or "" takes the input out."""
    changed = {name: "" if value is None else str(value) for name, value in changes.items()}
    # These are as good in a query and leave `Qwen/Qwen3-8B` and `sweep=batch=256,512` readable.
    return urlencode(given({**values, **changed}), safe="/,:=")


def address(path: str, values: Mapping[str, str], **changes: object) -> str:
    text = query(values, **changes)
    return f"{path}?{text}" if text else path
