"""The machine swaps: what should be in memory is on the disk."""

from planner.core import units
from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding


def _look(case: Case) -> Finding | None:
    swapped = case.swapped
    if swapped is None or not swapped.count:
        return None
    most = f", at most {swapped.largest:,.0f} KiB/s" if swapped.largest else ""
    return Finding(
        code="swapping",
        severity="high",
        title="The machine swaps",
        evidence=f"vmstat shows swapping in {units.counted(swapped.count, 'second')}{most}.",
        cause="Weights, caches and other programs together are larger than main memory; every pass then waits for the disk.",
        fix="Stop what else runs there, use smaller weights or a shorter context, or keep the weights locked in memory (--mlock where the version has it).",
        count=swapped.count,
        examples=examples_of(swapped, "the machine swapped"),
    )


FINDING = _look
