"""`vmstat 1` as it is read: with wide columns, timestamps, repeated headings; what is none of its lines."""

import pytest

from planner.core.errors import InputError
from planner.core.logs.vmstat import Vmstat, read_vmstat

# Printed by procps-ng 4.0.2.
PLAIN = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 5  0      0 21438404  44372 2384232    0    0   626   931  448 1733 63  8 28  0  0
 1  0      0 21438404  44372 2384232    0    0     0     0  634 1236 24  4 72  0  0
"""
WIDE = """\
--procs-- -----------------------memory---------------------- ---swap-- -----io---- -system-- ----------cpu---------- -----timestamp-----
   r    b         swpd         free         buff        cache   si   so    bi    bo   in   cs  us  sy  id  wa  st  gu                 UTC
   4    0            0     21546860        44372      2370236    0    0   626   931  448 1733  63   8  28   0   0   0 2026-11-29 19:08:36
   2    0            0     21546860        44372      2370236    0    0   148     0 1373 4794  52  15  33   0   0   0 2026-11-29 19:08:37
"""
HEADINGS = "\n".join(PLAIN.splitlines()[:2]) + "\n"
SWAPPED = """\
 9  2 204800   5120   1000  20000  500  700   626   931  448 1733 10  8 40 42  0
 3  4 409600   5120   1000  20000 9000    0   626   931  448 1733 10  8 72 10  0
"""


def vmstat(text: str) -> Vmstat:
    return read_vmstat(text.splitlines())


@pytest.mark.parametrize("text", [PLAIN, WIDE])
def test_a_quiet_machine_swaps_nothing(text: str) -> None:
    found = vmstat(text)
    assert (found.lines, found.swapping, found.worst, found.other_lines) == (1, 0, (), 0)
    assert (found.running_max, found.disk_wait_max) == ((1 if text is PLAIN else 2), 0)


def test_the_first_line_is_an_average_since_the_machine_started_and_does_not_count() -> None:
    since_boot = SWAPPED.splitlines()[0]
    assert vmstat(HEADINGS + since_boot + "\n" + PLAIN.splitlines()[3]).swapping == 0


def test_swapping_run_queue_and_disk_are_added_up_over_repeated_headings() -> None:
    found = vmstat(PLAIN + HEADINGS + SWAPPED)
    assert (found.lines, found.swapping, found.other_lines) == (3, 2, 0)
    assert [(notice.code, notice.line, notice.value, notice.at_s) for notice in found.worst] == [
        ("swapping", 8, 9_000, None),
        ("swapping", 7, 1_200, None),
    ]
    assert (found.swap_in_max, found.swap_out_max, found.swapped_kib_max) == (9_000, 700, 409_600)
    assert (found.running_max, found.running_mean, found.blocked_max) == (9, pytest.approx(13 / 3), 4)
    assert (found.disk_wait_max, found.disk_wait_mean) == (0.42, pytest.approx(0.52 / 3))


def test_times_count_from_the_first_line() -> None:
    line = WIDE.splitlines()[3].replace("   0    0   148", " 500  700   148").replace("19:08:37", "19:09:06")
    (notice,) = vmstat(WIDE + line).worst
    assert (notice.value, notice.at_s, notice.line) == (1_200, 30, 5)


def test_a_prefix_before_every_line_is_passed_over() -> None:
    found = vmstat("".join(f"gpu1 {line}\n" for line in (PLAIN + SWAPPED).splitlines()))
    assert (found.lines, found.swapping, found.other_lines) == (3, 2, 0)


@pytest.mark.parametrize(
    "line",
    [
        "-1  0      0 1 1 1    0    0   626   931  448 1733 63  8 28  0  0",
        " 5  0      0 1 1 1    x    0   626   931  448 1733 63  8 28  0  0",
        " 5  0      0 1 1 1    0",
        " 5  0      0 1 1 1    0    0   626   931  448 1733 63  8 28  900  0",
        "9" * 100_000,
        "1 " * 50_000 + "x",
        "connection closed",
    ],
    ids=lambda line: line[:30],
)
def test_what_is_none_of_its_lines_is_counted(line: str) -> None:
    found = vmstat(PLAIN + line + "\n")
    assert found.lines + found.other_lines == 2
    assert found.swapping == 0


@pytest.mark.parametrize("text", ["", "hello\n", " 5  0      0 1 1 1    0    0   626   931  448 1733 63  8 28  0  0\n", HEADINGS])
def test_a_text_that_is_no_vmstat_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="vmstat 1"):
        vmstat(text)


def test_only_the_worst_lines_are_kept() -> None:
    line = " 9  2 204800   5120   1000  20000  {}  0   626   931  448 1733 10  8 40 42  0\n"
    found = vmstat(PLAIN + "".join(line.format(rate) for rate in range(1, 101)))
    assert (found.swapping, [notice.value for notice in found.worst]) == (100, [float(rate) for rate in range(100, 80, -1)])
