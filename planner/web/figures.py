"""The key figures of a plan, each with its formula in the plan's own numbers, its source and how sure it is."""

from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.plan import Figure, Grade, MemoryLine, Plan

GRADES: Final[dict[Grade, str]] = {
    "exact": "from a file header or the engine’s own rule",
    "computed": "arithmetic on exact inputs",
    "measured": "by you, or in a report that is named",
    "estimated": "lies within the range beside it",
}

_CLOSED_QUEUE: Final = "Finite-source queue M/M/c//N with the arrival theorem (Sevcik and Mitrani 1981; Lavenberg and Reiser 1980)."
_BINOMIAL: Final = "Each user is in flight with probability generating ÷ turn, independently of the others: a binomial distribution."


@dataclass(frozen=True, slots=True)
class Asked:
    """A figure that can be asked. `shown` is the number, `formula` how it comes about, `range` only where it is estimated."""

    id: str
    label: str
    shown: str
    grade: Grade
    formula: str
    source: str
    unit: str = ""
    range: str = ""
    kind: str = ""

    @property
    def meaning(self) -> str:
        return f"{self.grade}: {GRADES[self.grade]}"


def readouts(plan: Plan) -> tuple[Asked, ...]:
    """The row of figures under the verdict. Where nobody can be served, nobody waits or queues."""
    wanted = (_slots_that_fit(plan), _slots_needed(plan), _in_flight(plan))
    return (*wanted, _waits(plan), _mean_wait(plan), _queue(plan)) if plan.fit.slots_that_fit else wanted


def memory_lines(plan: Plan) -> tuple[Asked, ...]:
    return _asked_lines("memory", plan.memory.lines)


def lines_beside(plan: Plan) -> list[tuple[str, tuple[Asked, ...]]]:
    """Lines that are in no sum, by what they are: main memory beside the device, and the parts of the weights."""
    beside = (
        ("In main memory beside it", _asked_lines("ram", plan.memory.ram_lines)),
        ("The weights, part by part", _asked_lines("weights", plan.weight_lines)),
    )
    return [(title, lines) for title, lines in beside if lines]


def held_against(plan: Plan) -> tuple[Asked, ...]:
    """What one request needs and what the engine sets aside: the two figures beside the engine's own start-up lines."""
    slots = plan.fit.slots
    each = f", {units.size(plan.cache.reserved_bytes / slots)} for each" if slots > 1 else ""
    return (
        Asked(
            "request-bytes", f"for one request of {plan.request.context:,} tokens", units.gib(plan.cache.request_bytes), "computed",
            f"{'; '.join(plan.cache.working)}.", f"{plan.cache.request_bytes:,} B of the whole model’s cache, as {plan.engine.title} stores it.",
        ),
        Asked(
            "reserved-bytes", f"set aside for {slots:,} slot{'s' if slots != 1 else ''}", units.gib(plan.cache.reserved_bytes),
            "computed", f"Whole blocks or cells, padding and windows in full, as {plan.engine.title} {plan.engine.version} counts them{each}.",
            f"{plan.cache.reserved_bytes:,} B of the whole model’s cache.",
        ),
    )  # fmt: skip


def _asked_lines(prefix: str, lines: tuple[MemoryLine, ...]) -> tuple[Asked, ...]:
    return tuple(_memory_line(f"{prefix}-{index}", line) for index, line in enumerate(lines))


def _memory_line(id_: str, line: MemoryLine) -> Asked:
    between = ""
    if line.low_bytes is not None and line.high_bytes is not None and line.low_bytes != line.high_bytes:
        between = f"{_bare_gib(line.low_bytes)} to {_bare_gib(line.high_bytes)} GiB"
    source = f"{line.size_bytes:,} B. {line.source}".replace("-", "−", line.size_bytes < 0)
    return Asked(id_, line.name, _bare_gib(line.size_bytes), line.grade, line.why, source, "", between, line.kind)


