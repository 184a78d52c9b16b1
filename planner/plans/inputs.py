"""The planner's inputs as they come to be saved: from a query string, a hidden field, or another program."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from planner.core.errors import InputError
from planner.core.request import FIELDS
from planner.web.address import EXAMPLE, given

MAX_QUERY: Final = 65_536


def inputs_of(values: Mapping[str, str]) -> dict[str, str]:
    """The inputs among `values`, the worked example where there are none."""
    return given({name: value for name, value in values.items() if name in FIELDS}) or dict(EXAMPLE)


def read_inputs(text: str) -> dict[str, str]:
    """The inputs in a query string. Raises InputError for one that is none or is too long."""
    if len(text) > MAX_QUERY:
        raise InputError("These inputs are longer than any plan's.")
    try:
        return inputs_of(dict(parse_qsl(text, max_num_fields=len(FIELDS))))
    except ValueError:
        raise InputError("These inputs are not ones that the planner made: go back to it and save from there.") from None
