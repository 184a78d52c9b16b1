"""A diagnosis as the JSON object that scripts rely on: seconds, tokens per second, shares; what is not known is null with a warning."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from planner.core.diagnosing.diagnosis import (
    Bar,
    Comparison,
    Diagnosis,
    Effect,
    Finding,
    GenerationRate,
    GroupFigures,
    Purpose,
    Rates,
    Spread,
    WhatIf,
)
from planner.core.diagnosing.told import not_read

SCHEMA: Final = 1


def diagnosis_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The object of `diagnose --json`."""
    facts, counts = diagnosis.facts, diagnosis.counts
    return {
        "schema": SCHEMA,
        "engine": facts.engine,
        "format": facts.format,
        "lines": counts.lines,
        "unparsed_lines": counts.unparsed_lines,
        "other_lines": counts.other_lines,
        "bytes": counts.bytes,
        "span": diagnosis.span_s,
        "starts": facts.starts,
        "facts": facts.values,
        "tasks": {
            "count": diagnosis.tasks,
            "finished": diagnosis.finished,
            "cancelled": diagnosis.cancelled,
            "refused": diagnosis.refused,
            "prompt_tokens": diagnosis.prompt_tokens,
            "cached_tokens": diagnosis.cached_tokens,
            "output_tokens": diagnosis.output_tokens,
        },
        "busy_share": diagnosis.busy_share,
        "two_or_more_share": diagnosis.two_or_more_share,
        "in_flight_max": diagnosis.in_flight_max,
        "rates": _rates(diagnosis.rates),
        **_breakdown(diagnosis),
        "ttft": _spread(diagnosis.ttft),
        "ttft_from": diagnosis.ttft_from,
        "itl": _spread(diagnosis.itl),
        "wait": _spread(diagnosis.wait),
        "generation_rate": {
            "during_long_prefill": _generation(diagnosis.during_long_prefill),
            "otherwise": _generation(diagnosis.otherwise),
        },
        "waits_by_cause": [
            {"cause": each.cause, "count": each.count, "total": each.total_s, "max": each.max_s, "inferred": each.inferred}
            for each in diagnosis.waits
        ],
        "prompt_cache": {
            "hit_rate": diagnosis.prompt_cache.hit_rate,
            "misses": diagnosis.prompt_cache.misses,
            "reread_tokens": diagnosis.prompt_cache.reread_tokens,
            "reread_seconds": diagnosis.prompt_cache.reread_s,
        },
        "preemptions": diagnosis.preemptions,
        "rejections": diagnosis.rejections,
        "notices": dict(diagnosis.notices),
        "groups": [_group(each) for each in diagnosis.groups],
        "purposes": [_purpose(each) for each in diagnosis.purposes],
        "findings": [_finding(each) for each in diagnosis.findings],
        "ruled_out": [{"hypothesis": each.hypothesis, "evidence": each.evidence} for each in diagnosis.ruled_out],
        "what_if": [_what_if(each) for each in diagnosis.what_if],
        "comparison": None if diagnosis.comparison is None else _comparison(diagnosis.comparison),
        "plan_query": diagnosis.query,
        "histograms": {"ttft": _bars(diagnosis.ttft_bars), "wait": _bars(diagnosis.wait_bars)},
        "in_flight": [{"at": each.at_s, "mean": each.mean, "max": each.most} for each in diagnosis.in_flight],
        "warnings": [{"code": code, "message": message} for code, message in _warnings(diagnosis)],
    }


