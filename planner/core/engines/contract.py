"""What every engine provides. Pages, files, JSON and terminal show these types and know no engine by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from planner.core.attention.stores import Store
from planner.core.hardware import Device, Node
from planner.core.model_shape import ModelShape
from planner.core.plan import MemoryBudget, Plan, Remark
from planner.core.spill import Spill
from planner.core.weights import Weights


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the engine. `value` is its argument (None: a bare switch); `why` is in the user's own numbers.

    `more` are the further words of an option that takes several.
    `flag` is the command-line name, None when only an environment variable exists (Ollama); `env` likewise.
    `default` is the engine's own in this version, as it would be typed; `breaks` says what goes wrong if it is changed.
    `source` names the input it came from.
    """

    flag: str | None
    value: str | None
    why: str
    env: str | None = None
    default: str | None = None
    breaks: str = ""
    source: str = ""
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A file to install. `path` is where it goes on the target; `mode` its permission bits."""

    path: str
    content: str
    why: str
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Step:
    """A command to run, what it must print, and why."""

    command: str
    expect: str
    why: str


@dataclass(frozen=True, slots=True)
class ExpectedLine:
    """A start-up line as the engine will print it.

    `certain` is the part that is printed whatever happens, where the figures in the line are estimates; else the whole line is certain.
    """

    line: str
    why: str
    certain: str | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the engine will report at start. `values` has the keys of interfaces.md for the engine."""

    values: Mapping[str, Any]
    lines: tuple[ExpectedLine, ...]


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure in a start-up line. `key` is what the plan calls it (`StartUp.expected`), `name` what people do.

    `tolerance` is how far the plan's figure may lie from it and still be the same: half of the last printed digit, or more
    where the engine counts something with it.
    """

    key: str
    name: str
    value: float | str
    shown: str
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """Why a server may print other figures than planned: changes to the request under which they would be expected.

    `changes` is one set of them, or two for the ends of what a rounded figure stands for; `words` are added to the command line.
    `because` completes “the server runs with”. `key` is the printed figure that says so, None for a guess.
    """

    because: str
    key: str | None = None
    changes: tuple[Mapping[str, Any], ...] = ({},)
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Base:
    """The plan said once more in a way that causes can be added to: changes to the request and the words of a command line."""

    changes: Mapping[str, Any]
    words: tuple[str, ...] = ()


class StartUp(Protocol):
    """How an engine's start-up lines are read and held against a plan. `paste` says which lines to paste."""

    paste: str
    # The figures that are measured at start and that a plan can at best estimate, each with what to look for where it lies beyond;
    # and the one of them that is the pool of cache.
    measured: Mapping[str, str]
    pool: str | None

    def printed(self, lines: Sequence[str]) -> tuple[Printed, ...]:
        """The figures in the lines of the last start among them, each key once."""

    def expected(self, expectation: Expectation) -> Mapping[str, float | str]:
        """The plan's figures by the keys of `printed`, in the same units."""

    def shown(self, key: str, value: float | str) -> str:
        """A figure of the plan as the engine would print it."""

    def ranges(self, expectation: Expectation) -> Mapping[str, tuple[float, float]]:
        """(lowest, highest) of those figures that are estimates."""

    def base(self, expectation: Expectation) -> Base: ...

    def causes(self, printed: Mapping[str, Printed], expectation: Expectation) -> Iterator[Cause]:
        """The differences that the lines state themselves, in the order in which they count, then what else may be behind one."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """Everything an operator takes away. `remarks` are what the settings could not say: an option left out, a file to be added.

    `measure` measures the speeds of a plan that had to estimate them (None: they are measured).
    """

    settings: tuple[Setting, ...]
    command: str
    files: tuple[File, ...]
    apply: tuple[Step, ...]
    verify: tuple[Step, ...]
    undo: tuple[Step, ...]
    expect: Expectation
    remarks: tuple[Remark, ...] = ()
    measure: Step | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked of an engine, already validated: a model, its weights, a machine and the knobs that decide memory.

    Cache types are the engine's own names ("auto": its default). `cache_memory_bytes` is a known pool per device.
    `images`: a model that can see is served with its encoder.
    `engine_args` is a command line whose values win over the planner's choice.
    """

    shape: ModelShape
    weights: Weights
    node: Node
    context_tokens: int
    version: str
    cache_type_k: str = "auto"
    cache_type_v: str = "auto"
    batch_tokens: int | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    memory_utilization: float | None = None
    cache_memory_bytes: int | None = None
    images: bool = True
    engine_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Room:
    """How many conversations at the full context fit. `limit`: memory, or the engine itself (a forced single slot)."""

    slots: int
    limit: Literal["memory", "engine"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many conversations at the full context fit. `limit`: memory, or the engine itself (a forced single slot).

    `inequality` is the comparison that decides, in numbers.
    """

    slots: int
    limit: Literal["memory", "engine"]
    inequality: str
    remarks: tuple[Remark, ...] = ()


# A store of one layer and its bytes for the whole model in the job's cache types: of one row of all heads, or of one sequence's state.
Stored = tuple[Store, int]


class Engine(Protocol):
    """One inference server. Found by `engines.ENGINES`; a new one is a new module."""

    name: str
    title: str
    # The releases its tables tell apart, oldest first: the last is the default target.
    versions: tuple[str, ...]
    # It loads GGUF files, else the checkpoint's own safetensors.
    serves_gguf: bool
    # The tokens of one pass can be set.
    sets_batch: bool

    def eight_bit_cache(self, device: Device) -> str | None:
        """The 8-bit cache type to try on `device` when memory is short; None where the engine has none that runs there."""

    def parallel_sizes(self, job: Job, *, tensor: int | None, pipeline: int | None) -> tuple[int, int]:
        """Tensor- and pipeline-parallel sizes for the job's machine: those given, else the largest arrangement the model allows."""

    def check(self, job: Job) -> None:
        """Raises InputError when this engine cannot run the job at all (cache type, parallel size, version)."""

    def cache_types(self, job: Job) -> tuple[str, str]:
        """The cache types for keys and values that the job ends up with, "auto" resolved."""

    def default_batch_tokens(self, job: Job) -> int:
        """Tokens of one pass (n_batch, max_num_batched_tokens) if nobody says otherwise, on this device and version."""

    def stated_batch_tokens(self, job: Job) -> int | None:
        """The tokens of one pass that the job's command line fixes, None where it leaves them to the planner."""

    def stored(self, job: Job) -> tuple[tuple[Stored, ...], ...]:
        """What each layer stores under this engine: a window it ignores is full attention, a draft layer it caches is there."""

    def request_bytes(self, job: Job) -> int:
        """Bytes of the whole model's cache that one request at the job's context needs under this engine's rules."""

    def reserved_bytes(self, job: Job, slots: int) -> int:
        """Bytes of the whole model's cache that the engine sets aside for `slots` slots."""

    def budget(self, job: Job, slots: int) -> MemoryBudget:
        """The memory of the fullest device with `slots` slots."""

    def stated(self, job: Job) -> tuple[int | None, int | None]:
        """(slots, tokens of one slot) where the job's command line fixes them, None where it leaves them to the planner."""

    def room(self, job: Job) -> Room: ...

    def capacity(self, job: Job) -> Capacity:
        """The room, with the comparison that decides and what to know about it."""

    def free_bytes(self, job: Job, slots: int) -> int:
        """What is left of the fullest device, as the last line of its budget has it; negative: missing."""

    def spilled(self, job: Job, slots: int) -> Spill | None:
        """What a decode step reads from main memory because the cards do not hold it, None where they hold everything."""

    def slots_at(self, job: Job, slots: int, tokens: int) -> int | None:
        """How many conversations of `tokens` tokens are held at once under the settings for `slots` slots.

        None where every slot's cache is set aside in full, so that shorter ones leave nothing to others.
        """

    def warm_conversations(self, job: Job, slots: int, tokens: int) -> int | None:
        """Histories of `tokens` tokens, running ones included, that need not be read again; None where nothing bounds them."""

    # How its start-up lines are held against a plan.
    start_up: StartUp

    def expect(self, job: Job, slots: int) -> Expectation: ...

    def hand_over(self, plan: Plan, job: Job) -> HandOver: ...
