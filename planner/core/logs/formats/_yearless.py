"""A clock that prints month, day and time but no year, as Python's loggers are often set: seconds that never start anew."""

import re
from typing import Final

CLOCK: Final = re.compile(rb"(?<!\d)([01]\d)-([0-3]\d) ([0-2]\d):([0-5]\d):([0-6]\d)(?!\d)")

_DAY_S: Final = 86_400
_HALF_A_YEAR_S: Final = 183 * _DAY_S
_DAYS_BEFORE: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


class YearlessClock:
    """Seconds since the beginning of the first year. A fall by more than half a year is New Year's Eve; a leap day is one where it is seen."""

    __slots__ = ("_last_s", "_leap", "_year_s")

    def __init__(self) -> None:
        self._year_s = 0.0
        self._last_s = 0.0
        self._leap = False

    def seconds(self, found: re.Match[bytes]) -> float | None:
        """Of what CLOCK found. None for a day that no year has."""
        month, day, hour, minute, second = (int(group) for group in found.groups())
        if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24):
            return None
        now_s = self._in_year(month, day) + hour * 3_600 + minute * 60 + second
        if now_s < self._last_s - _HALF_A_YEAR_S:
            self._year_s += (365 + self._leap) * _DAY_S
            self._leap = False
            now_s = self._in_year(month, day) + hour * 3_600 + minute * 60 + second
        self._leap |= (month, day) == (2, 29)
        self._last_s = now_s
        return now_s

    def _in_year(self, month: int, day: int) -> float:
        days = _DAYS_BEFORE[month - 1] + day - 1 + (self._leap and month > 2)
        return self._year_s + days * _DAY_S
