"""What a finding may look at: everything added up, the fitted speeds, and a way to try a change on the log's own requests."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from planner.core import units
from planner.core.diagnosing.collecting import Collected, Noticed
from planner.core.diagnosing.diagnosis import Breakdown, Example, PromptCache, Rates, Severity
from planner.core.diagnosing.replaying import Replayer
from planner.core.logs.metrics import Metrics
from planner.core.logs.record import Facts
from planner.core.logs.vmstat import Vmstat

# From these shares of everybody's seconds on, a cause matters much, or at all.
_HIGH: Final = 0.15
_MEDIUM: Final = 0.03
_NOTHING: Final = Noticed()


@dataclass(frozen=True)
class Case:
    """One log, and what was given beside it."""

    facts: Facts
    collected: Collected
    rates: Rates
    breakdown: Breakdown | None
    prompt_cache: PromptCache
    span_s: float | None
    long_prefill: int
    metrics: Metrics | None = None
    replayer: Replayer | None = None
    vmstat: Vmstat | None = None

    @property
    def engine(self) -> str:
        return self.facts.engine

    @cached_property
    def total_s(self) -> float:
        """Seconds of all tasks together, those that were cut off included."""
        return (self.breakdown.total_s if self.breakdown else 0.0) + self.collected.observed.cut_s

    @property
    def slots(self) -> int | None:
        return self.whole("n_slots")

    def whole(self, name: str) -> int | None:
        """A whole number that the server printed at its start."""
        value = self.facts.values.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def noticed(self, *codes: str) -> Noticed:
        """The notices of these codes together."""
        found = [self.collected.notices[code] for code in codes if code in self.collected.notices]
        if len(found) == 1:
            return found[0]
        together = Noticed()
        for each in found:
            together.count += each.count
            together.first.extend(each.first)
            if each.largest is not None:
                together.largest = max(together.largest or each.largest, each.largest)
        together.first.sort(key=lambda notice: notice.line)
        return together

    def severity(self, lost_s: float, count: int = 2) -> Severity:
        """By the share of everybody's seconds; a single case is never more than a hint."""
        share = lost_s / self.total_s if self.total_s else 0.0
        if share >= _HIGH and count > 1:
            return "high"
        return "medium" if share >= _MEDIUM and count > 1 else "low"

    def of_all(self, seconds: float) -> str:
        """`12 s (8 % of all processing seconds)`."""
        share = f" ({units.percent(min(1.0, seconds / self.total_s))} of all processing seconds)" if self.total_s else ""
        return f"{units.seconds(seconds)}{share}"


def examples_of(noticed: Noticed, what: str) -> tuple[Example, ...]:
    """The first notices as examples."""
    return tuple(
        Example(
            notice.at_s, notice.task, 0.0, f"Line {notice.line:,}: {what}{f' ({notice.value:,.10g})' if notice.value is not None else ''}."
        )
        for notice in noticed.first[:3]
    )
