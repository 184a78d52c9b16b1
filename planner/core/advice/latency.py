"""What people will feel of the chosen settings: simulated, with a range where the speeds have one."""

from collections.abc import Callable
from dataclasses import replace

from planner.core import units
from planner.core.advice.passes import preface
from planner.core.advice.rehearsal import NotRehearsedError, Rehearsal
from planner.core.plan import Latency, Percentiles, Remark, Speed
from planner.core.simulation import Run


def felt(rates: Speed, tried: Rehearsal, *, max_queue: int) -> Speed:
    """The speeds with first token, gaps and pauses of the plan's load, where a queue of `max_queue` turns nobody away.

    The range has the least and the most of three runs: at the middle of the rates, at their fast and at their slow end.
    """
    middle = _latency(tried.run())
    source = f"{preface(tried)}: {tried.run().everyone.turns:,} turns of your load{_all_let_in(tried, max_queue)}."
    runs = (middle, *_ends(tried))
    fastest, slowest = (_each(runs, min), _each(runs, max)) if len(runs) > 1 else (None, None)
    return replace(
        rates,
        ttft_seconds=middle.ttft_seconds,
        itl_seconds=middle.itl_seconds,
        pause_seconds=middle.pause_seconds,
        felt_source=source,
        fastest=fastest,
        slowest=slowest,
    )


def beyond_limits(tried: Rehearsal, *, max_queue: int) -> tuple[Remark, ...]:
    """What of the simulated load is more than the request's limits on pause and wait allow."""
    people, limits = tried.run().everyone, tried.request
    said = []
    if people.pause and people.pause.p95 > limits.pause_target:
        said.append(
            Remark(
                "pause_beyond_limit",
                f"{preface(tried)}, the longest pause of a reply is {units.seconds(people.pause.p95)} (95 % of replies), more than the "
                f"{units.seconds(limits.pause_target)} you set.",
                "pause_target",
            )
        )
    if people.wait and people.wait.p95 > limits.patience:
        said.append(
            Remark(
                "wait_beyond_patience",
                f"{preface(tried)}{_all_let_in(tried, max_queue)}, a turn waits {units.seconds(people.wait.p95)} for {_awaited(tried)} "
                f"(95 % of turns), more than the {units.seconds(limits.patience)} people are ready to wait.",
                "patience",
            )
        )
    return tuple(said)


def _all_let_in(tried: Rehearsal, max_queue: int) -> str:
    """What is to be known of a run whose queue grew beyond the plan's."""
    return ", with nobody turned away" if tried.run().longest_queue > max_queue else ""


def _awaited(tried: Rehearsal) -> str:
    """What a turn waits for. vLLM reads every adapter's turns in the same step, and its slots may be more than its cache holds."""
    server, load = tried.server, tried.load
    if server.policy == "vllm":
        return "room in the cache" if load.people <= server.slots else "a slot"
    return "a slot or for another adapter's turn to end" if load.adapters > 1 else "a slot"


def _ends(tried: Rehearsal) -> tuple[Latency, ...]:
    try:
        return tuple(_latency(tried.run(cost=cost)) for cost in tried.ends or ())
    except NotRehearsedError:
        return ()


def _latency(run: Run) -> Latency:
    every = run.everyone
    return Latency(*(value.percentiles if value else None for value in (every.ttft, every.itl, every.pause)))


def _each(runs: tuple[Latency, ...], chosen: Callable[[tuple[float, ...]], float]) -> Latency:
    """Every percentile of every measure by itself."""
    return Latency(*(_of(tuple(getattr(run, name) for run in runs), chosen) for name in ("ttft_seconds", "itl_seconds", "pause_seconds")))


def _of(values: tuple[Percentiles | None, ...], chosen: Callable[[tuple[float, ...]], float]) -> Percentiles | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return Percentiles(*(chosen(tuple(getattr(value, share) for value in known)) for share in ("p50", "p95", "p99", "max")))
