"""What one run of an engine is checked for, and how the outcome is printed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was expected of a run. `detail` says what came instead, "" where it passed."""

    group: str
    name: str
    passed: bool
    detail: str = ""


@dataclass(slots=True)
class Run:
    """One engine on one model with one set of arguments.

    `refused` is Slotwise's own sentence where it plans no such run.
    `compute` shows the compute buffer, expected and printed in MiB: an estimate, and shown instead of judged.
    """

    engine: str
    model: str
    arguments: str
    checks: list[Check] = field(default_factory=list)
    refused: str = ""
    compute: str = ""

    def expect(self, group: str, name: str, *, passed: bool, detail: str = "") -> bool:
        self.checks.append(Check(group, name, passed, "" if passed else detail))
        return passed

    @property
    def failures(self) -> list[Check]:
        return [check for check in self.checks if not check.passed]

    def tally(self, group: str) -> str:
        """`pass`, `FAIL`, or passed / all where a group has several checks; `-` where it has none."""
        mine = [check for check in self.checks if check.group == group]
        good = sum(check.passed for check in mine)
        if not mine:
            return "-"
        if len(mine) == 1:
            return "pass" if good else "FAIL"
        return f"{good}/{len(mine)}"


GROUPS = ("starts", "health", "answers", "lines", "values")


def table(runs: Iterable[Run]) -> Iterator[str]:
    """A line per run, and below each what failed in it."""
    head = ("engine", "model", "arguments", *GROUPS, "compute buffer")
    rows = [(run, (run.engine, run.model, run.arguments, *(run.tally(group) for group in GROUPS), run.compute)) for run in runs]
    widths = [max(len(cells[column]) for cells in (head, *(row for _, row in rows))) for column in range(len(head))]
    yield "  ".join(cell.ljust(width) for cell, width in zip(head, widths, strict=True)).rstrip()
    for run, cells in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        if run.refused:
            yield f"    not planned: {run.refused}"
        for check in run.failures:
            yield f"    {check.group}: {check.name}: {check.detail}"


def summary(runs: Iterable[Run]) -> str:
    everything = list(runs)
    passed = sum(len(run.checks) - len(run.failures) for run in everything)
    failed = sum(len(run.failures) for run in everything)
    refused = sum(bool(run.refused) for run in everything)
    return f"{len(everything)} runs, {refused} not planned; {passed} checks passed, {failed} failed"
