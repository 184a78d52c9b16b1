"""The inputs that can move a verdict, each as steps of a size that means something to people."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from planner.core import units
from planner.core.draft import Outline
from planner.core.request import MAX_USERS, PlanRequest
from planner.core.sensitivity.held import Held

Unit = Literal["users", "tokens", "seconds", "share", "bytes", "tokens_per_s"]

_LONGEST_SECONDS: Final = 86_400
_LONGEST_CONTEXT: Final = 2**20
_FASTEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Input:
    """An input and the grid on which it is varied: the values n ÷ `per` × `size` for n from `least` to `most`.

    `value` is the plan's own, on the grid or off it; `low` and `high` bound it where it is an estimate.
    """

    field: str
    title: str
    unit: Unit
    value: float
    least: int
    most: int
    size: int = 1
    per: int = 1
    low: float | None = None
    high: float | None = None

    def at(self, n: int) -> float:
        return n * self.size if self.per == 1 else n / self.per

    def steps(self, n: int) -> float:
        """The value `n` steps up (or down) from the plan's own: the first step reaches the next value of the grid."""
        if n == 0:
            return self.value
        own = self.value * self.per / self.size
        return self.at((int(own // 1) if n > 0 else -int(-own // 1)) + n)

    @property
    def most_up(self) -> int:
        return max(0, self.most - int(self.value * self.per / self.size // 1))

    @property
    def most_down(self) -> int:
        return max(0, -int(-(self.value * self.per / self.size) // 1) - self.least)

    def changes(self, value: float) -> Mapping[str, Any]:
        return {self.field: int(value) if self.unit in {"users", "tokens", "bytes"} else float(value)}


_SHOW: Final[Mapping[Unit, Callable[[float], str]]] = {
    "users": lambda value: units.counted(int(value), "user"),
    "tokens": lambda value: units.counted(int(value), "token"),
    "seconds": units.seconds,
    "share": lambda value: f"{units.trimmed(value * 100, 1)} %",
    "bytes": lambda value: f"{units.trimmed(value / units.MIB, 0)} MiB",
    "tokens_per_s": lambda value: f"{units.significant(value, 4)} tokens/s",
}


def shown(unit: Unit, value: float) -> str:
    """The value as people read it: `37 users`, `21,504 tokens`, `14.2 s`."""
    return _SHOW[unit](value)


def inputs(held: Held, own: Outline) -> Iterator[Input]:
    """Every input whose value can move the verdict of the plan, in the order of a form."""
    request = held.request
    yield Input("users", "People", "users", request.users, 1, MAX_USERS)
    longest = min(held.source.shape.max_context or _LONGEST_CONTEXT, _LONGEST_CONTEXT)
    yield Input("context", "Context of one conversation", "tokens", own.request.context, 1, max(longest, own.request.context))
    yield from _duty(request, own)
    yield Input("wait_target", "Share of turns that may wait", "share", request.wait_target, 0, 1000, per=1000)
    yield Input("patience", "Seconds people wait in the queue", "seconds", request.patience, 1, 10 * _LONGEST_SECONDS, per=10)
    yield from _memory(request, own)


def _duty(request: PlanRequest, own: Outline) -> Iterator[Input]:
    """The duty cycle as the plan knows it: as durations, or as token counts with the speeds that turn them into durations."""
    most = 10 * _LONGEST_SECONDS
    if request.generate_seconds is not None or not request.output_tokens:
        yield Input("generate_seconds", "Seconds a reply takes", "seconds", own.load.generate_seconds, 1, most, per=10)
        yield Input("turn_seconds", "Seconds from turn to turn", "seconds", own.load.turn_seconds, 1, most, per=10)
        return
    if request.prompt_tokens:
        yield Input("prompt_tokens", "Tokens of a prompt", "tokens", request.prompt_tokens, 1, own.request.context)
    yield Input("output_tokens", "Tokens of an answer", "tokens", request.output_tokens, 1, own.request.context)
    if request.turn_seconds is not None:
        yield Input("turn_seconds", "Seconds from turn to turn", "seconds", request.turn_seconds, 1, most, per=10)
    elif request.think_seconds is not None:
        yield Input("think_seconds", "Pause between answer and next turn", "seconds", request.think_seconds, 0, most, per=10)
    for field, title, rate in (
        ("decode_rate", "Decode speed of one stream", own.rates.decode_rate),
        ("prefill_rate", "Prefill speed of one stream", own.rates.prefill_rate),
    ):
        if rate is not None and (field == "decode_rate" or request.prompt_tokens):
            yield Input(field, title, "tokens_per_s", rate.value, 1, 10 * _FASTEST, per=10, low=rate.low, high=rate.high)


def _memory(request: PlanRequest, own: Outline) -> Iterator[Input]:
    """What is left to others, and the weights where their size is an estimate."""
    if request.cache_memory is not None:
        yield Input("cache_memory", "Cache pool of a device", "bytes", request.cache_memory, 1, 2**20, size=units.MIB)
        return
    node, weights = own.job.node, own.job.weights
    free = node.devices[0].memory_bytes - node.devices[0].system_bytes
    title = "Memory left to others on the first device" if node.has_gpu else "Memory left to the system and others"
    yield Input("reserved_memory", title, "bytes", node.reserved_bytes, 0, max(1, free // units.MIB - 1), size=units.MIB)
    if weights.grade == "estimated":
        yield Input(
            "weights_size",
            "Size of the weights",
            "bytes",
            weights.size_bytes,
            1,
            2**24,
            size=units.MIB,
            low=weights.low_bytes,
            high=weights.high_bytes,
        )
