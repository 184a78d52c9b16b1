"""One request at a time: the next starts when the last reply is complete. The floor to compare every scheduler with."""

from dataclasses import replace

from planner.core.simulation.policy import Policy
from planner.core.simulation.scheduler import Scheduler


class Serial(Policy):
    """First come, first served with a single slot."""

    name = "serial"
    title = "One at a time"

    def __init__(self, scheduler: Scheduler, *, kinds: int, shared_tokens: int = 0) -> None:
        super().__init__(replace(scheduler, slots=1), kinds=kinds, shared_tokens=shared_tokens)


POLICY = Serial
