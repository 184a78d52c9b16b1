"""Logs from disk: rotated parts in order, packed ones unpacked, bombs bounded, and what cannot be read said."""

import gzip
import io
import tracemalloc
from itertools import permutations

import pytest

from planner.core.errors import InputError
from planner.core.logs.parts import in_order
from planner.log_files import Part, log_chunks

OWN = [b"0.00.003.000 I srv  llama_server: initializing ...\n", b"70.00.000.000 I slot a\n", b"a cut line\n3517.09.125.958 I slot b\n"]
JOURNAL = [
    b"Nov  9 23:59:59 host llama[1]: slot a\n",
    b"Nov 10 00:00:01 host llama[1]: slot b\n",
    b"Nov 29 12:00:00 host llama[1]: slot c\n",
]
ISO = [b"2026-11-29T11:00:00+01:00 slot a\n", b"2026-11-29T10:00:01Z slot b\n"]


@pytest.mark.parametrize("parts", [OWN, JOURNAL, ISO], ids=["the server's clock", "journald", "zones"])
def test_parts_whose_times_say_it_come_in_their_order(parts: list[bytes]) -> None:
    for given in permutations(parts):
        assert [given[place] for place in in_order(given)] == parts


@pytest.mark.parametrize("parts", [[OWN[1], OWN[0], OWN[0]], [OWN[1], b"no time\n", OWN[0]], [b"", b""], [OWN[1]], []])
def test_parts_whose_times_do_not_say_it_stay_as_given(parts: list[bytes]) -> None:
    assert in_order(parts) == list(range(len(parts)))


def joined(*parts: bytes, most_bytes: int | None = None) -> bytes:
    files: list[Part] = [(f"part {number}", io.BytesIO(part)) for number, part in enumerate(parts)]
    return b"".join(log_chunks(files, field="logs", most_bytes=most_bytes))


def test_packed_and_plain_parts_make_one_log_and_an_unfinished_line_ends_with_its_part() -> None:
    newest, oldest, middle = OWN[2], gzip.compress(OWN[0]) + gzip.compress(b"more\n"), OWN[1].rstrip(b"\n")
    assert joined(newest, oldest, middle) == OWN[0] + b"more\n" + OWN[1] + OWN[2]


def test_a_pipe_is_read_as_it_comes() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    packed: list[Part] = [("-", Pipe(gzip.compress(b"piped\n"))), ("b", io.BytesIO(OWN[0]))]
    assert b"".join(log_chunks(packed, field="logs")) == b"piped\n" + OWN[0]


def test_a_bomb_is_unpacked_no_further_than_is_allowed_and_never_held_whole() -> None:
    bomb = gzip.compress(bytes(1 << 26))
    tracemalloc.start()
    with pytest.raises(InputError, match="more than 8 MiB") as refused:
        joined(bomb, most_bytes=8 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.value.field == "logs"
    assert peak < 24 << 20


def test_as_much_as_is_allowed_is_read() -> None:
    assert joined(b"12345678\n", most_bytes=9) == b"12345678\n"


@pytest.mark.parametrize("packed", [b"\x1f\x8bbroken", gzip.compress(b"cut short" * 1000)[:40]])
def test_a_damaged_archive_is_said_by_its_name(packed: bytes) -> None:
    with pytest.raises(InputError, match="part 0 cannot be read"):
        joined(packed)
