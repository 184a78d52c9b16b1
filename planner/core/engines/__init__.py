"""The inference servers Slotwise can plan for: one package each with an `ENGINE`, found here."""

import importlib
import pkgutil
from functools import cache
from typing import cast

from planner.core.engines._tables import flag_tables
from planner.core.engines.contract import Engine


@cache
def engines() -> dict[str, Engine]:
    """Engines by name, in order of their titles. A sub-package is one; modules beside them are shared syntax."""
    found = [
        cast("Engine", importlib.import_module(f"{__name__}.{module.name}").ENGINE)
        for module in pkgutil.iter_modules(__path__)
        if module.ispkg
    ]
    return {engine.name: engine for engine in sorted(found, key=lambda engine: engine.title.lower())}


def version_of(engine: Engine, text: str) -> str:
    """The engine's version in what a person types or its program prints for `--version`, as its tables write it.

    Raises InputError (field "engine_version") where there is none, or more than one.
    """
    return flag_tables()[engine.name].version_in(text)
