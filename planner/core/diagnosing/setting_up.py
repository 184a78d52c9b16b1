"""From what was collected to what a finding may look at: fitted speeds, the breakdown, and a server to try changes on."""

from typing import Final

from planner.core.diagnosing.case import Case
from planner.core.diagnosing.collecting import Collected, Log
from planner.core.diagnosing.diagnosis import Breakdown, PromptCache, Rates
from planner.core.diagnosing.options import Options
from planner.core.diagnosing.rates import micro_batch, rates_of
from planner.core.diagnosing.replaying import Replayer
from planner.core.errors import InputError
from planner.core.logs.metrics import Metrics
from planner.core.simulation import Scheduler

# Fewer answered tasks than this have no speeds that a replay could stand on.
_LEAST_TASKS: Final = 3


def case_of(log: Log, found: Collected, options: Options) -> Case:
    """The log has been read to its end: its speeds are fitted, and a simulated server is set like its own."""
    rates = rates_of(found, log.facts, options.given)
    breakdown: Breakdown | None = None
    if rates.cost is not None:
        breakdown = found.observed.own.breakdown(rates.cost, micro_batch(log.facts))
    # The log's clock begins with the log: a quiet hour before the first request counts.
    span = found.last_s
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
    return PromptCache(hit, seen.rereads.worst.count, seen.rereads.tokens, seen.rereads.worst.seconds)
