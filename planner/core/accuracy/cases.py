"""Public reports whose figures follow from architecture and flags: each must be a record of ours, or have a written cause."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from planner.core.accuracy.comparison import Comparison, Figure

STRONG: Final = "architecture + flags"
_SAME: Final = 2e-3


def checks(case: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(name, check) of a case whose figure a planner can compute from the model and its settings alone."""
    predict = case.get("predict") or {}
    found = {"": predict} if "formula" in predict else predict
    yield from ((name, check) for name, check in found.items() if check.get("basis") == STRONG)


def comparison(
    case: Mapping[str, Any], name: str, check: Mapping[str, Any], records: Iterable[Comparison], causes: Mapping[str, str]
) -> Comparison:
    """The check beside the figure of our record of that case; without one, the cause that is written down for it."""
    printed = float(check["printed"])
    title, source = case["model"], case["source"].partition(" (")[0].removeprefix("https://")
    for record in records:
        if record.case != case["id"]:
            continue
        # Some are printed in GiB where the record has MiB.
        same = [figure for figure in record.figures if min(_distance(figure, printed), _distance(figure, printed * 1024)) <= _SAME]
        if same:
            return Comparison(title, source, "", (same[0],), cause=record.cause)
    cause = causes.get(case["id"], "No record of ours holds this.")
    return Comparison(title, source, "", (Figure(name or check["unit"], printed, float(check["expected"])),), refused=cause)


def _distance(figure: Figure, printed: float) -> float:
    return abs(figure.printed - printed) / printed if printed else 1.0
