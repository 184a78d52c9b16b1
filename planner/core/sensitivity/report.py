"""What moves a verdict as the JSON object of a script and as lines for a terminal."""

from collections.abc import Iterator
from typing import Any

from planner.core.sensitivity.inputs import shown
from planner.core.sensitivity.ranges import VERDICT_WORDS, End, Range, Sensitivity, Swap, said


def sensitivity_json(found: Sensitivity) -> dict[str, Any]:
    """`ranges`: the input nearest to a change first; `swaps`: other cache and weight formats."""
    return {
        "verdict": found.verdict,
        "slots_needed": found.slots_needed,
        "slots_that_fit": found.slots_that_fit,
        "engine": found.engine,
        "held": found.held,
        "ranges": [_range(each) for each in found.ranges],
        "swaps": [_swap(each) for each in found.swaps],
    }


def _range(each: Range) -> dict[str, Any]:
    return {
        "field": each.field,
        "title": each.title,
        "unit": each.unit,
        "value": each.value,
        "low": each.low,
        "high": each.high,
        "step": each.step,
        "down": _end(each.down),
        "up": _end(each.up),
        "monotone": each.monotone,
        "distance": each.distance,
        "in_doubt": each.in_doubt,
        "sentence": said(each),
    }


def _end(end: End) -> dict[str, Any]:
    return {"last": end.last, "beyond": end.beyond, "verdict": end.verdict, "fails": end.fails, "why": end.why}


def _swap(each: Swap) -> dict[str, Any]:
    return {
        "field": each.field,
        "value": each.value,
        "own": each.own,
        "verdict": each.verdict,
        "slots_that_fit": each.slots_that_fit,
        "why": each.why,
    }


def sensitivity_text(found: Sensitivity) -> str:
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sensitivity) -> Iterator[str]:
    yield f"The plan {VERDICT_WORDS[found.verdict]}: {found.slots_needed:,} slots needed, {found.slots_that_fit:,} fit. {found.held}"
    yield ""
    yield "What moves this verdict, the nearest first"
    for each in found.movers:
        yield f"  {each.title}: {shown(each.unit, each.value)}"
        yield f"      {said(each)}"
    rest = [each.title for each in found.ranges if each.distance is None]
    if rest:
        yield f"  Not: {', '.join(rest)}."
    yield ""
    yield "Other formats"
    for swap in found.swaps:
        verdict = "refused" if swap.verdict is None else swap.verdict.replace("_", " ")
        yield f"  {swap.title} {swap.value}: {verdict}{' (this plan)' if swap.own else ''}. {swap.why}"
