"""Which machines the table is about: everything, or what somebody chose."""

from dataclasses import dataclass
from typing import Final

from planner.core import catalog
from planner.core.errors import InputError

MAX_DEVICES: Final = 200
MAX_COUNTS: Final = 16


@dataclass(frozen=True, slots=True)
class Scope:
    """What to compare; empty means everything that is sensible.

    `devices` are slugs of the catalogue, names of offers in the price book, or `vps`; `counts` how many of each; `have` is the
    machine that stands there already, as (slug, number): what it has need not be bought.
    """

    devices: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    have: tuple[tuple[str, int], ...] = ()

    def owned(self, slug: str) -> int:
        return sum(count for own, count in self.have if own == slug)


EVERYTHING: Final = Scope()


def read_scope(*, devices: str = "", counts: str = "", have: str = "", offers: tuple[str, ...] = ()) -> Scope:
    """The scope in what people type: `rtx-4090, l40s`, `1,2,4`, `2x3090+1x4090`. `offers` are names that the price book adds.

    Raises InputError with the field (`device`, `count` or `have`).
    """
    return Scope(
        devices=_devices(devices, offers),
        counts=_counts(counts),
        have=_have(have) if have.strip() else (),
    )


def _have(text: str) -> tuple[tuple[str, int], ...]:
    try:
        return catalog.parse_machines(text)
    except InputError as refusal:
        raise InputError(str(refusal), field="have") from refusal


def _devices(text: str, offers: tuple[str, ...]) -> tuple[str, ...]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if len(names) > MAX_DEVICES:
        raise InputError(f"More than {MAX_DEVICES} devices are named: leave the list out to compare all.", field="device")
    return tuple(dict.fromkeys(name if name in offers or name == VPS else catalog.device(name).slug for name in names))


def _counts(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if not (part.isascii() and part.isdecimal() and len(part) < 3 and 1 <= int(part) <= catalog.MAX_COUNT):
            raise InputError(
                f"“{part[:20]}” is no number of devices: give such as 1,2,4, each from 1 to {catalog.MAX_COUNT}.", field="count"
            )
    if len(parts) > MAX_COUNTS:
        raise InputError(f"More than {MAX_COUNTS} numbers of devices are given: keep those that matter.", field="count")
    return tuple(sorted({int(part) for part in parts}))


# What the rows of virtual servers without a name are asked for by.
VPS: Final = "vps"
