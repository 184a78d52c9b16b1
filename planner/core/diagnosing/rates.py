"""The speeds of the server as its log shows them: the fitted pass model, and what a single stream gets under it."""

from dataclasses import dataclass, replace
from typing import Final

from planner.core.diagnosing.batch import batch_of
from planner.core.diagnosing.collecting import Collected
from planner.core.diagnosing.diagnosis import BatchRate, BatchSource, Rates
from planner.core.diagnosing.observed import BATCHES
from planner.core.diagnosing.speeds import StepFit, StepPoint, fit_reading, fit_steps, pass_cost
from planner.core.diagnosing.sweep import DEFAULT_BATCH
from planner.core.logs.record import Facts
from planner.core.simulation import PassCost

# llama-server's n_ubatch unless told otherwise (common/common.h, b4748 to b11549).
MICRO_BATCH: Final = 512
# Points of answers beside which nobody's prompt was read are preferred where there are so many.
_ENOUGH: Final = 12


@dataclass(frozen=True, slots=True)
class Given:
    """Speeds that were measured elsewhere and stand in for the fitted ones."""

    prefill: float | None = None
    decode: float | None = None


def rates_of(found: Collected, facts: Facts, given: Given) -> Rates:
    """Fitted to stretches in which as little as possible ran beside. Without times in the log: what the summaries have at best."""
    seen = found.observed
    steps = fit_steps(_step_points(found))
    read = fit_reading([*seen.read_alone.items, *seen.read_beside.items], steps.step_s if steps else 0.0)
    cost = pass_cost(read, steps)
    if cost is not None:
        cost = _with_given(cost, given)
    own = seen.own
    prefill, decode = given.prefill, given.decode
    if cost is not None:
        prefill = prefill or _share(own.read_tokens, own.prefill_s(cost, micro_batch(facts)))
        decode = decode or _share(own.steps, own.generation_s(cost)) or 1 / cost.step_seconds(1)
    elif not found.totals.tasks or found.totals.untimed:
        totals = found.totals
        prefill = prefill or (totals.read_rates.quantile(0.9) if totals.read_rates.count else None)
        decode = decode or (totals.decode_rates.quantile(0.9) if totals.decode_rates.count else None)
    elif read is not None:
        prefill = prefill or 1 / read.token_s
    batch, source = _batch(found, facts, steps)
    seen.beside.settle(batch)
    return Rates(
        prefill=prefill,
        decode=decode,
        by_batch=_by_batch(seen.batches),
        cost=cost,
        batch_tokens=batch,
        batch_source=source,
        decode_streams=steps.streams if steps else 1,
        given=given.prefill is not None or given.decode is not None,
    )


def _batch(found: Collected, facts: Facts, steps: StepFit | None) -> tuple[int, BatchSource]:
    """n_batch, and how it is known."""
    printed, sweep = facts.values.get("n_batch"), found.sweep
    if isinstance(printed, int) and printed > 0:
        return printed, "printed"
    if sweep.batch_seen:
        return sweep.batch, "printed"
    likely = batch_of(found.observed.beside.mixed.items, steps, DEFAULT_BATCH) if steps else None
    return (likely, "inferred") if likely else (DEFAULT_BATCH, "assumed")


def micro_batch(facts: Facts) -> int:
    printed = facts.values.get("n_ubatch")
    return printed if isinstance(printed, int) and printed > 0 else MICRO_BATCH


def _step_points(found: Collected) -> list[StepPoint]:
    exact, beside = found.observed.steps_exact.items, found.observed.steps_beside.items
    return list(exact) if len(exact) >= _ENOUGH else [*exact, *beside]


def _with_given(cost: PassCost, given: Given) -> PassCost:
    """A given rate replaces what was fitted for a single stream; what further streams add stays."""
    if given.prefill is not None:
        cost = replace(cost, token_s=1 / given.prefill, attention_s=0.0)
    if given.decode is not None:
        cost = replace(cost, step_s=1 / given.decode, cached_token_s=0.0)
    return cost


def _share(tokens: float, seconds: float) -> float | None:
    return tokens / seconds if tokens and seconds > 0 else None


def _by_batch(batches: dict[int, list[float]]) -> tuple[BatchRate, ...]:
    lows = (1, *(bound + 1 for bound in BATCHES))
    tops = (*BATCHES, 2**31)
    return tuple(
        BatchRate(lows[index], tops[index], tokens / seconds, int(count))
        for index, (tokens, seconds, count) in sorted(batches.items())
        if seconds > 0
    )
