"""Sizes, token counts, shares and durations: what people type, and how they are shown."""

import math
import re
from decimal import Decimal
from typing import Final

from planner.core.errors import InputError

KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30

# Far beyond any machine, so that sums and products of accepted values stay exact and printable.
MAX_BYTES: Final = 2**50
MAX_TOKENS: Final = 2**30

_BYTE_UNITS: Final = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": KIB, "mib": MIB, "gib": GIB, "tib": 2**40,
}  # fmt: skip
_TOKEN_UNITS: Final = {"": 1, "k": 1024, "m": 1024**2}
# Thousands are separated in groups of three, as this program shows them: `7,5` is refused rather than read as 75.
_NUMBER: Final = r"(?:(?:[1-9]\d{0,2}(?:[,_\u2009\u202f]\d{3})+|\d+)(?:\.\d*)?|\.\d+)"
_QUANTITY: Final = re.compile(rf"({_NUMBER})[\s\u2009\u202f]*([a-z]*)", re.ASCII)
_SIGNED: Final = re.compile(rf"[+-]?{_NUMBER}(?:[eE][+-]?\d{{1,3}})?", re.ASCII)
_LONGEST: Final = 40
_SEPARATORS: Final = str.maketrans("", "", "_,\u2009\u202f")


def _quantity(text: str, units: dict[str, int], *, field: str | None, wanted: str) -> Decimal:
    typed = text.strip()
    match = _QUANTITY.fullmatch(typed.lower()) if len(typed) <= _LONGEST else None
    if match is None or match[2] not in units:
        raise InputError(f"“{typed[:_LONGEST]}” is not understood here: give {wanted}.", field=field)
    return Decimal(match[1].translate(_SEPARATORS)) * units[match[2]]


def parse_bytes(text: str, *, field: str | None = None) -> int:
    """Bytes in `text`: `24GiB`, `24564MiB`, `24 GB` (decimal), `7.5GiB`; a bare number is bytes.

    Raises InputError for anything else, for zero, and above 1 PiB.
    """
    value = _quantity(text, _BYTE_UNITS, field=field, wanted="a size such as 24GiB, 7.5GiB or 24564MiB")
    if not 1 <= value <= MAX_BYTES:
        raise InputError(f"“{text.strip()[:_LONGEST]}” is out of range: a size lies between 1 byte and 1,024 TiB.", field=field)
    return int(value)


def parse_tokens(text: str, *, field: str | None = None) -> int:
    """Tokens in `text`: `8192`, `8,192`, `8k` (k = 1,024). Raises InputError for anything else or below 1."""
    value = _quantity(text, _TOKEN_UNITS, field=field, wanted="a number of tokens such as 8192 or 8k")
    if not 1 <= value <= MAX_TOKENS or value != int(value):
        raise InputError(
            f"“{text.strip()[:_LONGEST]}” is out of range: give a whole number of tokens from 1 to {MAX_TOKENS:,}.", field=field
        )
    return int(value)


def parse_number(text: str, *, field: str | None = None) -> float:
    """A number in `text`: `12`, `7.5`, `1,000`, `1e-3`. Raises InputError for anything else and for one beyond any float."""
    typed = text.strip()
    value = float(typed.translate(_SEPARATORS)) if len(typed) <= _LONGEST and _SIGNED.fullmatch(typed) else math.nan
    if not math.isfinite(value):
        raise InputError(f"“{typed[:_LONGEST]}” is not a number: give one such as 12 or 7.5.", field=field)
    return value


def parse_share(text: str, *, field: str | None = None) -> float:
    """A share in `text`: `0.05` or `5%`. Raises InputError unless it lies between 0 and 1."""
    typed = text.strip()
    try:
        value = parse_number(typed.removesuffix("%")) / (100 if typed.endswith("%") else 1)
    except InputError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError(f"“{typed[:_LONGEST]}” is no share: give a number such as 0.05 or 5%.", field=field)
    return value


def gib(size_bytes: float) -> str:
    """`1.125 GiB`: three decimals below ten, so that small differences stay visible."""
    value = size_bytes / GIB
    return f"{value:,.3f} GiB" if abs(value) < 10 else f"{value:,.2f} GiB"


def size(size_bytes: float) -> str:
    """The size in the largest binary unit that keeps it at one or above: `144 KiB`, `1.125 GiB`."""
    if abs(size_bytes) >= GIB:
        return gib(size_bytes)
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if abs(size_bytes) >= unit:
            return f"{trimmed(size_bytes / unit)} {name}"
    return f"{trimmed(size_bytes)} B"


def apart(left: float, right: float) -> tuple[str, str]:
    """Two sizes to be compared, in a finer unit where the usual one would round them to the same: `17,146.5 MiB`, `17,139.21 MiB`."""
    for show in (size, _mib, _bytes):
        shown = show(left), show(right)
        if left == right or shown[0] != shown[1]:
            return shown
    return shown


def _mib(size_bytes: float) -> str:
    return f"{trimmed(size_bytes / MIB)} MiB"


def _bytes(size_bytes: float) -> str:
    return f"{trimmed(size_bytes)} B"


def counted(count: int, noun: str) -> str:
    """`1 slot`, `6 slots`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def significant(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits, thousands separated, without an exponent."""
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def trimmed(value: float, decimals: int = 2) -> str:
    """A number with at most `decimals` decimals and no trailing zeros, thousands separated: `1,207.5`."""
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def seconds(value: float) -> str:
    """A duration for people: `9.6 ms`, `0.44 s`, `7.2 s`, `2 min 10 s`; what is shorter than a twentieth of a millisecond is `0 s`."""
    if 0.00005 <= value < 0.00995:
        return f"{trimmed(value * 1000, 1)} ms"
    if value < 0.995:
        return f"{trimmed(value)} s"
    if value < 120:
        return f"{trimmed(value, 1)} s"
    if value < 7200:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    return f"{trimmed(value / 3600, 1)} h"


def gap(value: float) -> str:
    """A gap between two tokens: in milliseconds below a second, so that a row of them compares: `27.4 ms`, `530 ms`, `2.1 s`."""
    if value >= 0.9995:
        return seconds(value)
    return f"{trimmed(value * 1000, 0 if value >= 0.09995 else 1)} ms"


def percent(share: float) -> str:
    """A share as percent, whole from ten on: `3.5 %`, `61 %`."""
    value = share * 100
    return f"{trimmed(value, 0 if value >= 9.95 else 1)} %"
