"""The plan, its files and a comparison with a start as the lines a terminal shows."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.engines.contract import HandOver, Step
from planner.core.headline import headline
from planner.core.plan import MemoryLine, Plan, Speed
from planner.core.reconcile import Reconciliation

_FELT: Final = (("First token", "ttft_seconds"), ("Between tokens", "itl_seconds"), ("Longest pause", "pause_seconds"))


def plan_text(plan: Plan, hand_over: HandOver) -> str:
    """The plan for a terminal: answer, reason, working, then what to install."""
    return "\n".join(_lines(plan, hand_over)) + "\n"


def _memory_text(line: MemoryLine) -> str:
    if line.low_bytes is None or line.high_bytes is None or line.low_bytes == line.high_bytes:
        return f"  {units.gib(line.size_bytes):>14}  {line.name}"
    mark = "estimate: " if line.grade == "estimated" else ""
    return f"  {units.gib(line.size_bytes):>14}  {line.name}  ({mark}{units.gib(line.low_bytes)} to {units.gib(line.high_bytes)})"


def _held_against(plan: Plan, hand_over: HandOver) -> Iterator[str]:
    """The three figures to hold against the running engine."""
    slots = units.counted(plan.fit.slots, "slot")
    yield "To hold against the engine"
    yield f"  {units.gib(plan.cache.request_bytes):>14}  one request at {plan.request.context:,} tokens needs"
    yield f"  {units.gib(plan.cache.reserved_bytes):>14}  {plan.engine.title} sets aside for {slots}"
    yield f"  and {plan.engine.title} {plan.engine.version} prints at start"
    for line in hand_over.expect.lines:
        yield f"    {line.line}"
        yield f"      {line.why}"


def _felt(speed: Speed) -> Iterator[str]:
    """First token, gaps and pauses, with the range of the 95th percentile where the speeds are estimates."""
    rows = [(title, getattr(speed, name), name) for title, name in _FELT if getattr(speed, name) is not None]
    if not rows:
        return
    yield ""
    yield f"{'What people will feel':24}{'half':>10}{'95 %':>10}{'99 %':>10}"
    for title, times, name in rows:
        ends = [getattr(end, name) for end in (speed.fastest, speed.slowest) if end is not None and getattr(end, name) is not None]
        span = f"   (95 %: {units.seconds(ends[0].p95)} to {units.seconds(ends[1].p95)})" if len(ends) == 2 else ""
        yield f"  {title:22}" + "".join(f"{units.seconds(each):>10}" for each in (times.p50, times.p95, times.p99)) + span
    if speed.felt_source:
        yield f"  {speed.felt_source}"


def _measuring(step: Step | None) -> Iterator[str]:
    if step is None:
        return
    yield ""
    yield "Measured speeds instead of estimates, as --prefill-rate and --decode-rate"
    yield f"  {step.command}"
    yield f"      {step.why} From what it prints: {step.expect}."


def _lines(plan: Plan, hand_over: HandOver) -> Iterator[str]:
    answer = headline(plan)
    yield answer.text
    yield answer.inequality
    yield ""
    yield f"Model    {plan.model.id}: {len(plan.model.shape.layers)} layers, from {plan.model.source}"
    if plan.weights:
        yield f"Weights  {plan.weights.format}, {units.gib(plan.weights.size_bytes)}"
    yield f"Machine  {plan.node.title}"
    yield f"Engine   {plan.engine.title} {plan.engine.version}. {plan.engine.why}"
    yield ""
    yield "KV cache"
    yield from (f"  {line}" for line in plan.cache.working)
    yield ""
    yield "Memory of the fullest device"
    yield from map(_memory_text, plan.memory.lines)
    if len(plan.memory.per_device) > 1:
        yield ""
        yield "Free on each device"
        yield from (f"  {units.gib(d.free_bytes):>14}  {d.name}, of {units.gib(d.total_bytes)}" for d in plan.memory.per_device)
    for title, lines in (("In main memory beside it", plan.memory.ram_lines), ("The weights, part by part", plan.weight_lines)):
        if lines:
            yield ""
            yield title
            yield from (f"{_memory_text(line)}: {line.why}" for line in lines)
    yield ""
    yield from _held_against(plan, hand_over)
    yield ""
    load = plan.workload
    yield f"In flight: {load.in_flight_mean:.2f} on average, at most {load.in_flight_p95} in 95 % of moments, {load.in_flight_p99} in 99 %"
    for t in plan.fit.trades:
        chosen = "  ← this plan" if t.slots == plan.fit.slots else ""
        yield f"  {units.counted(t.slots, 'slot'):>10}: {units.percent(t.wait_probability):>6} of turns wait, {units.seconds(t.mean_wait_seconds)} on average{chosen}"
    yield f"Queue: at most {plan.fit.max_queue:,}. {plan.fit.max_queue_why}"
    yield from _felt(plan.speed)
    yield from _measuring(hand_over.measure)
    if plan.alternatives:
        yield ""
        yield "What would help"
        yield from (f"  {a.change}: {a.why}" for a in plan.alternatives)
    yield ""
    yield "Settings"
    for setting in hand_over.settings:
        name = setting.flag or setting.env
        yield f"  {name}{'' if setting.value is None else f' {setting.value}'}"
        yield f"      {setting.why}"
    yield ""
    yield "Command"
    yield f"  {hand_over.command}"
    if plan.remarks:
        yield ""
        yield from (f"Note: {remark.message}" for remark in plan.remarks)


def files_text(hand_over: HandOver, folder: str) -> str:
    """What was written below `folder`, and the commands that put it to work, for a terminal."""
    return "\n".join(_files(hand_over, folder)) + "\n"


def _files(hand_over: HandOver, folder: str) -> Iterator[str]:
    yield f"Files in {folder}"
    for file in hand_over.files:
        yield f"  {file.path.lstrip('/')}"
        yield f"      {file.why}"
    for title, steps in (("Install, from that folder", hand_over.apply), ("Check", hand_over.verify), ("Undo", hand_over.undo)):
        yield ""
        yield title
        for step in steps:
            yield f"  {step.command}"
            yield f"      {step.why}"


def reconciliation_text(found: Reconciliation) -> str:
    """The same for a terminal."""
    return "\n".join(_compared(found)) + "\n"


def _compared(found: Reconciliation) -> Iterator[str]:
    yield found.summary
    if not found.rows:
        return
    yield ""
    name, printed = (max(len(text) for text in texts) for texts in ([row.name for row in found.rows], [row.printed for row in found.rows]))
    yield f"  {'':<{name}}  {'printed':>{max(7, printed)}}  planned"
    for row in found.rows:
        yield f"  {row.name:<{name}}  {row.printed:>{max(7, printed)}}  {'the same' if row.equal else row.expected}"
        if row.why:
            yield f"  {'':<{name}}  {row.why}"
