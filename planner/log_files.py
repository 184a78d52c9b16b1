"""Logs as they lie on a disk or come through a pipe: parts one after another, unpacked where they are packed, no further than is allowed."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import UnsupportedOperation
from typing import BinaryIO, Final, cast

from planner.core import units
from planner.core.errors import InputError
from planner.core.logs.blocks import BLOCK
from planner.core.logs.parts import HEAD, in_order

_GZIP: Final = b"\x1f\x8b"

# An open file and its name, for what is said of it.
Part = tuple[str, BinaryIO]


def log_chunks(parts: Sequence[Part], *, field: str, most_bytes: int | None = None) -> Iterator[bytes]:
    """The bytes of all parts, unpacked; a part that ends without a newline gets one.

    Several parts are read in the order of their times where those say it, else as given. Memory is bounded whatever is packed in
    them. Raises InputError, for the input `field`: for what cannot be read, and for more than `most_bytes` in all.
    """
    left = most_bytes
    for name, raw in ordered(parts):
        last = b"\n"
        for chunk in _unpacked(name, raw, field):
            if left is not None:
                left -= len(chunk)
                if left < 0:
                    raise InputError(
                        f"The log holds more than {units.size(cast('int', most_bytes))}: give `manage.py diagnose` the file, which reads any size, "
                        "or cut it to the hours that matter.",
                        field=field,
                    )
            last = chunk[-1:]
            yield chunk
        if last != b"\n":
            yield b"\n"


def ordered(parts: Sequence[Part]) -> list[Part]:
    """By their times, as far as all of them can be looked into before they are read."""
    if len(parts) < 2:
        return list(parts)
    heads = []
    for _, raw in parts:
        head = _head(raw)
        if head is None:
            return list(parts)
        heads.append(head)
    return [parts[place] for place in in_order(heads)]


def _head(raw: BinaryIO) -> bytes | None:
    """The beginning of a file, which is read again later; None of a pipe."""
    with suppress(OSError, EOFError, zlib.error, UnsupportedOperation):
        if not raw.seekable():
            return None
        begins = raw.read(len(_GZIP))
        raw.seek(0)
        head = gzip.GzipFile(fileobj=raw).read(HEAD) if begins == _GZIP else raw.read(HEAD)
        raw.seek(0)
        return head
    return None


def _unpacked(name: str, raw: BinaryIO, field: str) -> Iterator[bytes]:
    try:
        first = raw.read(BLOCK)
        if first.startswith(_GZIP):
            packed = gzip.GzipFile(fileobj=cast("BinaryIO", _Begun(first, raw)))
            while chunk := packed.read(BLOCK):
                yield chunk
            return
        while first:
            yield first
            first = raw.read(BLOCK)
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(f"{name} cannot be read: {problem}.", field=field) from None


class _Begun:
    """A stream of which a beginning has been read already: a pipe cannot be read from its start again."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if not self._first:
            return self._rest.read(size)
        if size < 0:
            taken, self._first = self._first + self._rest.read(), b""
            return taken
        taken, self._first = self._first[:size], self._first[size:]
        return taken
