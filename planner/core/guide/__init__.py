"""The symptom guide: from what people see to its cause, the commands that confirm it and the setting to change."""

from collections.abc import Iterator
from typing import Final

from planner.core.guide import length, questions, speed, waiting
from planner.core.guide.symptom import Advice, Change, Check, Evidence, Group, Symptom

__all__ = ["GROUPS", "SYMPTOMS", "Advice", "Change", "Check", "Evidence", "Group", "Symptom", "search"]

GROUPS: Final = (
    Group("People wait", waiting.SYMPTOMS),
    Group("Text comes slowly", speed.SYMPTOMS),
    Group("Memory and length", length.SYMPTOMS),
    Group("Settings and hardware", questions.SYMPTOMS),
)
SYMPTOMS: Final = {symptom.slug: symptom for group in GROUPS for symptom in group.symptoms}


def search(text: str) -> Iterator[Group]:
    """The groups with those of their symptoms in which every word of `text` occurs; all of them where nothing is asked for."""
    for group in GROUPS:
        found = tuple(symptom for symptom in group.symptoms if symptom.matches(text))
        if found:
            yield Group(group.title, found)
