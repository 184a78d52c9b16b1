"""A file of recorded requests, plain or gzipped, that somebody names or uploads: read line by line, and no further than is allowed."""

import gzip
import zlib
from collections.abc import Iterator
from io import TextIOWrapper
from typing import BinaryIO, Final, TextIO

from planner.core import units
from planner.core.errors import InputError
from planner.core.simulating.recorded import MAX_LINE, Recorded, read_recorded

_GZIP: Final = b"\x1f\x8b"
# A line costs time whatever is in it: an empty one counts as this many characters, so that a small packed file of them ends soon.
_SHORTEST: Final = 32


def read_recording(raw: BinaryIO, *, name: str, most_bytes: int) -> tuple[Recorded, ...]:
    """The requests in an open file, of which at most `most_bytes` are read, unpacked. Raises InputError (field "replay")."""
    try:
        zipped = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        with TextIOWrapper(gzip.GzipFile(fileobj=raw) if zipped else raw, encoding="utf-8", errors="replace") as text:
            return read_recorded(bounded(text, most_bytes))
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(f"{name} cannot be read: {problem}.", field="replay") from None


def bounded(file: TextIO, most_bytes: int) -> Iterator[str]:
    """Lines, one that is longer than any real one in pieces, up to a bound on all of it."""
    left = most_bytes
    while left > 0 and (line := file.readline(MAX_LINE)):
        left -= max(len(line), _SHORTEST)
        yield line
    if left <= 0:
        raise InputError(f"More than {units.size(most_bytes)} of log: cut it to the hours that matter.", field="replay")
