"""What was sent to be diagnosed: files that were streamed to the disk and pasted text, bounded, read once and forgotten."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, Final, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from planner.core import units
from planner.core.errors import InputError, one_line
from planner.core.simulation.loop import LONG_PREFILL
from planner.diagnoses import Material
from planner.log_files import Part

# A packed log may unpack to so many times what may be sent.
UNPACKED: Final = 4
MAX_BESIDE: Final = 32 * units.MIB
MAX_FILES: Final = 40
_LONGEST_NAME: Final = 80
_PASTED: Final = "The pasted text"


@dataclass(frozen=True, slots=True)
class FileInput:
    """A file that may be given. `hint` says what is in it."""

    name: str
    label: str
    hint: str


@dataclass(frozen=True, slots=True)
class NumberInput:
    name: str
    label: str
    example: str
    unit: str
    hint: str


BESIDE: Final = (
    FileInput("before", "An older log", "To compare with, group by group: from before a change."),
    FileInput("calls", "The application’s own calls", "CSV or JSON lines: time, purpose, prompt_tokens; end and gate_wait where known."),
    FileInput("metrics", "/metrics", "What the server answers there: vLLM counts preemptions only in it."),
    FileInput("vmstat", "vmstat 1", "What the machine did meanwhile."),
)
NUMBERS: Final = (
    NumberInput("long_prefill", "A prompt is long from", f"{LONG_PREFILL:,}", "tokens", "Only sorts the tables."),
    NumberInput("prefill_rate", "Prefill, measured alone", "from the log", "tokens/s", "Instead of the fitted speed."),
    NumberInput("decode_rate", "Decode, measured alone", "from the log", "tokens/s", "Instead of the fitted speed."),
)
LABELS: Final = {"logs": "The server’s log", "text": "Pasted text"} | {each.name: each.label for each in (*BESIDE, *NUMBERS)}


def material(typed: QueryDict, files: "MultiValueDict[str, UploadedFile[Any]]") -> Material:
    """Everything that was sent, not read yet. Raises InputError for nothing, or for too much."""
    sent = [file for name in files for file in files.getlist(name)]
    size = sum(file.size or 0 for file in sent)
    if size > settings.DIAGNOSE_MAX_BYTES:
        raise InputError(
            f"These files have {units.size(size)}, and {units.size(settings.DIAGNOSE_MAX_BYTES)} are the most here: pack them with gzip, cut "
            "them to the hours that matter, or use manage.py diagnose on the machine where they are: it reads any size.",
            field="logs",
        )
    if len(sent) > MAX_FILES:
        raise InputError(f"{len(sent)} files are more than the {MAX_FILES} that a log has parts: join some of them.", field="logs")
    logs = _parts(files.getlist("logs"))
    if (text := typed.get("text", "")).strip():
        logs.append((_PASTED, BytesIO(text.encode("utf-8", "replace"))))
    if not logs:
        raise InputError("Choose the server’s log, or paste lines of it.", field="logs")
    return Material(
        logs=logs,
        before=_parts(files.getlist("before")),
        calls=_first(files, "calls"),
        metrics=_first(files, "metrics"),
        vmstat=_first(files, "vmstat"),
        **{each.name: typed.get(each.name, "").strip() or None for each in NUMBERS},
    )


def most_bytes() -> int:
    """How much of a log is read here, unpacked."""
    return UNPACKED * int(settings.DIAGNOSE_MAX_BYTES)


def names(files: "MultiValueDict[str, UploadedFile[Any]]", name: str) -> list[str]:
    """The names of the files that were given, for the command that reads the same."""
    return [_name(file) for file in files.getlist(name)]


def typed_numbers(typed: QueryDict) -> Mapping[str, str]:
    return {each.name: value for each in NUMBERS if (value := typed.get(each.name, "").strip())}


def _first(files: "MultiValueDict[str, UploadedFile[Any]]", name: str) -> Part | None:
    return next(iter(_parts(files.getlist(name))), None)


def _parts(files: "Sequence[UploadedFile[Any]]") -> list[Part]:
    return [(_name(file), cast("BinaryIO", file.file)) for file in files if file.file is not None]


def _name(file: "UploadedFile[Any]") -> str:
    return one_line((file.name or "")[:_LONGEST_NAME]) or "A file"
