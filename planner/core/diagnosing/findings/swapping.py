"""The machine swaps: what should be in memory is on the disk."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Example, Finding

# A few pages that come back once are no swapping.
_LEAST: Final = 2


def _look(case: Case) -> Finding | None:
    seen = case.vmstat
    if seen is None or seen.swapping < _LEAST:
        return None
    return Finding(
        code="swapping",
        severity="high",
        title="The machine swaps",
        evidence=f"vmstat shows swapping in {seen.swapping:,} of {units.counted(seen.lines, 'line')}: up to {seen.swap_in_max:,} KiB/s in and "
        f"{seen.swap_out_max:,} KiB/s out, {seen.swapped_kib_max:,} KiB swapped at most; the processors waited for the disk up to "
        f"{units.percent(seen.disk_wait_max)} of the time.",
        cause="Weights, caches and other programs together are larger than main memory; every pass then waits for the disk.",
        fix="Stop what else runs there, use smaller weights or a shorter context, or keep the weights locked in memory (--mlock where the version has it).",
        count=seen.swapping,
        examples=tuple(
            Example(each.at_s, None, 0.0, f"Line {each.line:,}: {each.value or 0:,.0f} KiB/s in and out.") for each in seen.worst[:3]
        ),
    )


FINDING = _look
