"""The note as a tree of sections with sentences and tables: a page, a print-out, a terminal and JSON only show it."""

from dataclasses import dataclass
from typing import Any, Literal

# How sure a sentence or a row is: as figures of a plan are, what was entered by the user, or our own opinion.
Sure = Literal["exact", "computed", "measured", "estimated", "entered", "judged", ""]


@dataclass(frozen=True, slots=True)
class Sentence:
    """`grade` "" is a plain statement. `source` says where a figure comes from, where it has one."""

    text: str
    grade: Sure = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells are ready to show. `code` names the columns whose cells are commands or printed lines; `chosen` the row of the choice."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    code: tuple[str, ...] = ()
    chosen: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """`key` is an anchor and a name for scripts."""

    key: str
    title: str
    sentences: tuple[Sentence, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class PurchaseNote:
    """`summary` is the answer in one paragraph. `changes` make the request of the choice, so that its plan is one link away."""

    title: str
    summary: str
    sections: tuple[Section, ...]
    changes: tuple[tuple[str, Any], ...]
    currency: str
    catalogue: str

    def section(self, key: str) -> Section:
        """Raises KeyError for a key that no section has."""
        for found in self.sections:
            if found.key == key:
                return found
        raise KeyError(key)
