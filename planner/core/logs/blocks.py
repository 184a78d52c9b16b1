"""A log as blocks of whole lines, of bounded size, whatever pieces it comes in and however long its lines are."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from planner.core.errors import InputError
from planner.core.logs.record import Counts

BLOCK: Final = 1 << 20
# More than any engine writes in a line but prompts and pictures; what follows says nothing to us.
LONGEST_LINE: Final = 1 << 16

_COLOUR: Final = re.compile(rb"\x1b\[[0-9;?]{0,32}[A-Za-z]")


def blocks(chunks: Iterable[bytes], counts: Counts) -> Iterator[bytes]:
    """Blocks that begin with the newline before their first line and end with the one after their last.

    Colours and carriage returns are taken out, `counts` is kept. Raises InputError for what is no text.
    """
    for block in _whole_lines(_sized(chunks, counts), counts):
        if b"\0" in block:
            raise InputError(
                f"Line {counts.lines + 1 + block[1 : block.index(0)].count(10):,} has bytes that no text has: give the log as plain "
                "text (or packed as .gz), in UTF-8."
            )
        yield _plain(block)
        counts.lines += block.count(b"\n") - 1


def _plain(block: bytes) -> bytes:
    uncoloured = _COLOUR.sub(b"", block) if b"\x1b" in block else block
    return uncoloured.replace(b"\r", b"") if b"\r" in uncoloured else uncoloured


def _sized(chunks: Iterable[bytes], counts: Counts) -> Iterator[bytes]:
    """The same bytes in pieces of BLOCK, so that nothing depends on how they came."""
    held = bytearray()
    for chunk in chunks:
        counts.bytes += len(chunk)
        if len(chunk) == BLOCK and not held:
            yield chunk
            continue
        for begin in range(0, len(chunk), BLOCK):
            held += chunk[begin : begin + BLOCK]
            if len(held) >= BLOCK:
                yield bytes(held[:BLOCK])
                del held[:BLOCK]
    if held:
        yield bytes(held)


def _whole_lines(pieces: Iterable[bytes], counts: Counts) -> Iterator[bytes]:
    begun = b"\n"
    skipping = False
    for piece in pieces:
        begin = 0
        if skipping:
            begin = piece.find(b"\n") + 1
            if not begin:
                continue
            skipping = False
        end = piece.rfind(b"\n", begin) + 1
        if end:
            yield begun + piece[begin:end]
            begun = b"\n" + piece[end:]
        else:
            begun += piece[begin:]
        if len(begun) > LONGEST_LINE:
            counts.cut_lines += 1
            yield begun[: LONGEST_LINE + 1] + b"\n"
            begun, skipping = b"\n", True
    if len(begun) > 1:
        yield begun + b"\n"
