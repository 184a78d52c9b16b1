"""One axis of seconds: it starts with the log and never falls, whatever the clock does."""

from hypothesis import given
from hypothesis import strategies as st

from planner.core.logs.axis import Axis

CLOCK = st.one_of(st.just(None), st.floats(0, 1e7, allow_nan=False))


@given(st.lists(CLOCK, max_size=60))
def test_the_axis_never_falls_and_a_restart_is_no_jump(readings: list[float | None]) -> None:
    axis, before = Axis(), 0.0
    for reading in readings:
        if reading is None:
            axis.restart()
        else:
            moment = axis.at(reading)
            assert moment >= before
            before = moment
    assert axis.backwards <= sum(reading is not None for reading in readings)


def test_it_starts_with_the_log_and_goes_on_after_a_restart() -> None:
    axis = Axis()
    assert [axis.at(clock) for clock in (100.0, 130.0)] == [0.0, 30.0]
    axis.restart()
    assert [axis.at(clock) for clock in (0.5, 2.5)] == [30.0, 32.0]
    assert (axis.backwards, axis.first_clock_s) == (0, 100.0)


def test_a_jump_back_is_counted_and_threads_that_write_out_of_order_are_not() -> None:
    axis = Axis()
    assert [axis.at(clock) for clock in (10.0, 12.0, 11.9, 12.5)] == [0.0, 2.0, 2.0, 2.5]
    assert axis.backwards == 0
    assert [axis.at(clock) for clock in (5.0, 6.0)] == [2.5, 3.5]
    assert axis.backwards == 1
