"""Diagnosis: what a log says about its slow turns. A frozen tree; pages, files and the terminal only show it.

Times are seconds on the log's own clock, rates tokens per second, shares 0 to 1. What the log does not say is None and has a remark.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from planner.core.engines.contract import File
from planner.core.logs.record import Counts, Facts
from planner.core.plan import Remark
from planner.core.simulation import PassCost

Severity = Literal["high", "medium", "low"]
BatchSource = Literal["printed", "inferred", "assumed"]
Cause = Literal["other_adapter", "same_adapter", "slots_full", "nothing"]
CAUSES: Final[tuple[Cause, ...]] = ("other_adapter", "same_adapter", "slots_full", "nothing")

# Groups of turns that are alike, by what ran beside them: only within one of them two logs are compared.
Group = Literal["alone", "overlapping", "beside_long", "long_prompt"]
GROUPS: Final[Mapping[Group, str]] = {
    "alone": "short turns, nothing else running",
    "overlapping": "short turns, another task running",
    "beside_long": "short turns, a long prefill running",
    "long_prompt": "long prompts",
}


@dataclass(frozen=True, slots=True)
class Spread:
    """`count` values and the ones that 50, 90, 95 and 100 % of them do not exceed."""

    count: int
    p50: float
    p90: float
    p95: float
    max: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin of a distribution: `count` values between `low` and `high`."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class BatchRate:
    """Prompt tokens per second of passes that advanced a prompt by `low` to `high` tokens; `count` of them."""

    low: int
    high: int
    rate: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Speeds with nothing else running. `cost` is the pass model fitted to the log (None: too little in it).

    `prefill` and `decode` are what the log's own mean prompt and answer have under it, or the given ones (`given`).
    `batch_source`: the batch is printed (or plain from its progress lines), follows from what answers got beside prompts, or is the default.
    `decode_streams`: the fewest streams that ever generated together; above 1 the single stream is extrapolated.
    """

    prefill: float | None = None
    decode: float | None = None
    by_batch: tuple[BatchRate, ...] = ()
    cost: PassCost | None = None
    batch_tokens: int | None = None
    batch_source: BatchSource = "assumed"
    decode_streams: int = 1
    given: bool = False


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Where the seconds of all answered tasks went, from launch to last token."""

    own_generation_s: float
    own_prefill_s: float
    contention_s: float
    waiting_s: float

    @property
    def total_s(self) -> float:
        return self.own_generation_s + self.own_prefill_s + self.contention_s + self.waiting_s

    def share(self, seconds: float) -> float:
        return seconds / self.total_s if self.total_s else 0.0


@dataclass(frozen=True, slots=True)
class GenerationRate:
    """Tokens per second that a stream got. `n` stretches of one stream each, their median; `mean` is all tokens over all seconds."""

    median: float | None
    mean: float | None
    n: int


@dataclass(frozen=True, slots=True)
class WaitCause:
    """Tasks that waited for this reason. `inferred`: the log does not print it, it follows from who ran meanwhile.

    `total_s` is None where only the number is known: how long a request waited for a slot is not in a log.
    """

    cause: Cause
    count: int
    total_s: float | None
    max_s: float | None
    inferred: bool


@dataclass(frozen=True, slots=True)
class PromptCache:
    """`hit_rate` of the prompt tokens was found in the cache. `misses` are prompts of conversations that had been there before."""

    hit_rate: float | None
    misses: int
    reread_tokens: int
    reread_s: float


@dataclass(frozen=True, slots=True)
class Example:
    """One case of a finding: when, which task, how long, and what happened in words."""

    at_s: float | None
    task: int | None
    seconds: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What the fix does on this very log, by replaying it: `measure` before and after, with the range the fit leaves.

    `seconds_a_day` is what everybody together would save.
    """

    measure: str
    before: float
    after: float
    low: float
    high: float
    seconds_a_day: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason why turns were slow. `lost_s` is what it cost all turns together (it orders the findings)."""

    code: str
    severity: Severity
    title: str
    evidence: str
    cause: str
    fix: str
    lost_s: float = 0.0
    count: int = 0
    examples: tuple[Example, ...] = ()
    files: tuple[File, ...] = ()
    effect: Effect | None = None
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class RuledOut:
    hypothesis: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Stall:
    """A stretch in which a stream hardly got a token because another task's prompt was read."""

    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One task as a bar over time: launched, first pass, first token, end. `stalls` are marked on it."""

    task: int
    slot: int
    ending: str
    launched_s: float
    started_s: float
    first_token_s: float
    ended_s: float
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    stalls: tuple[Stall, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """Tasks in flight in one bin of the log's time: on average and at most."""

    at_s: float
    mean: float
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """A row of the application's own calls. `queue` is from sending to the slot, `gate` its own wait before sending."""

    name: str
    calls: int
    tasks: int
    ttft: Spread | None = None
    queue: Spread | None = None
    gate: Spread | None = None
    duration: Spread | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """What one group of like turns met with."""

    group: Group
    count: int
    ttft: Spread | None
    rate: Spread | None
    pause: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """One change tried on this log before anyone works on it. `seconds_a_day`: saved by all turns together, with its range."""

    change: str
    seconds_a_day: float
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One group of two logs side by side."""

    group: Group
    before: GroupFigures
    after: GroupFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    rows: tuple[Compared, ...]
    changed: tuple[str, ...]
    warnings: tuple[Remark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The whole answer. `query` opens the planner with the fitted speeds and the observed load (None: too little known)."""

    facts: Facts
    counts: Counts
    span_s: float | None
    tasks: int
    finished: int
    cancelled: int
    refused: int
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    busy_share: float | None
    two_or_more_share: float | None
    in_flight_max: int | None
    rates: Rates
    breakdown: Breakdown | None
    ttft: Spread | None
    itl: Spread | None
    wait: Spread | None
    ttft_from: Literal["launch", "sending"] = "launch"
    during_long_prefill: GenerationRate
    otherwise: GenerationRate
    waits: tuple[WaitCause, ...]
    prompt_cache: PromptCache
    preemptions: int | None
    rejections: int
    groups: tuple[GroupFigures, ...]
    purposes: tuple[Purpose, ...]
    findings: tuple[Finding, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    comparison: Comparison | None = None
    query: str | None = None
    lanes: tuple[Lane, ...] = ()
    lanes_thinned: bool = False
    in_flight: tuple[Moment, ...] = ()
    ttft_bars: tuple[Bar, ...] = ()
    wait_bars: tuple[Bar, ...] = ()
    warnings: tuple[Remark, ...] = ()
    notices: Mapping[str, int] = field(default_factory=dict)
