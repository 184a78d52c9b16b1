"""The note as the JSON object of a script and as lines for a terminal."""

import textwrap
from collections.abc import Iterator
from typing import Any, Final

from planner.core.purchase_note.tree import PurchaseNote, Section, Sentence, Table

_WIDTH: Final = 120
# Grades that a reader must see beside a sentence; the others are what one expects of a plan.
_MARKED: Final = frozenset({"estimated", "judged"})


def note_json(note: PurchaseNote) -> dict[str, Any]:
    return {
        "schema": 1,
        "title": note.title,
        "summary": note.summary,
        "currency": note.currency,
        "catalogue": note.catalogue,
        "changes": dict(note.changes),
        "sections": [_section(section) for section in note.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    return {
        "key": section.key,
        "title": section.title,
        "sentences": [{"text": each.text, "grade": each.grade or None, "source": each.source or None} for each in section.sentences],
        "tables": [
            {"title": table.title, "columns": list(table.columns), "rows": [list(row) for row in table.rows], "chosen": table.chosen}
            for table in section.tables
        ],
    }


def note_text(note: PurchaseNote) -> str:
    return "\n".join(_lines(note)) + "\n"


def _lines(note: PurchaseNote) -> Iterator[str]:
    yield note.title
    yield "=" * len(note.title)
    yield from textwrap.wrap(note.summary, _WIDTH)
    for section in note.sections:
        yield ""
        yield section.title
        yield "-" * len(section.title)
        for sentence in section.sentences:
            yield from textwrap.wrap(_said(sentence), _WIDTH, subsequent_indent="  ")
        for table in section.tables:
            yield from _table(table)
    yield ""
    yield f"Prices in {note.currency}; catalogue {note.catalogue}."


def _said(sentence: Sentence) -> str:
    mark = f" [{sentence.grade}]" if sentence.grade in _MARKED else ""
    return f"{sentence.text}{mark}"


def _table(table: Table) -> Iterator[str]:
    """One block a row: its cells are sentences too often for columns."""
    yield ""
    yield f"{table.title}:"
    for number, row in enumerate(table.rows):
        first, *rest = row
        yield f"  {first}{'  (chosen)' if number == table.chosen else ''}"
        for name, cell in zip(table.columns[1:], rest, strict=True):
            if cell:
                yield from textwrap.wrap(
                    f"{name}: {cell}", _WIDTH - 6, initial_indent="      ", subsequent_indent="        ", break_long_words=False
                )
