"""A diagnosis in two sentences: what made it slow, with its number, and what the server did meanwhile."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.diagnosing.diagnosis import Diagnosis, Severity
from planner.core.plan import Remark

# What is worth a word where nothing is wrong: such a share of all seconds, such a wait of every second request.
_MUCH: Final = 0.15
_LONG_WAIT_S: Final = 1.0
# Where the first statement of a finding's evidence ends.
_STATEMENT: Final = re.compile(r"; |\. |\.$")


@dataclass(frozen=True, slots=True)
class Told:
    """`severity` is that of the first finding, None where there is none. `meanwhile` is "" where the log does not say it."""

    severity: Severity | None
    sentence: str
    meanwhile: str


def told(diagnosis: Diagnosis) -> Told:
    """The first finding, or that there is none."""
    first = next(iter(diagnosis.findings), None)
    return Told(first.severity if first else None, _first(diagnosis) if first else nothing_found(diagnosis), _meanwhile(diagnosis))


def nothing_found(diagnosis: Diagnosis) -> str:
    """What a diagnosis without findings says: that nothing went wrong, or that the log cannot show it."""
    if not diagnosis.finished and not diagnosis.in_flight_max:
        return "No request was found in this log, so it does not say what was slow."
    if diagnosis.busy_share is None:
        return "Nothing was found that went wrong. Who slowed whom down cannot be seen in a log without times."
    return " ".join(("Nothing was found that went wrong.", *_shared(diagnosis)))


def _shared(diagnosis: Diagnosis) -> Iterator[str]:
    """What requests cost each other though nothing is wrong."""
    whole, wait = diagnosis.breakdown, diagnosis.wait
    if whole is not None and whole.share(whole.contention_s) >= _MUCH:
        yield (
            f"{units.percent(whole.share(whole.contention_s))} of what all turns took together is what they cost each other by running at the same time."
        )
    if wait is not None and wait.p50 >= _LONG_WAIT_S:
        yield f"Half of the requests waited {units.seconds(wait.p50)} or longer before their first pass: more came at a time than ran."


def not_read(diagnosis: Diagnosis) -> Iterator[Remark]:
    """What of the log was left out, where a page shows its counts and a text does not."""
    cut, also = diagnosis.counts.cut_lines, diagnosis.facts.values.get("also")
    if cut:
        yield Remark("cut_lines", f"Of {units.counted(cut, 'line')} longer than 64 KiB only the beginning was read.")
    if isinstance(also, list) and also:
        others = " and ".join(map(str, also))
        engine = diagnosis.facts.engine
        yield Remark(
            "other_engines", f"Lines of {others} stand among those of {engine} and were not read: give each server's log by itself."
        )


def _first(diagnosis: Diagnosis) -> str:
    first, whole = diagnosis.findings[0], diagnosis.breakdown
    if whole is not None and first.lost_s and whole.total_s:
        share = units.percent(min(1.0, whole.share(first.lost_s)))
        return f"{first.title}: {units.seconds(first.lost_s)}, {share} of what all turns took together."
    return f"{first.title}: {_STATEMENT.split(first.evidence, maxsplit=1)[0]}."


def _meanwhile(diagnosis: Diagnosis) -> str:
    if diagnosis.busy_share is None or diagnosis.two_or_more_share is None:
        return ""
    return (
        f"Meanwhile the server was busy {units.percent(diagnosis.busy_share)} of the time, with two or more tasks together "
        f"{units.percent(diagnosis.two_or_more_share)} of it."
    )
