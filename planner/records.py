"""Reads the records of facts that answers are held against: the repository's own, and larger collections beside it."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

from planner.core.accuracy.tables import Records, own_tables, truth_tables
from planner.core.errors import InputError

OWN: Final = Path(__file__).resolve().parent.parent / "tests" / "truth"


def read_records(folder: Path = OWN) -> Records:
    """The repository's records. Raises InputError where they are not there, as in an installation without tests."""
    return Records(
        vllm_reports=_table(folder / "vllm_reports.toml"),
        llama_reports=_table(folder / "llama_reports.toml"),
        llama_caches=_rows(folder / "llama_caches.jsonl"),
        parameters=_rows(folder / "parameters.jsonl"),
    )


def measure(records: Records, truth: Path | None) -> dict[str, list[dict[str, object]]]:
    """The tables of our accuracy: `own` from the records, `truth` from a folder with vllm.jsonl, llama_cpp.jsonl and cases.jsonl."""
    found = {"own": own_tables(records)}
    if truth is not None:
        found["truth"] = truth_tables(
            records,
            vllm_rows=_rows(truth / "vllm.jsonl"),
            llama_rows=_rows(truth / "llama_cpp.jsonl"),
            reports=_rows(truth / "cases.jsonl"),
        )
    return found


def _table(path: Path) -> dict[str, Any]:
    return tomllib.loads(_text(path))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _text(path).splitlines() if line.strip()]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}.", field="truth") from None
