"""The kinds of findings. One is a module with a function `FINDING` that looks at a case; a new one is a new file."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Final

from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Finding

Look = Callable[[Case], Finding | None]

_ORDER: Final = {"high": 0, "medium": 1, "low": 2}


@cache
def kinds() -> dict[str, Look]:
    """Every kind by the name of its module."""
    return {entry.name: importlib.import_module(f"{__name__}.{entry.name}").FINDING for entry in pkgutil.iter_modules(__path__)}


def findings(case: Case) -> tuple[Finding, ...]:
    """What is wrong, the costliest first."""
    found = [finding for look in kinds().values() if (finding := look(case)) is not None]
    return tuple(sorted(found, key=lambda each: (_ORDER[each.severity], -each.lost_s, each.code)))
