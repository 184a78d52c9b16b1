"""What stands around a program's own line: journald, syslog, docker, compose and kubernetes put a prefix before it."""

import re
from datetime import datetime
from typing import Final

_MONTHS: Final = {name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_ISO: Final = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_SYSLOG: Final = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
_SENDER: Final = rb"[\w.-]{1,64} [\w.@/-]{1,64}(?:\[\d{1,10}\])?: "

# To be put into a pattern after the line's beginning. Each part is bounded, begins with something of its own and is taken or not.
PREFIX: Final = (
    rb"(?:[\w.-]{1,64} {1,32}\| )?(?:(?:" + _ISO + rb"|" + _SYSLOG + rb") (?:(?:stderr|stdout) [FP] )?(?:" + _SENDER + rb')?|\{"log":")?'
)

_WALL: Final = re.compile(
    rb"(?:[\w.-]{1,64} {1,32}\| )?(?:"
    rb"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?P<part>[.,]\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d)?"
    rb"|(?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d)(?P<piece>\.\d{1,6})?) "
)
_DOCKER: Final = re.compile(
    rb'"time":"(?P<date>\d{4}-\d\d-\d\d)T(?P<time>\d\d:\d\d:\d\d)(?P<part>\.\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d)?"\}'
)
# Syslog writes no year. One with a 29th of February.
_SOME_YEAR: Final = 2024


def wall_clock_s(block: bytes, start: int) -> float | None:
    """When the line at `start` was written, by the prefix's clock: seconds since 1970, or since some new year where no year is said."""
    found = _WALL.match(block, start)
    if found is None and block.startswith(b'{"log":"', start):
        found = _DOCKER.search(block, start, block.find(b"\n", start))
    if found is None:
        return None
    try:
        return _seconds(found)
    except ValueError:
        return None


def _seconds(found: re.Match[bytes]) -> float:
    """Raises ValueError for a date that does not exist."""
    if found.lastgroup in {"clock", "piece"}:
        hours, minutes, seconds = (int(part) for part in found["clock"].split(b":"))
        moment = datetime(_SOME_YEAR, _MONTHS.get(found["month"], 0), int(found["day"]), hours, minutes, seconds)  # noqa: DTZ001 - says no zone
        return (moment - datetime(_SOME_YEAR, 1, 1)).total_seconds() + float(found["piece"] or 0)  # noqa: DTZ001 - likewise
    zone = (found["zone"] or b"+00:00").replace(b"Z", b"+00:00")
    moment = datetime.fromisoformat((found["date"] + b"T" + found["time"] + zone).decode())
    return moment.timestamp() + float((found["part"] or b"0").replace(b",", b"."))
