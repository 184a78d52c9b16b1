"""The inference servers Slotwise can plan for: one package each with an `ENGINE`, found here."""

import importlib
import pkgutil
from functools import cache
from typing import cast

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
