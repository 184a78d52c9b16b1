"""What POST /plan answers: the object of `manage.py plan --json`."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from planner.api.answers.common import Json, Warned
from planner.core.plan import Grade, Limit, Verdict


class PlanModel(BaseModel):
    id: str
    revision: str | None
    architecture: str | None
    layers: int
    max_context: int | None
    parameters: int | None
    source: str


class CacheGroup(BaseModel):
    kind: str
    layers: int
    bytes_per_token: int
    window: int | None
    bytes_per_sequence: int


class PlanCache(BaseModel):
    type: str
    bytes_per_token: int
    bytes_per_sequence: int
    bytes_per_request: int
    bytes_reserved: int
    groups: list[CacheGroup]
    working: list[str]


class PlanMemoryLine(BaseModel):
    name: str
    kind: Literal["reserved", "weights", "overhead", "cache", "free"]
    bytes: int
    low: int | None
    high: int | None
    grade: Grade
    why: str
    source: str


class DeviceMemory(BaseModel):
    name: str
    total: int
    used: int
    free: int


class PlanMemory(BaseModel):
    """Of the fullest card."""

    total: int
    usable: int
    weights: int
    overhead: int
    cache_pool: int
    cache_tokens: int | None
    free: int
    lines: list[PlanMemoryLine]
    devices: list[DeviceMemory]
    ram_lines: list[PlanMemoryLine]
    weight_lines: list[PlanMemoryLine]


class PlanWorkload(BaseModel):
    users: int
    generate_seconds: float
    turn_seconds: float
    in_flight_mean: float
    in_flight_p95: int
    in_flight_p99: int


class Trade(BaseModel):
    slots: int
    wait_probability: float
    mean_wait: float


class PlanFit(BaseModel):
    """`fits`: more slots fit than are needed; `tight`: as many, or fewer with a wait that people bear."""

    slots: int
    slots_needed: int
    slots_that_fit: int
    context_per_slot: int
    verdict: Verdict
    limit: Limit
    inequality: str
    wait_probability: float
    mean_wait: float
    max_queue: int
    slots_at_p95_length: int | None
    warm_conversations: int | None
    preemptions: int | None
    trades: list[Trade]


class Waiting(BaseModel):
    wait_probability: float
    mean_wait: float


class Scenario(BaseModel):
    """Other numbers of users. `bandwidth_share` is the memory bandwidth that each stream has, in bytes per second."""

    users: int
    in_flight_mean: float
    in_flight_p95: int
    slots_needed: int
    cache_needed: int
    one_slot: Waiting
    plan_slots: Waiting
    bandwidth_share: float | None


class PlanPercentiles(BaseModel):
    p50: float
    p95: float
    p99: float
    max: float


class FeltLatency(BaseModel):
    ttft: PlanPercentiles | None
    itl: PlanPercentiles | None
    pause: PlanPercentiles | None


class FeltRange(BaseModel):
    """The same where the machine is as fast, and as slow, as its estimated rates may be."""

    source: str
    fastest: FeltLatency | None
    slowest: FeltLatency | None


class PlanSpeed(BaseModel):
    prefill_rate: float | None
    decode_rate: float | None
    measured: bool
    ttft: PlanPercentiles | None
    itl: PlanPercentiles | None
    pause: PlanPercentiles | None
    felt: FeltRange


class EngineFlag(BaseModel):
    flag: str | None
    env: str | None
    value: str | None
    default: str | None
    why: str
    breaks: str
    source: str


class GeneratedFile(BaseModel):
    path: str
    content: str
    why: str


class OperatorStep(BaseModel):
    command: str
    expect: str
    why: str


class PrintedLine(BaseModel):
    line: str
    why: str


class EngineExpectation(BaseModel):
    """What the engine itself prints at start; `values` has other keys for each engine."""

    bytes_per_request: int
    bytes_reserved: int
    values: Json
    lines: list[PrintedLine]


class PlanEngine(BaseModel):
    name: str
    version: str
    tensor_parallel: int
    pipeline_parallel: int
    why: str
    flags: list[EngineFlag]
    command: str
    files: list[GeneratedFile]
    apply: list[OperatorStep]
    verify: list[OperatorStep]
    undo: list[OperatorStep]
    measure: OperatorStep | None
    expect: EngineExpectation


class Alternative(BaseModel):
    """`inputs` are the changes to the request."""

    change: str
    slots_that_fit: int
    why: str
    inputs: dict[str, Any]


class PlanAnswer(BaseModel):
    """The plan. What is not known is null and has an entry in `warnings`."""

    schema_: Literal[1] = Field(alias="schema")
    headline: str
    model: PlanModel
    cache: PlanCache
    memory: PlanMemory
    workload: PlanWorkload
    fit: PlanFit
    scenarios: list[Scenario]
    speed: PlanSpeed
    engine: PlanEngine
    alternatives: list[Alternative]
    warnings: list[Warned]
