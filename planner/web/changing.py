"""`saved=<plan>.<version>` in the planner's address: the saved plan that somebody is changing there. It is no input, and goes along."""

import re
from dataclasses import dataclass
from typing import Final

SAVED: Final = "saved"
_SAVED: Final = re.compile(r"([A-Za-z0-9_-]{22})\.([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Changing:
    """`plan` is the saved plan's public id, `version` the number of the one that was opened."""

    plan: str
    version: int

    def __str__(self) -> str:
        return f"{self.plan}.{self.version}"


def changing(text: str) -> Changing | None:
    """None for what is not one: whether there is such a plan, and whose, is asked when it is saved."""
    found = _SAVED.fullmatch(text)
    return Changing(found[1], int(found[2])) if found else None
