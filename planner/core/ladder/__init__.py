"""The ladder: from the machine that stands there to the users it should serve, by the smallest changes, in order of cost."""

from planner.core.ladder.building import ladder
from planner.core.ladder.rung import Cost, Ladder, Rung

__all__ = ["Cost", "Ladder", "Rung", "ladder"]
