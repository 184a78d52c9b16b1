"""Where the bars stand: inside the drawing, in order, none lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.plan import MemoryBudget, MemoryLine
from planner.core.workload import workload
from planner.web.bars import distribution, memory_bar

GIB = 2**30


def budget(total: int, *sizes: int) -> MemoryBudget:
    kinds = ("reserved", "weights", "overhead", "cache", "free")
    lines = tuple(MemoryLine(kind, kind, size, "why", "computed", "source") for kind, size in zip(kinds, sizes, strict=False))
    return MemoryBudget(total, total, lines, 0, None)


def test_parts_fill_the_bar_in_the_budgets_order() -> None:
    bar = memory_bar(budget(24 * GIB, 2 * GIB, 12 * GIB, 2 * GIB, 6 * GIB, 2 * GIB))
    assert [part.kind for part in bar.parts] == ["reserved", "weights", "overhead", "cache", "free"]
    assert sum(part.width for part in bar.parts) == pytest.approx(100, abs=0.1)
    assert bar.limit is None


def test_what_is_missing_runs_past_the_limit() -> None:
    bar = memory_bar(budget(24 * GIB, 2 * GIB, 40 * GIB, 2 * GIB, 4 * GIB, -24 * GIB))
    assert bar.limit == pytest.approx(50, abs=0.1)
    assert sum(part.width for part in bar.parts) == pytest.approx(100, abs=0.1)


def test_a_narrow_part_has_no_label_in_the_bar() -> None:
    bar = memory_bar(budget(100 * GIB, 5 * GIB, 95 * GIB))
    assert [part.labelled for part in bar.parts] == [False, True]


@given(users=st.integers(1, 5000), generate=st.floats(0.1, 100), pause=st.floats(0, 1000), slots=st.integers(0, 300))
def test_columns_stay_in_the_drawing_and_hold_nearly_all_of_the_time(users: int, generate: float, pause: float, slots: int) -> None:
    load = workload(users=users, generate_seconds=generate, turn_seconds=generate + pause)
    drawn = distribution(load, slots)
    assert 1 <= len(drawn.columns) <= 40
    for column in drawn.columns:
        assert column.x >= 0
        assert column.x + column.width <= 100.1
        assert 0 <= column.y <= 100
        assert column.y + column.height == pytest.approx(100, abs=0.1)
    assert sum(column.share for column in drawn.columns) > 0.9
    assert all(before.last < after.first for before, after in zip(drawn.columns, drawn.columns[1:], strict=False))
    assert 0 <= drawn.mean_x <= 100
    assert 0 <= drawn.p95_x <= 100
