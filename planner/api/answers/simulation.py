"""What POST /simulate answers: the object of `manage.py simulate --json`."""

from typing import Literal

from pydantic import BaseModel, Field

from planner.api.answers.common import RateFigure, Warned


class RunQuantiles(BaseModel):
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float
    count: int


class RunGroup(BaseModel):
    """What one group of turns met with."""

    name: str
    requests: int
    rejected: int
    failed: int
    ttft: RunQuantiles | None
    itl: RunQuantiles | None
    pause: RunQuantiles | None
    wait: RunQuantiles | None


class RunServer(BaseModel):
    policy: str
    slots: int
    batch: int
    context: int
    max_queue: int | None
    cache_tokens: int | None
    unified: bool


class SimulatedRun(BaseModel):
    """One run. `options` are the values that this point of the sweep has."""

    options: dict[str, float | str]
    ttft: RunQuantiles | None
    itl: RunQuantiles | None
    pause: RunQuantiles | None
    wait: RunQuantiles | None
    rejected: int
    failed: int
    preempted: int
    recomputed_tokens: int
    utilization: float
    idle: float
    slots_busy: float
    longest_queue: int
    tokens_per_second: float
    requests: int
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    steps: int
    seconds: float
    kinds: list[RunGroup]
    beside_long_prefill: RunGroup
    server: RunServer


class Knee(BaseModel):
    """Where the 95th percentile of a measure bends over a sweep's values."""

    option: str
    measure: Literal["ttft", "pause"]
    value: float


class RunSpeeds(BaseModel):
    prefill_rate: RateFigure
    decode_rate: RateFigure


class SimulateAnswer(BaseModel):
    """Simulated runs. The same request and seed give the same runs."""

    schema_: Literal[1] = Field(alias="schema")
    model: str
    machine: str
    policy: str
    seed: int
    replayed: int | None
    speed: RunSpeeds
    runs: list[SimulatedRun]
    knees: list[Knee]
    warnings: list[Warned]
