"""The ladder as the JSON object of a script and as lines for a terminal."""

from collections.abc import Iterator
from typing import Any

from planner.core import units
from planner.core.comparing.report import price_json
from planner.core.ladder.rung import Cost, Ladder, Rung


def ladder_json(found: Ladder) -> dict[str, Any]:
    return {
        "target": found.target,
        "currency": found.currency,
        "today": rung_json(found.today),
        "rungs": [rung_json(rung) for rung in found.rungs],
        "notes": list(found.notes),
    }


def rung_json(rung: Rung) -> dict[str, Any]:
    """`changes` are options of a plan; `price` is null where none is known, `price_words` says what is."""
    return {
        "kind": rung.kind,
        "change": rung.change,
        "why": rung.why,
        "changes": dict(rung.changes),
        "engine": rung.engine,
        "weights": rung.weights,
        "cache_type": rung.cache_type,
        "context": rung.context,
        "machine": rung.machine,
        "machines": rung.machines,
        "verdict": rung.verdict,
        "slots_needed": rung.slots_needed,
        "slots_that_fit": rung.slots_that_fit,
        "users": rung.users,
        "users_waiting": rung.users_waiting,
        "users_reading": rung.users_reading,
        "users_gained": rung.gained,
        "reaches": rung.reaches,
        **_cost(rung.cost),
        "watts": rung.watts,
        "watts_more": rung.watts_more,
        "quality_risk": {"text": rung.risk.text, "grade": rung.risk.grade, "source": rung.risk.source or None} if rung.risk else None,
        "next_limit": rung.next_limit,
        "files": [{"path": file.path, "content": file.content, "why": file.why} for file in rung.files],
        "steps": [{"command": step.command, "expect": step.expect, "why": step.why} for step in rung.steps],
        "unverified": rung.unverified,
        "disputed": list(rung.disputed),
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "price": cost.amount,
        "monthly": cost.monthly,
        "price_is_offer": cost.is_offer,
        "price_words": cost.words,
        "prices": [price_json(price) for price in cost.prices],
        "to_buy": cost.count,
    }


def ladder_text(found: Ladder) -> str:
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Ladder) -> Iterator[str]:
    today = found.today
    yield f"Today: {today.change}, {today.weights} on {today.engine}: {_users(today)}. {units.counted(found.target, 'user')} wanted."
    yield f"  {today.next_limit}"
    for number, rung in enumerate(found.rungs, 1):
        yield ""
        yield f"{number}. {rung.change}"
        yield f"   {_users(rung)}, {rung.gained:+,} · {'enough' if rung.reaches else 'not enough'} · {rung.cost.words}{_watts(rung)}"
        yield f"   {rung.why}"
        if rung.risk:
            source = f" ({rung.risk.source})" if rung.risk.source else ""
            yield f"   Quality: {rung.risk.text}{source}"
        yield f"   Next limit: {rung.next_limit}"
        for text in rung.disputed:
            yield f"   Sources differ on its {text}. The first is used."
        for file in rung.files:
            yield f"   File {file.path} (whole in --json): {file.why}"
        for step in rung.steps:
            yield f"     {step.command}"
            yield f"         {step.why}"
    yield ""
    yield from found.notes


def _users(rung: Rung) -> str:
    slots = f"{units.counted(rung.users, 'user')} with {units.counted(rung.slots_that_fit, 'slot')}"
    return slots if rung.users_reading in {None, rung.users} else f"{slots}, {rung.users_reading:,} of them at the pace of reading"


def _watts(rung: Rung) -> str:
    if rung.watts is None:
        return ""
    more = f", {rung.watts_more:+,} W" if rung.watts_more else ""
    return f" · boards {rung.watts:,} W{more}"
