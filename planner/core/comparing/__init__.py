"""Every machine that could serve a request, as one table: `compare` plans each sensible combination by the same rules as a plan."""

from planner.core.comparing.option import Option
from planner.core.comparing.scope import Scope
from planner.core.comparing.table import compare

__all__ = ["Option", "Scope", "compare"]
