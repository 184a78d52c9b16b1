"""Pasted start-up text as plain lines, and the numbers in them as they were printed."""

import json
import re
from typing import Final

from planner.core.engines.contract import Printed
from planner.core.errors import InputError

MAX_TEXT: Final = 64 * 1024
MAX_LINE: Final = 8_000
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\x1b]{0,200}\x07?)")
# A figure with decimals, thousands separated or not, and a whole one.
NUMBER: Final = r"(-?\d{1,15}(?:,\d{3}){0,5}(?:[.,]\d{1,6})?)"
WHOLE: Final = r"(\d{1,3}(?:,\d{3}){1,5}|\d{1,15})"
# A log driver's wrapping: docker's json-file, journalctl -o json, llama-server --log-jsonl.
_WRAPPED: Final = ("log", "MESSAGE", "msg", "message")


def plain_lines(text: str) -> tuple[str, ...]:
    """The lines of a log without colours and wrapping; whatever stands before a message on its line stays.

    Raises InputError for more text than a start-up has.
    """
    if len(text.encode("utf-8", "replace")) > MAX_TEXT:
        raise InputError(
            f"That is more than {MAX_TEXT // 1024} KiB of text: paste the lines around the start, or only those with “KV cache”.",
            field="startup",
        )
    return tuple(_unwrapped(line)[:MAX_LINE] for line in _ESCAPES.sub("", text).splitlines())


def _unwrapped(line: str) -> str:
    stripped = line.strip()
    if not (stripped.startswith("{") and stripped.endswith("}")):
        return line
    try:
        record = json.loads(stripped)
    except (ValueError, RecursionError):
        return line
    messages = (record.get(name) for name in _WRAPPED) if isinstance(record, dict) else ()
    return next((message.rstrip("\n") for message in messages if isinstance(message, str)), line)


def after_last(lines: tuple[str, ...], mark: re.Pattern[str]) -> tuple[str, ...]:
    """The lines from the last one with `mark` on: of a log with several starts, the last."""
    starts = [index for index, line in enumerate(lines) if mark.search(line)]
    return lines[starts[-1] :] if starts else lines


def number(text: str) -> float:
    """`28.34`, `7,281` (thousands) and `3072,00` (a decimal comma, where the system's language has one)."""
    if re.fullmatch(r"-?\d{1,15},\d{1,2}", text):
        text = text.replace(",", ".")
    return float(text.replace(",", ""))


def half_digit(text: str) -> float:
    """Half of the last printed digit: 0.005 for `28.34`, and for `6.4`, which stands for 6.40."""
    decimals = max(2, len(re.split(r"[.,]", text)[-1])) if re.search(r"[.,]\d{1,4}$", text) else 0
    return 0.5 * 10.0**-decimals if decimals else 0.0


def decimal(key: str, name: str, text: str, unit: str, *, tolerance: float | None = None) -> Printed:
    """A rounded figure, such as one in GiB."""
    spread = half_digit(text) if tolerance is None else tolerance
    return Printed(key, name, number(text), f"{text} {unit}".strip(), spread + 1e-9)


def count(key: str, name: str, text: str, unit: str = "") -> Printed:
    """A whole number, thousands separated or not."""
    value = int(text.replace(",", "")[:18])
    return Printed(key, name, value, f"{value:,} {unit}".strip())
