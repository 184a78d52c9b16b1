"""Plan: the frozen tree of answers that every page, file, JSON object and terminal line only shows."""

from dataclasses import dataclass
from typing import Any, Literal

from planner.core.hardware import Node
from planner.core.model_shape import ModelShape
from planner.core.request import PlanRequest

# How sure a figure is. One mark each, the same everywhere.
#   exact: from a file header or the engine's own rule · computed: arithmetic on exact inputs
#   measured: by the user or a named report · estimated: a range stands beside it
Grade = Literal["exact", "computed", "measured", "estimated"]
Verdict = Literal["fits", "tight", "does_not_fit"]
Limit = Literal["memory", "users", "engine"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its grade, where it comes from and, when estimated, its range."""

    value: float
    grade: Grade
    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """Something the reader must know: `code` for scripts, `message` for people, `field` where an input is meant."""

    code: str
    message: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class KnownWeights:
    """A format in which the model's weights are known to exist, and the size of its files."""

    format: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Model:
    """`source` says where the configuration came from; `parameters` is None when only bytes are known."""

    id: str
    revision: str | None
    shape: ModelShape
    parameters: Figure | None
    source: str
    known_weights: tuple[KnownWeights, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """One line of a budget. `kind` orders and colours it: weights, overhead, cache, free, reserved."""

    name: str
    kind: Literal["reserved", "weights", "overhead", "cache", "free"]
    size_bytes: int
    why: str
    grade: Grade
    source: str
    low_bytes: int | None = None
    high_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceBudget:
    """One device of several: what is planned and left to others on it, and what remains (negative: missing). They sum up to the total."""

    name: str
    total_bytes: int
    used_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Memory of the fullest device. The lines sum up to `total_bytes`; a negative `free` line is what is missing.

    `cache_pool_bytes` is what remains for the cache; `cache_tokens` the tokens it holds (None: not a token count).
    `ram_lines` is what the engine takes of main memory beside the device, up to each line's size; they are in no sum.
    `per_device` has every device, in order, and the main memory where a part of the model lies there.
    """

    total_bytes: int
    usable_bytes: int
    lines: tuple[MemoryLine, ...]
    cache_pool_bytes: int
    cache_tokens: int | None
    ram_lines: tuple[MemoryLine, ...] = ()
    per_device: tuple[DeviceBudget, ...] = ()

    def size_of(self, kind: str) -> int:
        return sum(line.size_bytes for line in self.lines if line.kind == kind)


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """Layers that store alike. `bytes_per_token` for those that grow; `bytes_per_sequence` for what is bounded, when full."""

    kind: str
    layers: int
    bytes_per_token: int
    window: int | None
    bytes_per_sequence: int


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache of the whole model. `working` is the arithmetic in the user's numbers, one line per step.

    `request_bytes` is what one request at the full context needs; `reserved_bytes` what the engine sets aside for all slots.
    """

    type_k: str
    type_v: str
    bytes_per_token: int
    bytes_per_sequence: int
    request_bytes: int
    reserved_bytes: int
    groups: tuple[CacheGroup, ...]
    working: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """In-flight requests of `users` people in a closed loop. `distribution[n]` is the probability of n in flight."""

    users: int
    generate_seconds: float
    turn_seconds: float
    in_flight_mean: float
    in_flight_p95: int
    in_flight_p99: int
    distribution: tuple[float, ...]
    always_in_flight: bool


@dataclass(frozen=True, slots=True)
class SlotTrade:
    """What people get with `slots` slots: the share of turns that wait and the mean wait over all turns."""

    slots: int
    wait_probability: float
    mean_wait_seconds: float


@dataclass(frozen=True, slots=True)
class UserScenario:
    """The same machine and plan with another number of users. `bandwidth_share` only where a CPU serves them."""

    users: int
    in_flight_mean: float
    in_flight_p95: int
    one_slot: SlotTrade
    plan_slots: SlotTrade
    slots_needed: int
    cache_needed_bytes: int
    bandwidth_share_bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class Fit:
    """Slots against memory and people. `inequality` is the comparison that decided, with its numbers in it.

    `slots_that_fit` has every slot full to its context. `slots_at_p95_length` is how many requests of the prompt and answer lengths
    given, read as those of the longest in twenty, a shared cache holds at once (None: no lengths, or nothing is shared).
    `warm_conversations` are histories, those of running requests included, that need not be read again.
    `preemptions` is how often a simulation of the load pushed a reply out of a shared cache (None: nothing is shared, or not tried).
    """

    slots: int
    slots_needed: int
    slots_that_fit: int
    context_per_slot: int
    verdict: Verdict
    limit: Limit
    inequality: str
    chosen: SlotTrade
    trades: tuple[SlotTrade, ...]
    max_queue: int
    max_queue_why: str
    slots_at_p95_length: int | None = None
    warm_conversations: int | None = None
    preemptions: int | None = None
    preemptions_why: str = ""


@dataclass(frozen=True, slots=True)
class Percentiles:
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Latency:
    """First token with the wait for it, every gap between tokens, and the longest gap of each reply."""

    ttft_seconds: Percentiles | None
    itl_seconds: Percentiles | None
    pause_seconds: Percentiles | None


@dataclass(frozen=True, slots=True)
class Speed:
    """Single-stream rates in tokens/s and what follows from them. None where nothing is known (a remark says why).

    `felt_source` says how what people feel was found; `fastest` and `slowest` are its range where the rates have one.
    """

    prefill_rate: Figure | None
    decode_rate: Figure | None
    measured: bool
    ttft_seconds: Percentiles | None
    itl_seconds: Percentiles | None
    pause_seconds: Percentiles | None
    felt_source: str = ""
    fastest: Latency | None = None
    slowest: Latency | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """A small change that would help: what to change, what it gains, and the request that has it."""

    change: str
    why: str
    slots_that_fit: int
    changes: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine, its target version, and why this one."""

    name: str
    title: str
    version: str
    why: str
    cache_type_k: str
    cache_type_v: str
    tensor_parallel: int
    pipeline_parallel: int
    memory_utilization: float | None
    batch_tokens: int
    batch_tokens_why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer, up to but not including the engine's files: those are rendered from it (`engines.hand_over`).

    `weights` are the ones it counts with, over all devices.
    `weight_lines` are their parts, where there is more than one; they are in no sum.
    """

    request: PlanRequest
    model: Model
    node: Node
    engine: EngineChoice
    cache: Cache
    memory: MemoryBudget
    workload: Workload
    fit: Fit
    speed: Speed
    scenarios: tuple[UserScenario, ...]
    alternatives: tuple[Alternative, ...]
    remarks: tuple[Remark, ...]
    weight_lines: tuple[MemoryLine, ...] = ()
    weights: KnownWeights | None = None