def _warnings(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """The remarks, and one for every figure that is null."""
    for remark in (*diagnosis.warnings, *not_read(diagnosis)):
        yield remark.code, remark.message
    nulls = [
        name
        for name, value in (
            ("span", diagnosis.span_s),
            ("busy_share", diagnosis.busy_share),
            ("two_or_more_share", diagnosis.two_or_more_share),
            ("in_flight_max", diagnosis.in_flight_max),
            ("rates", diagnosis.rates.prefill and diagnosis.rates.decode),
            ("breakdown", diagnosis.breakdown),
            ("ttft", diagnosis.ttft),
            ("itl", diagnosis.itl),
            ("wait", diagnosis.wait),
            ("generation_rate", diagnosis.during_long_prefill.median and diagnosis.otherwise.median),
            ("prompt_cache", diagnosis.prompt_cache.hit_rate),
            ("preemptions", diagnosis.preemptions),
            ("plan_query", diagnosis.query),
        )
        if value is None
    ]
    if any(each.total_s is None for each in diagnosis.waits):
        nulls.append("waits_by_cause")
    if any(each.effect is None for each in diagnosis.findings):
        nulls.append("expected_effect")
    if nulls:
        yield "not_known", f"What this log does not say is null: {', '.join(nulls)}."


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    if spread is None:
        return None
    return {"p50": spread.p50, "p90": spread.p90, "p95": spread.p95, "max": spread.max, "count": spread.count}


def _rates(rates: Rates) -> dict[str, Any]:
    cost = rates.cost
    return {
        "prefill": rates.prefill,
        "decode": rates.decode,
        "prefill_by_batch": [{"from": each.low, "to": each.high, "rate": each.rate, "n": each.count} for each in rates.by_batch],
        "given": rates.given,
        "batch": rates.batch_tokens,
        "batch_source": rates.batch_source,
        "decode_streams": rates.decode_streams,
        "pass_model": None
        if cost is None
        else {
            "step": cost.step_s,
            "token": cost.token_s,
            "further_sequence": cost.sequence_s,
            "cached_token": cost.cached_token_s,
            "attention": cost.attention_s,
        },
    }


def _breakdown(diagnosis: Diagnosis) -> dict[str, Any]:
    whole = diagnosis.breakdown
    if whole is None:
        return {"breakdown": None, "breakdown_shares": None}
    seconds = {
        "own_generation": whole.own_generation_s,
        "own_prefill": whole.own_prefill_s,
        "contention": whole.contention_s,
        "waiting": whole.waiting_s,
    }
    return {"breakdown": seconds, "breakdown_shares": {name: whole.share(value) for name, value in seconds.items()}}


def _generation(rate: GenerationRate) -> dict[str, Any]:
    return {"median": rate.median, "mean": rate.mean, "n": rate.n}


def _group(group: GroupFigures) -> dict[str, Any]:
    return {
        "group": group.group,
        "count": group.count,
        "ttft": _spread(group.ttft),
        "generation_rate": _spread(group.rate),
        "pause": _spread(group.pause),
    }


def _purpose(purpose: Purpose) -> dict[str, Any]:
    return {
        "purpose": purpose.name,
        "calls": purpose.calls,
        "tasks": purpose.tasks,
        "ttft": _spread(purpose.ttft),
        "queue": _spread(purpose.queue),
        "gate": _spread(purpose.gate),
        "duration": _spread(purpose.duration),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "title": finding.title,
        "evidence": finding.evidence,
        "cause": finding.cause,
        "fix": finding.fix,
        "count": finding.count,
        "lost": finding.lost_s,
        "inferred": finding.inferred,
        "examples": [{"at": each.at_s, "task": each.task, "seconds": each.seconds, "text": each.text} for each in finding.examples],
        "files": [{"path": each.path, "content": each.content, "why": each.why} for each in finding.files],
        "expected_effect": None if finding.effect is None else _effect(finding.effect),
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "measure": effect.measure,
        "before": effect.before,
        "after": effect.after,
        "low": effect.low,
        "high": effect.high,
        "seconds_a_day": effect.seconds_a_day,
        "text": effect.text,
    }


def _what_if(change: WhatIf) -> dict[str, Any]:
    return {"change": change.change, "seconds_a_day": change.seconds_a_day, "low": change.low, "high": change.high, "text": change.text}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "rows": [{"group": row.group, "before": _group(row.before), "after": _group(row.after)} for row in comparison.rows],
        "changed": list(comparison.changed),
        "warnings": [{"code": each.code, "message": each.message} for each in comparison.warnings],
    }


def _bars(bars: Iterable[Bar]) -> list[dict[str, Any]]:
    return [{"from": each.low, "to": each.high, "count": each.count} for each in bars]
