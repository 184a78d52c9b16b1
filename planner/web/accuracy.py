"""The figures of the page “How right is it?”, as the command `accuracy` wrote them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parent / "accuracy.json"
_HOSTS: Final = ("github.com/", "huggingface.co/")


@dataclass(frozen=True, slots=True)
class Difference:
    """A record that our answer differs from, and the cause that was found; `alike` are the others of that cause.

    `ours` and `off` are None where there is no answer of ours.
    """

    name: str
    alike: int
    source: str
    figure: str
    printed: float
    ours: float | None
    off: float | None
    cause: str

    @property
    def address(self) -> str:
        """Where the record can be read, "" where that is no web page."""
        return f"https://{self.source.split()[0]}" if self.source.startswith(_HOSTS) else ""


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of record: `exact` are equal as printed, `near` within half a percent; `in_range` only for estimates."""

    engine: str
    kind: str
    versions: tuple[str, ...]
    cases: int
    figures: int
    exact: int
    near: int
    in_range: int | None
    worst: tuple[Difference, ...]

    @property
    def title(self) -> str:
        return f"{self.engine}: {self.kind}"

    @property
    def span(self) -> str:
        """The versions from the first to the last."""
        return " to ".join(dict.fromkeys((self.versions[0], self.versions[-1]))) if self.versions else ""


def tables(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Table]:
    """The tables in the order of the file: the larger collections first."""
    return [_table(record) for part in ("truth", "own") for record in found.get(part, ())]


def _table(record: Mapping[str, Any]) -> Table:
    return Table(**{**record, "versions": tuple(record["versions"]), "worst": tuple(Difference(**each) for each in record["worst"])})


@cache
def shown() -> tuple[Table, ...]:
    """What the page shows."""
    return tuple(tables(json.loads(FILE.read_text(encoding="utf-8"))))
