"""What POST /diagnose answers: the object of `manage.py diagnose --json`."""

from typing import Literal

from pydantic import BaseModel, Field

from planner.api.answers.common import Json, Warned
from planner.api.answers.plan import GeneratedFile
from planner.core.diagnosing.diagnosis import BatchSource, Cause, Group, Severity


class LogSpread(BaseModel):
    p50: float
    p90: float
    p95: float
    max: float
    count: int


class LogTasks(BaseModel):
    count: int
    finished: int
    cancelled: int
    refused: int
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int


class BatchSpeed(BaseModel):
    from_: int = Field(alias="from")
    to: int
    rate: float
    n: int


class PassModel(BaseModel):
    """Seconds that a pass takes: of its own, for each token, sequence and cached token in it, and for attention."""

    step: float
    token: float
    further_sequence: float
    cached_token: float
    attention: float


class LogRates(BaseModel):
    """Speeds with nothing else running, fitted to the log or `given`."""

    prefill: float | None
    decode: float | None
    prefill_by_batch: list[BatchSpeed]
    given: bool
    batch: int | None
    batch_source: BatchSource
    decode_streams: int
    pass_model: PassModel | None


class LogBreakdown(BaseModel):
    """Where the seconds of all answered tasks went; in `breakdown_shares` the same as shares."""

    own_generation: float
    own_prefill: float
    contention: float
    waiting: float


class StreamRate(BaseModel):
    median: float | None
    mean: float | None
    n: int


class StreamRates(BaseModel):
    during_long_prefill: StreamRate
    otherwise: StreamRate


class CauseOfWaits(BaseModel):
    """`inferred`: the log does not print it, it follows from who ran meanwhile."""

    cause: Cause
    count: int
    total: float | None
    max: float | None
    inferred: bool


class PromptCacheUse(BaseModel):
    hit_rate: float | None
    misses: int
    reread_tokens: int
    reread_seconds: float


class LogGroup(BaseModel):
    group: Group
    count: int
    ttft: LogSpread | None
    generation_rate: LogSpread | None
    pause: LogSpread | None


class LogPurpose(BaseModel):
    purpose: str
    calls: int
    tasks: int
    ttft: LogSpread | None
    queue: LogSpread | None
    gate: LogSpread | None
    duration: LogSpread | None


class LogExample(BaseModel):
    at: float | None
    task: int | None
    seconds: float
    text: str


class FixEffect(BaseModel):
    """What the fix does on this very log."""

    measure: str
    before: float
    after: float
    low: float
    high: float
    seconds_a_day: float | None
    text: str


class LogFinding(BaseModel):
    """One reason why turns were slow; `lost` is what it cost all turns together."""

    code: str
    severity: Severity
    title: str
    evidence: str
    cause: str
    fix: str
    count: int
    lost: float
    inferred: bool
    examples: list[LogExample]
    files: list[GeneratedFile]
    expected_effect: FixEffect | None


class RuledOutCause(BaseModel):
    hypothesis: str
    evidence: str


class TriedChange(BaseModel):
    change: str
    seconds_a_day: float
    low: float
    high: float
    text: str


class ComparedGroups(BaseModel):
    group: Group
    before: LogGroup
    after: LogGroup


class LogComparison(BaseModel):
    rows: list[ComparedGroups]
    changed: list[str]
    warnings: list[Warned]


class HistogramBar(BaseModel):
    from_: float = Field(alias="from")
    to: float
    count: int


class LogHistograms(BaseModel):
    ttft: list[HistogramBar]
    wait: list[HistogramBar]


class LogMoment(BaseModel):
    at: float
    mean: float
    max: int


class DiagnoseAnswer(BaseModel):
    """A log's diagnosis. What the log does not say is null and named in `warnings`. Nothing that was sent is kept."""

    schema_: Literal[1] = Field(alias="schema")
    engine: str
    format: str
    lines: int
    unparsed_lines: int
    other_lines: int
    bytes: int
    span: float | None
    starts: int
    facts: Json
    tasks: LogTasks
    busy_share: float | None
    two_or_more_share: float | None
    in_flight_max: int | None
    rates: LogRates
    breakdown: LogBreakdown | None
    breakdown_shares: LogBreakdown | None
    ttft: LogSpread | None
    ttft_from: Literal["launch", "sending"]
    itl: LogSpread | None
    wait: LogSpread | None
    generation_rate: StreamRates
    waits_by_cause: list[CauseOfWaits]
    prompt_cache: PromptCacheUse
    preemptions: int | None
    rejections: int
    notices: dict[str, int]
    groups: list[LogGroup]
    purposes: list[LogPurpose]
    findings: list[LogFinding]
    ruled_out: list[RuledOutCause]
    what_if: list[TriedChange]
    comparison: LogComparison | None
    plan_query: str | None
    histograms: LogHistograms
    in_flight: list[LogMoment]
    warnings: list[Warned]
