"""Why was it slow: a log, read once, as a diagnosis with its findings, what was ruled out, and what a change would do."""

from collections.abc import Iterator

from planner.core import units
from planner.core.diagnosing.calibration import query
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.collecting import Collected, Log, collect
from planner.core.diagnosing.diagnosis import Diagnosis, Spread, WaitCause
from planner.core.diagnosing.findings import findings
from planner.core.diagnosing.findings.preemptions import preempted
from planner.core.diagnosing.options import Options
from planner.core.diagnosing.rates import Given
from planner.core.diagnosing.ruled_out import ruled_out
from planner.core.diagnosing.setting_up import case_of
from planner.core.diagnosing.what_if import what_if
from planner.core.logs.metrics import Histogram, Metrics
from planner.core.plan import Remark

__all__ = ["Diagnosis", "Given", "Options", "diagnose"]

_AS_GIVEN = Options()


def diagnose(log: Log, options: Options = _AS_GIVEN) -> Diagnosis:
    """Reads the log to its end, in bounded memory. Raises InputError as its reader does."""
    found = collect(log, long_prefill=options.long_prefill, calls=options.calls)
    case = case_of(log, found, options)
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
        rates=case.rates,
        breakdown=case.breakdown,
        ttft=seen.ttft.spread() or sampled.get("ttft"),
        itl=seen.itl.spread() or sampled.get("itl"),
        wait=seen.waits.seconds.spread() or sampled.get("wait"),
        ttft_from="sending" if found.joined and found.joined.matched else "launch",
        during_long_prefill=seen.beside.during(),
        otherwise=seen.beside.otherwise(),
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
        wait_bars=seen.waits.seconds.bars(),
        warnings=tuple(_warnings(log, found, case)),
        notices={code: noticed.count for code, noticed in sorted(found.notices.items())},
    )


def _waits(found: Collected) -> Iterator[WaitCause]:
    joined = found.joined
    for cause, worst in found.observed.waits.by_cause.items():
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
        # Where others have one, it is not the build that prints none.
        why = (
            "it begins or ends in their middle, or its lines are not in the order of their times"
            if totals.untimed < totals.tasks
            else "builds before b9247 print none, or they were switched off"
        )
        switch = (
            " Start it with --log-prefix --log-timestamps." if totals.untimed == totals.tasks and log.facts.engine == "llama-server" else ""
        )
        yield Remark(
            "no_times",
            f"{totals.untimed:,} of {units.counted(totals.tasks, 'task')} have no time in the log ({why}): who ran beside whom, waits and the breakdown "
            f"are not known of them; tokens and speeds are, with whatever ran beside.{switch}",
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
    overlaps, prompts = found.sweep.overlaps_told.over, found.sweep.passes_told.over
    if overlaps or prompts:
        yield Remark(
            "not_analysed",
            f"{units.counted(overlaps, 'overlap')} of an answer with a prompt and the passes of {units.counted(prompts, 'prompt')} were not looked at one by "
            "one: the log has more of them than can be told apart in a time that its size bounds. They are missing in stalls and in the speeds beside prompts.",
        )
    if found.observed.cut_s:
        yield Remark("cut_tasks", "Cancelled and failed tasks have no timings: their seconds are in no part of the breakdown.")
    if found.joined is not None and not found.joined.matched:
        yield Remark("calls_unmatched", "No call could be joined with a task: are they of the same day and server, with prompt_tokens?")
