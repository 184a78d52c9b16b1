"""Files on this machine that a person names: opened without waiting, read no further than is wanted."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from planner.core.errors import InputError


def open_file(path: Path, *, field: str) -> BinaryIO:
    """The file, open for reading. A pipe or a device is refused: it may never begin, and never end.

    Raises InputError, for the input `field`.
    """
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 (pathlib has no opener; the caller closes it)
    except OSError as problem:
        raise unreadable(path, problem, field=field) from None
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise InputError(f"{path} is a pipe or a device: save what it gives in a file, and name that.", field=field)


def read_file(path: Path, largest: int, *, field: str) -> bytes:
    """The file's first `largest` + 1 bytes: one more than may be used, so that its reader can refuse it."""
    with open_file(path, field=field) as file:
        try:
            return file.read(largest + 1)
        except OSError as problem:
            raise unreadable(path, problem, field=field) from None


def unreadable(path: Path, problem: OSError, *, field: str) -> InputError:
    return InputError(f"{path} cannot be read: {problem.strerror}.", field=field)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
