"""What a simulated run says: what people felt, what was refused, and what the machine did meanwhile."""

from array import array
from collections.abc import Sequence as Many
from dataclasses import dataclass

from planner.core.plan import Percentiles
from planner.core.simulation.histogram import Histogram


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Seconds. `count` values with their mean and the values that 50, 90, 95, 99 and 100 % of them do not exceed."""

    count: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float

    @property
    def percentiles(self) -> Percentiles:
        return Percentiles(self.p50, self.p95, self.p99, self.max)


@dataclass(frozen=True, slots=True)
class Felt:
    """What one group of turns met with; None where there was no such turn, or no gap in any of its replies.

    `ttft` from sending to the first token, the queue included; `wait` of it until the prompt is begun. `itl` is every gap between
    tokens, `pause` the longest gap of each reply. `rejected` were turned away, `failed` lost by the server in the middle.
    """

    name: str
    turns: int
    rejected: int
    failed: int
    ttft: Quantiles | None
    wait: Quantiles | None
    itl: Quantiles | None
    pause: Quantiles | None


@dataclass(frozen=True, slots=True)
class Run:
    """One simulated run.

    `everyone` and one `Felt` per kind of turn, then `beside`: turns with few new tokens whose first token came after some
    pass of a long prefill of somebody else. Tokens: `prompt_tokens` were asked for, of which `cached_tokens` were found in the
    cache; `recomputed_tokens` had to be computed again after a preemption; `output_tokens` were delivered.
    `steps` counts passes and `events` what the loop went through for them (runs of decode steps are one event); `utilization` is the share of time in which a pass runs, `idle` the rest; `slots_busy` the mean number
    of requests being served. `end_s` is when the last reply was complete.
    """

    everyone: Felt
    kinds: tuple[Felt, ...]
    beside: Felt
    prompt_tokens: int
    cached_tokens: int
    computed_tokens: int
    recomputed_tokens: int
    output_tokens: int
    preempted: int
    steps: int
    events: int
    end_s: float
    utilization: float
    slots_busy: float
    longest_queue: int

    @property
    def idle(self) -> float:
        return 1.0 - self.utilization

    @property
    def tokens_per_second(self) -> float:
        """Tokens delivered per second of the whole run."""
        return self.output_tokens / self.end_s if self.end_s else 0.0


def quantiles(values: Many[float]) -> Quantiles | None:
    """Of single values: the smallest that the share does not exceed (nearest rank)."""
    if not values:
        return None
    ordered = sorted(values)
    count = len(ordered)
    p50, p90, p95, p99 = (ordered[max(0, -(-count * percent // 100) - 1)] for percent in (50, 90, 95, 99))
    return Quantiles(count, sum(ordered) / count, p50, p90, p95, p99, ordered[-1])


def histogram_quantiles(gaps: Histogram) -> Quantiles | None:
    """Of a histogram of gaps."""
    count = gaps.total
    if not count:
        return None
    p50, p90, p95, p99 = (gaps.quantile(percent / 100) for percent in (50, 90, 95, 99))
    return Quantiles(count, gaps.mean, p50, p90, p95, p99, gaps.longest)


class Tally:
    """What a run adds up for one group of turns while it goes on."""

    __slots__ = ("failed", "gaps", "name", "pauses", "rejected", "ttfts", "waits")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ttfts, self.waits, self.pauses = array("d"), array("d"), array("d")
        self.gaps = Histogram()
        self.rejected = self.failed = 0

    def felt(self) -> Felt:
        return Felt(
            name=self.name,
            turns=len(self.ttfts),
            rejected=self.rejected,
            failed=self.failed,
            ttft=quantiles(self.ttfts),
            wait=quantiles(self.waits),
            itl=histogram_quantiles(self.gaps),
            pause=quantiles(self.pauses),
        )


def together(tallies: Many[Tally], name: str = "everyone") -> Tally:
    """All groups as one."""
    every = Tally(name)
    for tally in tallies:
        every.ttfts.extend(tally.ttfts)
        every.waits.extend(tally.waits)
        every.pauses.extend(tally.pauses)
        every.gaps.absorb(tally.gaps)
        every.rejected += tally.rejected
        every.failed += tally.failed
    return every
