"""A diagnosis of open files, with what was given beside them: one place for the command and the page."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from planner.core import units
from planner.core.diagnosing import Diagnosis, Given, Options, diagnose
from planner.core.diagnosing.calls import read_calls
from planner.core.diagnosing.comparing import compare
from planner.core.errors import InputError
from planner.core.logs.metrics import read_metrics
from planner.core.logs.reading import read
from planner.core.logs.vmstat import read_vmstat
from planner.core.simulation.loop import LONG_PREFILL
from planner.log_files import Part, log_chunks

# What a text beside the log may hold at most.
MAX_BESIDE: Final = 256 * units.MIB
MAX_LINE: Final = 65_536

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Open files with their names, and numbers as they were typed, None where there are none.

    `logs` are parts of one log, `before` those of an older one to compare with.
    """

    logs: Sequence[Part]
    before: Sequence[Part] = ()
    calls: Part | None = None
    metrics: Part | None = None
    vmstat: Part | None = None
    long_prefill: str | None = None
    prefill_rate: str | None = None
    decode_rate: str | None = None


def diagnosis_of(material: Material, *, most_bytes: int | None = None, most_beside: int = MAX_BESIDE) -> Diagnosis:
    """Reads everything to its end; at most `most_bytes` of each log, unpacked, and `most_beside` of each text beside it.

    Raises InputError, with the name of what it is about as its field where that is known.
    """
    asked = Options(
        long_prefill=_tokens(material.long_prefill),
        given=Given(prefill=_rate(material.prefill_rate, "prefill_rate"), decode=_rate(material.decode_rate, "decode_rate")),
        calls=_beside(material.calls, read_calls, "calls", most_beside),
        metrics=_beside(material.metrics, read_metrics, "metrics", most_beside),
        vmstat=_beside(material.vmstat, read_vmstat, "vmstat", most_beside),
    )
    answer = diagnose(read(log_chunks(material.logs, field="logs", most_bytes=most_bytes)), asked)
    if not material.before:
        return answer
    alone = replace(asked, calls=None, metrics=None, vmstat=None, tries=False)
    try:
        older = diagnose(read(log_chunks(material.before, field="before", most_bytes=most_bytes)), alone)
    except InputError as refused:
        raise InputError(str(refused), field=refused.field or "before") from None
    return replace(answer, comparison=compare(older, answer))


def _tokens(text: str | None) -> int:
    return LONG_PREFILL if text is None else units.parse_tokens(text, field="long_prefill")


def _rate(text: str | None, field: str) -> float | None:
    if text is None:
        return None
    value = units.parse_number(text, field=field)
    if not 0.001 <= value <= 1e9:
        raise InputError("A rate is a number of tokens per second above 0.", field=field)
    return value


def _beside(part: Part | None, reader: Callable[[Iterable[str]], T], field: str, most_bytes: int) -> T | None:
    """A text beside the log, read by its reader."""
    return None if part is None else reader(_lines(log_chunks([part], field=field), field, most_bytes))


def _lines(chunks: Iterable[bytes], field: str, most_bytes: int) -> Iterator[str]:
    """Lines of a bounded text; what is too long for one is cut."""
    rest, left = b"", most_bytes
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise InputError(f"More than {units.size(most_bytes)}: give a part of it.", field=field)
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line[:MAX_LINE].decode("utf-8", "replace") for line in whole)
        rest = rest[:MAX_LINE]
    if rest:
        yield rest.decode("utf-8", "replace")
