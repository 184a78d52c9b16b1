"""Sensitivity: which inputs move the verdict of a plan, and the exact values at which they do."""

from planner.core.sensitivity.held import Held, held
from planner.core.sensitivity.ranges import End, Range, Sensitivity, Swap, sensitivity
from planner.core.sensitivity.users import most_users

__all__ = ["End", "Held", "Range", "Sensitivity", "Swap", "held", "most_users", "sensitivity"]
