"""What is asked of a diagnosis beside the log itself."""

from dataclasses import dataclass, field

from planner.core.diagnosing.calls import Calls
from planner.core.diagnosing.rates import Given
from planner.core.logs.metrics import Metrics
from planner.core.logs.vmstat import Vmstat
from planner.core.simulation.loop import LONG_PREFILL


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`long_prefill` only sorts tables: a stall is found from its effect. `metrics` and `vmstat` are what was taken beside the log.

    `tries` replays the log under other settings: off where only the figures are wanted.
    """

    long_prefill: int = LONG_PREFILL
    given: Given = field(default_factory=Given)
    calls: Calls | None = None
    metrics: Metrics | None = None
    vmstat: Vmstat | None = None
    tries: bool = True
