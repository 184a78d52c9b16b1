"""The bad hours of a plan as the JSON object that scripts rely on, and as the lines a terminal shows."""

from collections.abc import Iterator, Sequence
from typing import Any

from planner.core import units
from planner.core.simulating.hardship import Hardship, first_broken
from planner.core.simulating.report import SCHEMA, cells, felt_json, rate_json
from planner.core.simulation import policies


def hardships_json(tried: Sequence[Hardship]) -> dict[str, Any]:
    """The object of `simulate --break --json`: times in seconds, shares as such."""
    ready = tried[0].set_up
    broken = first_broken(tried)
    return {
        "schema": SCHEMA,
        "model": ready.model,
        "machine": ready.machine,
        "policy": ready.scheduler.policy,
        "seed": ready.request.seed,
        "speed": {"prefill_rate": rate_json(ready.prefill_rate), "decode_rate": rate_json(ready.decode_rate)},
        "limits": {"pause": ready.request.pause_target, "wait": ready.request.patience},
        "first_broken": broken.code if broken else None,
        "hardships": [_hardship(each) for each in tried],
        "warnings": [{"code": remark.code, "message": remark.message} for remark in (*ready.remarks, *ready.assumed)],
    }


def _hardship(hardship: Hardship) -> dict[str, Any]:
    return {
        "code": hardship.code,
        "title": hardship.title,
        "what": hardship.what,
        "survived": hardship.survived,
        "breaches": [{"measure": b.measure, "found": b.found, "limit": b.limit, "message": b.message} for b in hardship.breaches],
        **felt_json(hardship.felt),
        "preempted": hardship.run.preempted,
        "utilization": hardship.run.utilization,
    }


def hardships_text(tried: Sequence[Hardship]) -> str:
    """The answer first, then every hour with its figures."""
    return "\n".join(_lines(tried)) + "\n"


def _lines(tried: Sequence[Hardship]) -> Iterator[str]:
    ready, broken = tried[0].set_up, first_broken(tried)
    server = ready.scheduler
    yield f"{ready.model} on {ready.machine}, {policies()[server.policy].title}: {server.slots:,} slots, passes of {server.batch_tokens:,} tokens"
    yield ""
    if broken is None:
        yield f"The plan survives all {len(tried)} hours that were tried."
    else:
        yield f"The first that breaks it: {_small(broken.title)}. {broken.what}"
        yield from (f"  {breach.message}" for breach in broken.breaches)
        survived = [_small(hardship.title) for hardship in tried if hardship.survived]
        yield f"It survives: {'; '.join(survived)}." if survived else "It survives none of the hours that were tried."
    for hardship in tried:
        yield ""
        yield f"{hardship.title}: {'survived' if hardship.survived else 'broken'}"
        yield f"  {hardship.what} {units.counted(hardship.felt.turns, 'turn')}{_lost(hardship)}."
        yield f"{'':26}{'p50':>13}{'p95':>13}{'p99':>13}{'max':>13}"
        for title, measure in (("  First token", "ttft"), ("  Longest pause", "pause"), ("  Queue wait", "wait")):
            yield f"{title:26}{cells(getattr(hardship.felt, measure))}"
    said = dict.fromkeys(remark.message for remark in (*ready.remarks, *ready.assumed))
    if said:
        yield ""
        yield from (f"Note: {message}" for message in said)


def _small(title: str) -> str:
    return title[0].lower() + title[1:]


def _lost(hardship: Hardship) -> str:
    felt = hardship.felt
    parts = [
        f"{count:,} {word}"
        for count, word in ((felt.rejected, "refused"), (felt.failed, "lost"), (hardship.run.preempted, "preempted"))
        if count
    ]
    return f", {', '.join(parts)}" if parts else ""
