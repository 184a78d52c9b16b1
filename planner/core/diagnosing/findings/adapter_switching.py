"""A request for one LoRA adapter waits with its slot until nobody generates with another."""

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Effect, Finding


def _look(case: Case) -> Finding | None:
    waits = case.collected.observed.waits.by_cause["other_adapter"]
    if not waits.count:
        return None
    day = waits.seconds * 86_400 / case.span_s if case.span_s else None
    return Finding(
        code="adapter_switching",
        severity=case.severity(waits.seconds, waits.count),
        title="Requests wait for another adapter's answers to end",
        evidence=f"{units.counted(waits.count, 'task')} had a slot and no pass while others generated and nobody's prompt was read: "
        f"{case.of_all(waits.seconds)} in all, the longest {units.seconds(waits.longest)}. The engine's own timings leave this wait out.",
        cause="Slots with different adapters share no pass. While one adapter's slots generate, prompts for another are not begun, however long; "
        "the log does not print it, it follows from who ran meanwhile.",
        fix="Give each adapter that is used at the same time a server of its own, or merge the one that most requests use into the model, "
        "or send requests of one adapter together.",
        lost_s=waits.seconds,
        count=waits.count,
        examples=waits.examples(),
        effect=Effect(
            measure="seconds waited for another adapter",
            before=waits.seconds,
            after=0.0,
            low=0.0,
            high=waits.seconds * 0.2,
            seconds_a_day=day,
            text=f"Without other adapters on the same server these {units.seconds(waits.seconds)} of waiting go; what the answers then cost each other "
            "by running together is not in this figure.",
        ),
        inferred=True,
    )


FINDING = _look
