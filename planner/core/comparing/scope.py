"""Which machines, engines and formats the table is about: everything, or what somebody chose."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scope:
    """What to compare; empty means everything that is sensible.

    `devices` are catalogue slugs, `have` the machine that stands there already as (slug, number).
    """

    devices: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    engines: tuple[str, ...] = ()
    have: tuple[tuple[str, int], ...] = ()


EVERYTHING: Final = Scope()
