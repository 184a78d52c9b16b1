"""The planner's inputs as they come to be saved: from a query string, a hidden field, or another program."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from planner.accounts.keys import PublicId
from planner.core.errors import InputError
from planner.core.request import FIELDS
from planner.web.address import EXAMPLE, given

MAX_QUERY: Final = 65_536
# `saved=<plan>.<version>` in the planner's address: what one is changing there.
SAVED: Final = "saved"
_SAVED: Final = re.compile(rf"({PublicId.regex})\.([0-9]{{1,9}})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Changing:
    """The saved plan, and the version of it, that somebody took to the planner."""

    plan: str
    version: int


def changing(text: str) -> Changing | None:
    found = _SAVED.fullmatch(text)
    return Changing(found[1], int(found[2])) if found else None


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
