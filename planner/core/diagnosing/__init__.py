"""Why was it slow: a log, read once, as a diagnosis with its findings, what was ruled out, and what a change would do."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from planner.core.diagnosing.calibration import query
from planner.core.diagnosing.calls import Calls
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.collecting import Collected, Log, collect
from planner.core.diagnosing.diagnosis import Breakdown, Diagnosis, PromptCache, Rates, Spread, WaitCause
from planner.core.diagnosing.findings import findings
from planner.core.diagnosing.findings.preemptions import preempted
from planner.core.diagnosing.rates import Given, micro_batch, rates_of
from planner.core.diagnosing.replaying import Replayer
from planner.core.diagnosing.ruled_out import ruled_out
from planner.core.diagnosing.what_if import what_if
from planner.core.errors import InputError
from planner.core.logs.metrics import Histogram, Metrics
from planner.core.logs.vmstat import Vmstat
from planner.core.plan import Remark
from planner.core.simulation import Scheduler
from planner.core.simulation.loop import LONG_PREFILL

__all__ = ["Diagnosis", "Given", "Options", "diagnose"]

# Fewer answered tasks than this have no speeds that a replay could stand on.
_LEAST_TASKS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`long_prefill` only sorts tables: a stall is found from its effect. `metrics` and `vmstat` are what was taken beside the log.

    `tries` replays the log under other settings: off where only the figures are wanted.
    """

    long_prefill: int = LONG_PREFILL
    given: Given = field(default_factory=Given)
    calls: Calls | None = None
    metrics: Metrics | None = None
    vmstat: Vmstat | None = None
    tries: bool = True


def diagnose(log: Log, options: Options = Options()) -> Diagnosis:
    """Reads the log to its end, in bounded memory. Raises InputError as its reader does."""
    found = collect(log, long_prefill=options.long_prefill, calls=options.calls)
    rates = rates_of(found, log.facts, options.given)
    case = _case(log, found, rates, options)
    all_found = findings(case)
    seen, totals, sweep = found.observed, found.totals, found.sweep
    timed = totals.tasks - totals.untimed > 0
    span = case.span_s
    sampled = _sampled_spreads(options.metrics)
    lanes = tuple(task.lane for task in seen.stretch.tasks())
    counted = options.metrics.finished if options.metrics and not totals.tasks else None
    return Diagnosis(
        facts=log.facts,
        counts=log.counts,
        span_s=span,
        tasks=counted if counted is not None else totals.tasks,
        finished=counted if counted is not None else totals.finished,
        cancelled=totals.cancelled,
        refused=totals.refused,
        prompt_tokens=totals.prompt_tokens,
        cached_tokens=totals.cached_tokens,
        output_tokens=totals.output_tokens,
        busy_share=_part(sweep.busy_s, span) if timed else _part(found.samples.busy, found.samples.count),
        two_or_more_share=_part(sweep.two_or_more_s, span) if timed else _part(found.samples.together, found.samples.count),
        in_flight_max=sweep.in_flight_max if timed else found.samples.running_max if found.samples.count else None,
        rates=rates,
        breakdown=case.breakdown,
        ttft=seen.ttft.spread() or sampled.get("ttft"),
        itl=seen.itl.spread() or sampled.get("itl"),
        wait=seen.wait.spread() or sampled.get("wait"),
        ttft_from="sending" if found.joined and found.joined.matched else "launch",
        during_long_prefill=seen.during(),
        otherwise=seen.otherwise(),
        waits=tuple(_waits(found)),
        prompt_cache=case.prompt_cache,
        preemptions=preempted(case),
        rejections=case.noticed("queue_full").count or (options.metrics.rejections or 0 if options.metrics else 0),
        groups=seen.groups.figures(),
        purposes=found.joined.purposes() if found.joined else (),
        findings=all_found,
        ruled_out=ruled_out(case, all_found),
        what_if=what_if(case),
        query=query(case),
        lanes=lanes,
        lanes_thinned=not seen.stretch.whole,
        in_flight=sweep.load.moments(),
        ttft_bars=seen.ttft.bars(),
        wait_bars=seen.wait.bars(),
        warnings=tuple(_warnings(log, found, case)),
        notices={code: noticed.count for code, noticed in sorted(found.notices.items())},
    )


def _case(log: Log, found: Collected, rates: Rates, options: Options) -> Case:
    breakdown: Breakdown | None = None
    if rates.cost is not None:
        breakdown = found.observed.own.breakdown(rates.cost, micro_batch(log.facts))
    span = found.last_s - found.first_s if found.first_s is not None and found.last_s is not None else None
    return Case(
        facts=log.facts,
        collected=found,
        rates=rates,
        breakdown=breakdown,
        prompt_cache=_prompt_cache(found, options.metrics),
        span_s=span if span and span > 0 else None,
        long_prefill=options.long_prefill,
        metrics=options.metrics,
        replayer=_replayer(log, found, rates, span) if options.tries else None,
        vmstat=options.vmstat,
    )


