"""The plan as the JSON object that scripts rely on (schema 1)."""

from collections.abc import Iterator
from typing import Any, Final

from planner.core.engines.contract import HandOver, Setting, Step
from planner.core.headline import headline
from planner.core.plan import Figure, Latency, MemoryLine, Percentiles, Plan, Speed
from planner.core.reconcile import Reconciliation

SCHEMA: Final = 1


def _figure(figure: Figure | None) -> float | None:
    return None if figure is None else figure.value


def _percentiles(value: Percentiles | None) -> dict[str, float] | None:
    return None if value is None else {"p50": value.p50, "p95": value.p95, "p99": value.p99, "max": value.max}


def _setting(setting: Setting) -> dict[str, Any]:
    return {
        "flag": setting.flag or setting.env,
        "env": setting.env,
        "value": None if setting.value is None else " ".join((setting.value, *setting.more)),
        "default": setting.default,
        "why": setting.why,
        "breaks": setting.breaks,
        "source": setting.source,
    }


def _steps(steps: tuple[Step, ...]) -> list[dict[str, str]]:
    return [{"command": step.command, "expect": step.expect, "why": step.why} for step in steps]


def _memory(plan: Plan) -> dict[str, Any]:
    memory = plan.memory
    return {
        "total": memory.total_bytes,
        "usable": memory.usable_bytes,
        "weights": memory.size_of("weights"),
        "overhead": memory.size_of("overhead"),
        "cache_pool": memory.cache_pool_bytes,
        "cache_tokens": memory.cache_tokens,
        "free": memory.size_of("free"),
        "lines": _memory_lines(memory.lines),
        "devices": [{"name": d.name, "total": d.total_bytes, "used": d.used_bytes, "free": d.free_bytes} for d in memory.per_device],
        "ram_lines": _memory_lines(memory.ram_lines),
        "weight_lines": _memory_lines(plan.weight_lines),
    }


def _memory_lines(lines: tuple[MemoryLine, ...]) -> list[dict[str, Any]]:
    return [
        {
            "name": line.name,
            "kind": line.kind,
            "bytes": line.size_bytes,
            "low": line.low_bytes,
            "high": line.high_bytes,
            "grade": line.grade,
            "why": line.why,
            "source": line.source,
        }
        for line in lines
    ]


def _fit(plan: Plan) -> dict[str, Any]:
    fit = plan.fit
    return {
        "slots": fit.slots,
        "slots_needed": fit.slots_needed,
        "slots_that_fit": fit.slots_that_fit,
        "context_per_slot": fit.context_per_slot,
        "verdict": fit.verdict,
        "limit": fit.limit,
        "inequality": fit.inequality,
        "wait_probability": fit.chosen.wait_probability,
        "mean_wait": fit.chosen.mean_wait_seconds,
        "max_queue": fit.max_queue,
        "slots_at_p95_length": fit.slots_at_p95_length,
        "warm_conversations": fit.warm_conversations,
        "preemptions": fit.preemptions,
        "trades": [{"slots": t.slots, "wait_probability": t.wait_probability, "mean_wait": t.mean_wait_seconds} for t in fit.trades],
    }


def _scenarios(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "users": s.users,
            "in_flight_mean": s.in_flight_mean,
            "in_flight_p95": s.in_flight_p95,
            "slots_needed": s.slots_needed,
            "cache_needed": s.cache_needed_bytes,
            "one_slot": {"wait_probability": s.one_slot.wait_probability, "mean_wait": s.one_slot.mean_wait_seconds},
            "plan_slots": {"wait_probability": s.plan_slots.wait_probability, "mean_wait": s.plan_slots.mean_wait_seconds},
            "bandwidth_share": s.bandwidth_share_bytes_per_s,
        }
        for s in plan.scenarios
    ]


def _speed(speed: Speed) -> dict[str, Any]:
    return {
        "prefill_rate": _figure(speed.prefill_rate),
        "decode_rate": _figure(speed.decode_rate),
        "measured": speed.measured,
        **_latency(Latency(speed.ttft_seconds, speed.itl_seconds, speed.pause_seconds)),
        "felt": {"source": speed.felt_source, "fastest": _range(speed.fastest), "slowest": _range(speed.slowest)},
    }


def _range(latency: Latency | None) -> dict[str, Any] | None:
    return None if latency is None else _latency(latency)


def _latency(latency: Latency) -> dict[str, Any]:
    return {
        "ttft": _percentiles(latency.ttft_seconds),
        "itl": _percentiles(latency.itl_seconds),
        "pause": _percentiles(latency.pause_seconds),
    }


