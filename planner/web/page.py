"""Everything the planner's templates may use, put together from an outcome."""

from typing import Any

from planner.core import units
from planner.core.attention.config import BY_HAND
from planner.core.engines import engines
from planner.core.engines.contract import HandOver
from planner.core.headline import headline
from planner.core.plan import Percentiles, Plan, Speed
from planner.web import bars, choices, figures
from planner.web.address import query
from planner.web.asking import Outcome
from planner.web.inputs import form


def page(outcome: Outcome, *, config_text: str = "", config_error: str = "") -> dict[str, Any]:
    """The context of planner/page.html and its parts. `config_text` and `config_error` belong to a config.json that was refused."""
    context: dict[str, Any] = {
        "nav": "planner",
        "typed": outcome.typed,
        "query": query(outcome.typed),
        "form": form(outcome),
        "by_hand": outcome.by_hand,
        "config_by_hand": BY_HAND in config_error,
        "errors": {**outcome.errors, **({"config": config_error} if config_error else {})},
        "config": outcome.typed.get("config", ""),
        "config_text": config_text,
        "config_error": config_error or outcome.errors.get("config", ""),
        "summary": summary(outcome),
        "models": choices.models(),
        "devices": choices.devices(),
        "formats": choices.formats(outcome.answer.plan if outcome.answer else None),
    }
    if outcome.answer:
        context |= _answer(outcome.answer.plan, outcome.answer.hand_over)
    return context


def _answer(plan: Plan, hand_over: HandOver) -> dict[str, Any]:
    return {
        "plan": plan,
        "hand_over": hand_over,
        "headline": headline(plan),
        "readouts": figures.readouts(plan),
        "memory_lines": figures.memory_lines(plan),
        "lines_beside": figures.lines_beside(plan),
        # equal cards are each the one that the bar shows
        "per_device": plan.memory.per_device if len(set(plan.memory.per_device)) > 1 else (),
        "held_against": figures.held_against(plan),
        "memory_bar": bars.memory_bar(plan.memory),
        "distribution": bars.distribution(plan.workload, plan.fit.slots),
        "speeds": figures.speeds(plan),
        "latencies": _latencies(plan),
        "engine_tabs": [(name, engine.title) for name, engine in engines().items()],
        "step_groups": [
            ("Install", "apply", hand_over.apply),
            ("Check that it took effect", "verify", hand_over.verify),
            ("Undo", "undo", hand_over.undo),
        ],
        "grades": list(figures.GRADES.items()),
    }


def _latencies(plan: Plan) -> list[tuple[str, Percentiles, str]]:
    """What people feel, with the range of the 95th percentile where the speeds are estimates."""
    speed = plan.speed
    named = (("First token", "ttft_seconds"), ("Between tokens", "itl_seconds"), ("Longest pause", "pause_seconds"))
    return [(title, times, _between(speed, name)) for title, name in named if (times := getattr(speed, name)) is not None]


def _between(speed: Speed, name: str) -> str:
    ends = [getattr(end, name) for end in (speed.fastest, speed.slowest) if end is not None]
    return " to ".join(units.seconds(end.p95) for end in ends) if len(ends) == 2 and None not in ends else ""


def summary(outcome: Outcome) -> str:
    """The inputs in one line, for a phone: `Qwen3-8B · RTX 4090 · 20 users · 8k`."""
    if outcome.answer is None:
        return " · ".join(outcome.typed.get(name, "")[:40] for name in ("model", "device") if outcome.typed.get(name)) or "Inputs"
    plan = outcome.answer.plan
    name = plan.model.id.rpartition("/")[2]
    people = "1 user" if plan.workload.users == 1 else f"{plan.workload.users:,} users"
    return f"{name} · {plan.node.title.replace('GeForce ', '')} · {people} · {units.trimmed(plan.request.context / 1024, 1)}k"
