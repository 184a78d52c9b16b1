"""A log or a table of calls that somebody uploads to have it sent again: bounded before and while it is unpacked."""

from typing import BinaryIO, Final, cast

from django.core.files.uploadedfile import UploadedFile

from planner.core import units
from planner.core.errors import InputError, one_line
from planner.core.simulating.recorded import Recorded
from planner.recordings import read_recording

MAX_UPLOAD: Final = 32 * 2**20
MAX_UNPACKED: Final = 128 * 2**20
_LONGEST_NAME: Final = 80


def uploaded(file: object) -> tuple[Recorded, ...]:
    """The requests in it. Raises InputError for no file, too large a one, or one without requests."""
    if not isinstance(file, UploadedFile) or file.file is None:
        raise InputError("Choose a file: a llama-server log with timestamps, or a CSV or JSON lines of calls.", field="replay")
    if (file.size or 0) > MAX_UPLOAD:
        raise InputError(
            f"This file has {units.size(file.size or 0)}, and {units.size(MAX_UPLOAD)} are the most: cut it to the hours that matter, "
            "pack it with gzip, or use manage.py simulate --replay.",
            field="replay",
        )
    return read_recording(cast("BinaryIO", file.file), name=one_line((file.name or "The file")[:_LONGEST_NAME]), most_bytes=MAX_UNPACKED)