def _unknown(plan: Plan) -> Iterator[dict[str, str]]:
    """A warning for every figure that is null, so that nothing is silently missing."""
    if plan.model.parameters is None:
        yield {"code": "parameters_unknown", "message": "The number of parameters is not known for this model."}
    if plan.model.shape.max_context is None:
        yield {"code": "max_context_unknown", "message": "The configuration does not say how long a context the model was trained for."}
    if plan.memory.cache_tokens is None:
        yield {"code": "cache_tokens_unknown", "message": "The cache of this model does not grow with tokens, so it has no size in tokens."}
    for name, value in (("prefill rate", plan.speed.prefill_rate), ("decode rate", plan.speed.decode_rate)):
        if value is None:
            yield {
                "code": f"{name.replace(' ', '_')}_unknown",
                "message": f"The {name} is not known for this machine: measure it and give it as --{name.replace(' ', '-')}.",
            }
    missing = [n for n in ("ttft", "itl", "pause") if getattr(plan.speed, f"{n}_seconds") is None]
    if missing:
        yield {
            "code": "latency_unknown",
            "message": f"Not stated: {', '.join(missing)}. They depend on lengths and speeds that were not given.",
        }
    if plan.fit.slots_at_p95_length is None:
        yield {"code": "lengths_unknown", "message": "slots_at_p95_length needs a paged cache and the lengths of prompts and answers."}
    if plan.fit.warm_conversations is None:
        yield {
            "code": "warm_conversations_unknown",
            "message": "How many idle conversations stay cached is not stated for this engine and machine.",
        }


def plan_json(plan: Plan, hand_over: HandOver) -> dict[str, Any]:
    """The object of `plan --json`. Sizes in bytes, times in seconds; what is not known is None with a warning."""
    shape, speed, engine = plan.model.shape, plan.speed, plan.engine
    warnings = [{"code": r.code, "message": r.message} for r in plan.remarks]
    return {
        "schema": SCHEMA,
        "headline": headline(plan).text,
        "model": {
            "id": plan.model.id,
            "revision": plan.model.revision,
            "architecture": shape.architecture,
            "layers": len(shape.layers),
            "max_context": shape.max_context,
            "parameters": None if plan.model.parameters is None else round(plan.model.parameters.value),
            "source": plan.model.source,
        },
        "cache": {
            "type": engine.cache_type_k if engine.cache_type_k == engine.cache_type_v else f"{engine.cache_type_k}/{engine.cache_type_v}",
            "bytes_per_token": plan.cache.bytes_per_token,
            "bytes_per_sequence": plan.cache.bytes_per_sequence,
            "bytes_per_request": plan.cache.request_bytes,
            "bytes_reserved": plan.cache.reserved_bytes,
            "groups": [
                {
                    "kind": g.kind,
                    "layers": g.layers,
                    "bytes_per_token": g.bytes_per_token,
                    "window": g.window,
                    "bytes_per_sequence": g.bytes_per_sequence,
                }
                for g in plan.cache.groups
            ],
            "working": list(plan.cache.working),
        },
        "memory": _memory(plan),
        "workload": {
            "users": plan.workload.users,
            "generate_seconds": plan.workload.generate_seconds,
            "turn_seconds": plan.workload.turn_seconds,
            "in_flight_mean": plan.workload.in_flight_mean,
            "in_flight_p95": plan.workload.in_flight_p95,
            "in_flight_p99": plan.workload.in_flight_p99,
        },
        "fit": _fit(plan),
        "scenarios": _scenarios(plan),
        "speed": _speed(speed),
        "engine": {
            "name": engine.name,
            "version": engine.version,
            "tensor_parallel": engine.tensor_parallel,
            "pipeline_parallel": engine.pipeline_parallel,
            "why": engine.why,
            "flags": [_setting(s) for s in hand_over.settings],
            "command": hand_over.command,
            "files": [{"path": f.path, "content": f.content, "why": f.why} for f in hand_over.files],
            "apply": _steps(hand_over.apply),
            "verify": _steps(hand_over.verify),
            "undo": _steps(hand_over.undo),
            "measure": _steps((hand_over.measure,))[0] if hand_over.measure else None,
            "expect": {
                "bytes_per_request": plan.cache.request_bytes,
                "bytes_reserved": plan.cache.reserved_bytes,
                "values": dict(hand_over.expect.values),
                "lines": [{"line": line.line, "why": line.why} for line in hand_over.expect.lines],
            },
        },
        "alternatives": [
            {"change": a.change, "slots_that_fit": a.slots_that_fit, "why": a.why, "inputs": dict(a.changes)} for a in plan.alternatives
        ],
        "warnings": [*warnings, *_unknown(plan)],
    }


def reconciliation_json(found: Reconciliation) -> dict[str, Any]:
    """What the key `reconcile` holds: the printed figures beside the plan's."""
    rows = [
        {
            "key": row.key,
            "name": row.name,
            "printed": row.printed,
            "expected": row.expected,
            "equal": row.equal,
            "explained": row.explained,
            "why": row.why,
        }
        for row in found.rows
    ]
    return {"summary": found.summary, "equal": found.equal, "rows": rows, "inputs": dict(found.changes)}
