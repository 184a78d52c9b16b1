"""The record of an answer that is kept with a saved plan, and its facts as people read and compare them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import planner
from planner.answer import Answer
from planner.core import catalog, units
from planner.core.report import plan_json

Json = Mapping[str, Any]
UNKNOWN: Final = "not known"

# The parts of the plan's JSON that a record has: all of a part, or these of its keys. Files and reasons are worked out again.
_KEPT: Final[Mapping[str, tuple[str, ...]]] = {
    "model": (),
    "cache": ("type", "bytes_per_token", "bytes_per_sequence", "bytes_per_request", "bytes_reserved"),
    "memory": ("total", "usable", "weights", "overhead", "cache_pool", "cache_tokens", "free"),
    "workload": (),
    "fit": (
        "slots", "slots_needed", "slots_that_fit", "context_per_slot", "verdict", "limit", "inequality", "wait_probability", "mean_wait",
        "max_queue", "slots_at_p95_length", "warm_conversations",
    ),
    "speed": (),
    "engine": ("name", "version", "tensor_parallel", "pipeline_parallel", "command"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """What a version keeps of an answer: the record, and with what it was made."""

    result: Json
    application: str
    catalog: str
    engine: str


def record(answer: Answer) -> Made:
    plan = answer.plan
    whole = plan_json(plan, answer.hand_over)
    kept = {part: {key: whole[part][key] for key in keys or whole[part]} for part, keys in _KEPT.items()}
    beside = {
        "schema": whole["schema"],
        "headline": whole["headline"],
        "machine": plan.node.title,
        "weights": {"format": plan.weights.format, "size": plan.weights.size_bytes} if plan.weights else None,
        "summary": f"{plan.model.id} · {plan.node.title} · {plan.workload.users:,} users · {plan.request.context:,} tokens each",
    }
    return Made({**beside, **kept}, planner.VERSION, str(catalog.CATALOG_VERSION), f"{plan.engine.title} {plan.engine.version}")


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _few(value: float) -> str:
    return units.trimmed(value)


def _rate(value: float) -> str:
    return f"{units.significant(value)} tokens/s"


VERDICTS: Final[Mapping[str, str]] = {"fits": "Fits", "tight": "Tight", "does_not_fit": "Does not fit"}


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a record: where it stands there, and how it is shown. `name` is how a sentence calls it."""

    name: str
    path: str
    show: Callable[[Any], str] = str

    def of(self, result: Json) -> str:
        """The fact as people read it; what is not known or not in an older record is said to be so."""
        found: Any = result
        for key in self.path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return UNKNOWN if found is None else self.show(found)


FACTS: Final = (
    Fact("verdict", "fit.verdict", lambda verdict: VERDICTS.get(verdict, verdict)),
    Fact("slots that fit", "fit.slots_that_fit", _count),
    Fact("slots needed", "fit.slots_needed", _count),
    Fact("slots", "fit.slots", _count),
    Fact("context per slot", "fit.context_per_slot", _count),
    Fact("turns that wait", "fit.wait_probability", units.percent),
    Fact("mean wait", "fit.mean_wait", units.seconds),
    Fact("longest queue", "fit.max_queue", _count),
    Fact("requests in flight, mean", "workload.in_flight_mean", _few),
    Fact("requests in flight, 95th percentile", "workload.in_flight_p95", _count),
    Fact("model", "model.id"),
    Fact("revision", "model.revision"),
    Fact("parameters", "model.parameters", _count),
    Fact("longest context of the model", "model.max_context", _count),
    Fact("weight format", "weights.format"),
    Fact("size of the weights", "weights.size", units.gib),
    Fact("machine", "machine"),
    Fact("memory", "memory.total", units.gib),
    Fact("usable memory", "memory.usable", units.gib),
    Fact("weights on the fullest card", "memory.weights", units.gib),
    Fact("overhead", "memory.overhead", units.gib),
    Fact("cache pool", "memory.cache_pool", units.gib),
    Fact("tokens in the pool", "memory.cache_tokens", _count),
    Fact("memory left", "memory.free", units.gib),
    Fact("cache type", "cache.type"),
    Fact("cache per token", "cache.bytes_per_token", units.size),
    Fact("cache per request", "cache.bytes_per_request", units.size),
    Fact("prefill rate", "speed.prefill_rate", _rate),
    Fact("decode rate", "speed.decode_rate", _rate),
    Fact("time to first token, 95th percentile", "speed.ttft.p95", units.seconds),
    Fact("longest pause, 95th percentile", "speed.pause.p95", units.seconds),
    Fact("engine", "engine.name"),
    Fact("engine version", "engine.version"),
    Fact("tensor parallel", "engine.tensor_parallel", _count),
    Fact("command line", "engine.command"),
)
# What the page of a plan shows first, and a sentence about a new version names.
MAIN: Final = FACTS[:4]


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name} {self.before} → {self.after}"


def differences(before: Json, after: Json, facts: tuple[Fact, ...] = FACTS) -> Iterator[Difference]:
    """The facts that read differently: what differs only beyond the digits that are shown has not changed for anybody."""
    for fact in facts:
        was, now = fact.of(before), fact.of(after)
        if was != now:
            yield Difference(fact.name, was, now)
