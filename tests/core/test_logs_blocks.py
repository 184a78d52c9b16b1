"""A log in blocks of whole lines: nothing is lost, nothing grows, and how the bytes came makes no difference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InputError
from planner.core.logs import blocks as module
from planner.core.logs.blocks import BLOCK, LONGEST_LINE, blocks
from planner.core.logs.record import Counts


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, begin = [], 0
    for size in sizes:
        pieces.append(data[begin : begin + size])
        begin += size
    return [*pieces, data[begin:]]


@given(
    data=st.text("ab \n", max_size=200).map(str.encode),
    sizes=st.lists(st.integers(0, 30), max_size=10),
    block=st.integers(5, 60),
)
def test_the_lines_come_out_whole_and_in_order_whatever_pieces_they_came_in(data: bytes, sizes: list[int], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        counts, again = Counts(), Counts()
        found = list(blocks(cut(data, sizes), counts))
        assert found == list(blocks([data], again))
        assert counts == again
    assert all(one.startswith(b"\n") and one.endswith(b"\n") for one in found)
    whole = data if data.endswith(b"\n") or not data else data + b"\n"
    assert b"".join(one[1:] for one in found) == whole
    assert (counts.lines, counts.bytes) == (whole.count(b"\n"), len(data))


def test_a_line_without_end_is_cut_once_and_takes_no_more_memory_than_blocks() -> None:
    counts = Counts()
    endless = [b"before\n", *[b"x" * BLOCK] * 40, b"rest of it\nafter\n"]
    found = list(blocks(endless, counts))
    assert counts.cut_lines == 1
    assert max(map(len, found)) <= BLOCK + LONGEST_LINE + 2
    lines = b"".join(one[1:] for one in found).split(b"\n")
    assert [line[:6] for line in lines] == [b"before", b"xxxxxx", b"after", b""]
    assert len(lines[1]) <= BLOCK + LONGEST_LINE


def test_colours_and_carriage_returns_are_taken_out() -> None:
    assert list(blocks([b"\x1b[32m0.05\x1b[0m I slot\r\n\x1b[1;31mE\x1b[0m\r\n"], Counts())) == [b"\n0.05 I slot\nE\n"]


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x01\0\0\0", b"text\nGGUF\x03\0\0\0\n", b"PK\x03\x04\x14\0\0\0"])
def test_what_is_no_text_is_refused_with_its_line(data: bytes) -> None:
    with pytest.raises(InputError, match=r"Line \d+ has bytes that no text has"):
        list(blocks([data], Counts()))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_windows_text_of_two_bytes_a_character_is_read_as_what_it_says(encoding: str) -> None:
    text = "0.05.720.093 I slot\r\n0.05.720.094 I srv\r\n"
    found = b"".join(blocks([text.encode(encoding)], Counts()))
    assert found.strip(b"\n").split(b"\n") == [line.encode() for line in text.splitlines()]


def test_holes_that_a_rotation_or_a_power_cut_leaves_are_passed_over() -> None:
    counts = Counts()
    # The hole is a line without end: what follows it on its line goes with it, counted as cut.
    assert list(blocks([b"\0" * 3 * BLOCK, b"a\nb", b"\0" * 10, b"c\n"], counts)) == [b"\n\n", b"\nbc\n"]
    assert counts.cut_lines == 1


def test_nothing_gives_nothing() -> None:
    assert list(blocks([], Counts())) == list(blocks([b""], Counts())) == []