def _bare_gib(size_bytes: int) -> str:
    """GiB for a column whose head has the unit, with a true minus sign."""
    return units.gib(size_bytes).removesuffix(" GiB").replace("-", "−")


def speeds(plan: Plan) -> tuple[Asked, ...]:
    known = (("prefill_rate", "Prefill", plan.speed.prefill_rate), ("decode_rate", "Decode, one stream", plan.speed.decode_rate))
    return tuple(_rate(name, label, figure) for name, label, figure in known if figure is not None)


def _slots_that_fit(plan: Plan) -> Asked:
    return Asked(
        "slots-that-fit", "slots find room", f"{plan.fit.slots_that_fit:,}", _weakest(plan), plan.fit.inequality,
        f"Memory of the fullest card under {plan.engine.title} {plan.engine.version}, every slot full to {plan.request.context:,} tokens.",
    )  # fmt: skip


def _slots_needed(plan: Plan) -> Asked:
    near = [trade for trade in plan.fit.trades if abs(trade.slots - plan.fit.slots_needed) <= 1]
    trades = ", ".join(f"{trade.slots:,} → {units.percent(trade.wait_probability)}" for trade in near)
    return Asked(
        "slots-needed", "slots needed", f"{plan.fit.slots_needed:,}", "computed",
        f"The fewest with which at most {units.percent(plan.request.wait_target)} of turns find no free slot: {trades}.", _CLOSED_QUEUE,
    )  # fmt: skip


def _in_flight(plan: Plan) -> Asked:
    load = plan.workload
    return Asked(
        "in-flight", "in flight on average", units.trimmed(load.in_flight_mean), "computed",
        f"{load.users:,} users × {units.seconds(load.generate_seconds)} ÷ {units.seconds(load.turn_seconds)}"
        f" = {units.trimmed(load.in_flight_mean, 3)}; at most {load.in_flight_p95:,} for 95 % of the time.",
        _BINOMIAL,
    )  # fmt: skip


def _waits(plan: Plan) -> Asked:
    return Asked(
        "waits", "of turns wait", units.percent(plan.fit.chosen.wait_probability), "computed",
        f"A request that finds {_slots(plan.fit.slots)} busy waits. {_queue_inputs(plan)}", _CLOSED_QUEUE,
    )  # fmt: skip


def _mean_wait(plan: Plan) -> Asked:
    return Asked(
        "mean-wait", "mean wait", units.seconds(plan.fit.chosen.mean_wait_seconds), "computed",
        f"Over all turns, those that do not wait included. {_queue_inputs(plan)}", _CLOSED_QUEUE,
    )  # fmt: skip


def _queue(plan: Plan) -> Asked:
    return Asked(
        "max-queue", "may queue", f"{plan.fit.max_queue:,}", "computed", plan.fit.max_queue_why,
        f"Your patience of {units.seconds(plan.request.patience)}: whoever would wait longer is better told at once.",
    )  # fmt: skip


def _queue_inputs(plan: Plan) -> str:
    load = plan.workload
    pause = units.seconds(load.turn_seconds - load.generate_seconds)
    return (
        f"{load.users:,} users, {units.seconds(load.generate_seconds)} generating, {pause} until the next turn, {plan.fit.slots:,} slots."
    )


def _slots(count: int) -> str:
    return "its only slot" if count == 1 else f"all {count:,} slots"


def _rate(name: str, label: str, figure: Figure) -> Asked:
    digits = 3 if figure.grade == "estimated" else 6
    between = ""
    if figure.low is not None and figure.high is not None:
        between = f"{units.significant(figure.low)} to {units.significant(figure.high)} tokens/s"
    return Asked(
        name.replace("_", "-"), label, units.significant(figure.value, digits), figure.grade, figure.source, "", "tokens/s", between
    )


def _weakest(plan: Plan) -> Grade:
    """A result is as sure as its least sure input."""
    return "estimated" if any(line.grade == "estimated" for line in plan.memory.lines) else "computed"