def _replayer(log: Log, found: Collected, rates: Rates, span: float | None) -> Replayer | None:
    """A simulated server that is set like the log's; None where too little is known of it."""
    stretch = found.observed.stretch
    tasks = stretch.tasks()
    timed = [task for task in tasks if task.timed]
    if rates.cost is None or not span or len(timed) < _LEAST_TASKS:
        return None
    printed = log.facts.values.get("n_slots")
    slots = printed if isinstance(printed, int) and printed > 0 else max(1, found.sweep.in_flight_max)
    longest = max((task.lane.prompt_tokens or 0) + (task.lane.output_tokens or 0) for task in timed)
    context = log.facts.values.get("n_ctx_slot")
    batch = max(slots, rates.batch_tokens or 1)
    try:
        scheduler = Scheduler(
            policy="llama-server",
            slots=slots,
            batch_tokens=batch,
            micro_batch_tokens=min(micro_batch(log.facts), batch),
            context_tokens=max(longest, context if isinstance(context, int) else 0, 2),
        )
    except InputError:
        return None
    scale = stretch.total_s / stretch.best_s if stretch.best_s else 1.0
    return Replayer(tasks=tasks, cost=rates.cost, scheduler=scheduler, scale=scale, span_s=span)


def _prompt_cache(found: Collected, metrics: Metrics | None) -> PromptCache:
    totals, seen = found.totals, found.observed
    hit = totals.cached_tokens / totals.prompt_tokens if totals.prompt_tokens else found.samples.hit_share
    if metrics and not totals.tasks and metrics.prefix_hit_share is not None:
        hit = metrics.prefix_hit_share
    return PromptCache(hit, seen.rereads.count, seen.reread_tokens, seen.rereads.seconds)


def _waits(found: Collected) -> Iterator[WaitCause]:
    joined = found.joined
    for cause, worst in found.observed.waits.items():
        if cause == "slots_full":
            queue = joined.queue_all if joined and joined.matched else None
            longest = queue.longest if queue and worst.count else None
            yield WaitCause(cause, worst.count, None, longest, inferred=True)
        else:
            yield WaitCause(cause, worst.count, worst.seconds, worst.longest, inferred=cause != "nothing")


def _part(part: float, whole: float | None) -> float | None:
    return min(1.0, part / whole) if whole else None


def _sampled_spreads(metrics: Metrics | None) -> dict[str, Spread | None]:
    if metrics is None:
        return {}
    return {"ttft": _spread(metrics.ttft), "itl": _spread(metrics.itl), "wait": _spread(metrics.queue_time)}


def _spread(histogram: Histogram | None) -> Spread | None:
    """Quantiles between the bounds of a histogram's buckets; the largest is the bound that no value exceeds, as far as there is one."""
    shares = [histogram.quantile(share) for share in (0.5, 0.9, 0.95, 1.0)] if histogram else []
    found = [value for value in shares if value is not None]
    return Spread(histogram.count, *found) if histogram and len(found) == len(shares) == 4 else None


def _warnings(log: Log, found: Collected, case: Case) -> Iterator[Remark]:
    totals, counts = found.totals, log.counts
    if totals.untimed:
        yield Remark(
            "no_times",
            f"{totals.untimed:,} of {totals.tasks:,} tasks have no time in the log (builds before b9247 print none, or they were switched off): who ran "
            "beside whom, waits and the breakdown are not known; tokens and speeds are, with whatever ran beside. Start it with --log-timestamps.",
        )
    if totals.tasks and case.breakdown is None and not totals.untimed:
        yield Remark("no_speeds", "Too little ran in this log to fit its speeds: there is no breakdown.")
    if case.rates.decode_streams > 1:
        yield Remark(
            "no_single_stream",
            f"At least {case.rates.decode_streams} answers ran together at all times: the speed of a single one is extrapolated.",
        )
    if found.samples.count and not totals.tasks:
        yield Remark(
            "no_tasks",
            "This log has a line every few seconds and none for a request: who ran beside whom and the breakdown are not in it."
            + (
                ""
                if case.metrics
                else " Give --metrics with what the server answers at /metrics: it has the times to first token and the gaps."
            ),
        )
    if counts.unparsed_lines:
        yield Remark(
            "unparsed_lines", f"{counts.unparsed_lines:,} of {counts.lines:,} lines look like the engine's and were not understood."
        )
    if counts.backwards:
        yield Remark("backwards", f"The times in this log go back {counts.backwards:,} times without a restart: is it of one server only?")
    if found.observed.cut_s:
        yield Remark("cut_tasks", "Cancelled and failed tasks have no timings: their seconds are in no part of the breakdown.")
    if found.joined is not None and not found.joined.matched:
        yield Remark("calls_unmatched", "No call could be joined with a task: are they of the same day and server, with prompt_tokens?")
