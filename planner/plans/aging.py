"""A saved plan some time later: worked out again, and held against what it said when it was saved."""

from dataclasses import dataclass
from typing import Final

from planner.answer import Answer
from planner.plans.models import Version
from planner.plans.record import VERDICTS, Difference, differences, record
from planner.web.asking import ask

# What a plan is made with, rather than what it says: named apart from the facts.
_MADE_WITH: Final = (("Slotwise", "application"), ("catalogue", "catalog"))


@dataclass(frozen=True, slots=True)
class Aged:
    """`state` is the verdict now, `sentence` says whether the one that was saved still holds, `changed` which facts did not stay.

    `answer` is the plan of today, None where there is none any more.
    """

    state: str
    sentence: str
    changed: tuple[Difference, ...] = ()
    made_with: tuple[Difference, ...] = ()
    answer: Answer | None = None


def look_again(version: Version) -> Aged:
    outcome = ask(version.inputs)
    if outcome.answer is None:
        why = next(iter(outcome.errors.values()))
        return Aged("note-state", f"It could not be worked out again: {why} What was saved stands below.")
    now = record(outcome.answer)
    changed = tuple(differences(version.result, now.result))
    made_with = tuple(
        Difference(name, getattr(version, key), getattr(now, key)) for name, key in _MADE_WITH if getattr(version, key) != getattr(now, key)
    )
    was, is_now = version.result["fit"]["verdict"], now.result["fit"]["verdict"]
    return Aged(is_now, _sentence(was, is_now, len(changed)), changed, made_with, outcome.answer)


def _sentence(was: str, is_now: str, changed: int) -> str:
    if was != is_now:
        return f"The verdict no longer holds: it was “{VERDICTS.get(was, was)}” and is “{VERDICTS[is_now]}” today."
    if changed:
        return f"The verdict still holds. {changed} {'fact has' if changed == 1 else 'facts have'} changed since."
    return "The verdict still holds: worked out again just now, with the same figures."
