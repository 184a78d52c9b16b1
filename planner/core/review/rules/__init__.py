"""The mistakes that are looked for: every module here has `RULES`, found when they are needed."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

from planner.core.review.case import Case, Complaint

Rule: TypeAlias = Callable[[Case], Iterator[Complaint]]


@cache
def rules() -> tuple[Rule, ...]:
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(rule for name in modules for rule in importlib.import_module(f"{__name__}.{name}").RULES)
