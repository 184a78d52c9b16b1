"""Simulated runs as the JSON object that scripts rely on, and as the table a terminal shows."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from planner.core import units
from planner.core.plan import Figure
from planner.core.simulating.runs import Trial, knee
from planner.core.simulating.told import told
from planner.core.simulation import policies
from planner.core.simulation.results import Felt, Quantiles

SCHEMA: Final = 1
_MEASURES: Final = ("ttft", "itl", "pause", "wait")


def _seconds(value: Quantiles | None) -> dict[str, float] | None:
    if value is None:
        return None
    return {
        "mean": value.mean,
        "p50": value.p50,
        "p90": value.p90,
        "p95": value.p95,
        "p99": value.p99,
        "max": value.max,
        "count": value.count,
    }


def felt_json(felt: Felt) -> dict[str, Any]:
    """What one group of turns met with."""
    return {
        "name": felt.name,
        "requests": felt.turns,
        "rejected": felt.rejected,
        "failed": felt.failed,
        **{measure: _seconds(getattr(felt, measure)) for measure in _MEASURES},
    }


def _run(trial: Trial) -> dict[str, Any]:
    run, scheduler = trial.run, trial.set_up.scheduler
    return {
        "options": dict(trial.options),
        **{measure: _seconds(getattr(run.everyone, measure)) for measure in _MEASURES},
        "rejected": run.everyone.rejected,
        "failed": run.everyone.failed,
        "preempted": run.preempted,
        "recomputed_tokens": run.recomputed_tokens,
        "utilization": run.utilization,
        "idle": run.idle,
        "slots_busy": run.slots_busy,
        "longest_queue": run.longest_queue,
        "tokens_per_second": run.tokens_per_second,
        "requests": run.everyone.turns,
        "prompt_tokens": run.prompt_tokens,
        "cached_tokens": run.cached_tokens,
        "output_tokens": run.output_tokens,
        "steps": run.steps,
        "seconds": run.end_s,
        "kinds": [felt_json(felt) for felt in run.kinds],
        "beside_long_prefill": felt_json(run.beside),
        "server": {
            "policy": scheduler.policy,
            "slots": scheduler.slots,
            "batch": scheduler.batch_tokens,
            "context": scheduler.context_tokens,
            "max_queue": scheduler.max_queue,
            "cache_tokens": scheduler.cache_tokens,
            "unified": scheduler.unified,
        },
    }


def rate_json(figure: Figure) -> dict[str, Any]:
    """A rate with its range and where it comes from."""
    return {"value": figure.value, "grade": figure.grade, "low": figure.low, "high": figure.high, "source": figure.source}


def _warnings(trials: Sequence[Trial]) -> list[dict[str, str]]:
    """Remarks of all runs, each once, and one for every figure that is null."""
    said = dict.fromkeys(
        (remark.code, remark.message)
        for trial in trials
        for remark in (*trial.set_up.remarks, *(() if trial.replayed else trial.set_up.assumed))
    )
    if trials[0].replayed:
        said[
            "replayed", "Requests are sent at their recorded times. A llama-server log has the time of the slot, not of the waiting before."
        ] = None
    for measure in _MEASURES:
        if any(getattr(trial.run.everyone, measure) is None for trial in trials):
            said[f"{measure}_unknown", f"{measure} is not stated where no reply has such a figure: simulate a longer time."] = None
    return [{"code": code, "message": message} for code, message in said]


def knees(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Where the 95th percentiles bend over the values of a sweep with a single option."""
    if not trials or len(trials[0].options) != 1:
        return []
    found = []
    for measure in ("ttft", "pause"):
        curve = [
            (option, value.p95)
            for trial in trials
            if (value := getattr(trial.run.everyone, measure)) is not None and not isinstance(option := trial.options[0][1], str)
        ]
        index = knee(sorted(curve))
        if index is not None:
            found.append({"option": trials[0].options[0][0], "measure": measure, "value": sorted(curve)[index][0]})
    return found


