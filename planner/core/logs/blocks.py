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

# What no log has: tabs, line breaks and the escape of colours are left out.
_CONTROL: Final = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")


def blocks(chunks: Iterable[bytes], counts: Counts) -> Iterator[bytes]:
    """Blocks that begin with the newline before their first line and end with the one after their last.

    Colours and carriage returns are taken out, `counts` is kept. Raises InputError for what is no text.
    """
    for block in _whole_lines(_sized(chunks, counts), counts):
        yield _plain(block, counts)
        counts.lines += block.count(b"\n") - 1


def _plain(block: bytes, counts: Counts) -> bytes:
    text = _without_nulls(block, counts) if b"\0" in block else block
    uncoloured = _COLOUR.sub(b"", text) if b"\x1b" in text else text
    return uncoloured.replace(b"\r", b"") if b"\r" in uncoloured else uncoloured


def _without_nulls(block: bytes, counts: Counts) -> bytes:
    """Windows' 16-bit text is every second byte of it; a power cut or a rotation leaves holes of them. With other control
    characters beside them it is no text."""
    text = block.replace(b"\0", b"").replace(b"\n\xff\xfe", b"\n", 1).replace(b"\n\xfe\xff", b"\n", 1)
    if found := _CONTROL.search(text):
        line = counts.lines + text[: found.start()].count(b"\n")
        raise InputError(f"Line {line:,} has bytes that no text has: give the log as plain text, or packed as .gz.")
    return text


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