def trials_json(trials: Sequence[Trial]) -> dict[str, Any]:
    """The object of `simulate --json`: times in seconds; what is not known is None with a warning."""
    first = trials[0].set_up
    return {
        "schema": SCHEMA,
        "model": first.model,
        "machine": first.machine,
        "policy": first.scheduler.policy,
        "seed": first.request.seed,
        "replayed": trials[0].replayed or None,
        "speed": {"prefill_rate": rate_json(first.prefill_rate), "decode_rate": rate_json(first.decode_rate)},
        "runs": [_run(trial) for trial in trials],
        "knees": knees(trials),
        "warnings": _warnings(trials),
    }


def trials_text(trials: Sequence[Trial]) -> str:
    """The runs for a terminal."""
    return "\n".join(_lines(trials)) + "\n"


def _lines(trials: Sequence[Trial]) -> Iterator[str]:
    yield from _head(trials[0])
    if not trials[0].options:
        yield from _single(trials[0])
    else:
        yield from _table(trials)
        for found in knees(trials):
            yield f"The 95th percentile of {found['measure']} bends at {found['option'].replace('_', ' ')} {found['value']:,}."
    said = _warnings(trials)
    if said:
        yield ""
        yield from (f"Note: {warning['message']}" for warning in said)


def _head(trial: Trial) -> Iterator[str]:
    ready, server = trial.set_up, trial.set_up.scheduler
    load = f"{units.counted(ready.traffic.people, 'user')} for {units.seconds(ready.traffic.duration_s)}"
    yield f"{ready.model} on {ready.machine}, {policies()[server.policy].title}"
    yield (
        f"{units.counted(trial.replayed, 'recorded request') if trial.replayed else load}: {units.counted(server.slots, 'slot')}, "
        f"passes of {server.batch_tokens:,} tokens, prefill {ready.prefill_rate.value:,.0f} and decode {ready.decode_rate.value:,.0f} tokens/s ({ready.decode_rate.grade})"
    )
    yield ""


def _single(trial: Trial) -> Iterator[str]:
    run = trial.run
    yield f"{'':26}{'p50':>13}{'p95':>13}{'p99':>13}{'max':>13}"
    for title, measure in (
        ("Time to first token", "ttft"),
        ("Gap between tokens", "itl"),
        ("Longest pause", "pause"),
        ("Queue wait", "wait"),
    ):
        yield f"{title:26}" + cells(getattr(run.everyone, measure))
    if run.beside.ttft:
        yield f"{'First token, short turns':26}" + cells(run.beside.ttft)
        yield f"  beside a long prefill: {run.beside.turns:,} turns"
    yield ""
    yield (
        f"{run.everyone.turns:,} requests, {run.everyone.rejected:,} refused, {run.everyone.failed:,} lost, {run.preempted:,} preempted "
        f"({run.recomputed_tokens:,} tokens computed again)"
    )
    yield f"Busy {units.percent(run.utilization)} of the time, {run.slots_busy:.1f} slots on average, {run.tokens_per_second:,.1f} tokens/s"
    said = told(trial)
    yield f"{said.word}: {said.limits}"


def cells(value: Quantiles | None) -> str:
    """A row of a table: p50, p95, p99 and the longest."""
    if value is None:
        return f"{'not known':>13}"
    return "".join(f"{units.seconds(each):>13}" for each in (value.p50, value.p95, value.p99, value.max))


def _table(trials: Sequence[Trial]) -> Iterator[str]:
    names = [name.replace("_", " ") for name, _ in trials[0].options]
    columns = (*names, "ttft p50", "ttft p95", "pause p95", "pause max", "wait p95", "refused", "preempted", "busy", "tokens/s")
    yield "".join(f"{column:>{max(12, len(column) + 2)}}" for column in columns)
    for trial in trials:
        everyone = trial.run.everyone
        cells = [value if isinstance(value, str) else f"{value:,}" for _, value in trial.options]
        shown = ((everyone.ttft, "p50"), (everyone.ttft, "p95"), (everyone.pause, "p95"), (everyone.pause, "max"), (everyone.wait, "p95"))
        cells += ["–" if value is None else units.seconds(getattr(value, share)) for value, share in shown]
        cells += [
            f"{everyone.rejected:,}",
            f"{trial.run.preempted:,}",
            units.percent(trial.run.utilization),
            f"{trial.run.tokens_per_second:,.1f}",
        ]
        yield "".join(f"{cell:>{max(12, len(column) + 2)}}" for cell, column in zip(cells, columns, strict=True))
