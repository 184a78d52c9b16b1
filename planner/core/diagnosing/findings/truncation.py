"""Answers that ran into the end of their context, prompts that were cut to fit, conversations that lost their beginning."""

from planner.core import units
from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding


def _look(case: Case) -> Finding | None:
    cut, shifted = case.noticed("truncated_input"), case.noticed("context_shift")
    ended = case.collected.totals.truncated
    count = cut.count + shifted.count + ended
    if not count:
        return None
    parts = [
        f"{units.counted(ended, 'answer')} ended at the end of the context" if ended else "",
        f"{units.counted(cut.count, 'prompt')} lost a part of itself" if cut.count else "",
        f"{units.counted(shifted.count, 'time')} the beginning of a conversation was thrown away to go on" if shifted.count else "",
    ]
    return Finding(
        code="truncation",
        severity="medium" if count * 20 >= case.collected.totals.tasks else "low",
        title="Answers or prompts are cut short by the context",
        evidence="; ".join(part for part in parts if part) + ".",
        cause="A slot's context holds the prompt and the answer; when it is full, the answer ends or the oldest tokens go, and nobody is told.",
        fix="Limit the answer (max_tokens) and shorten the history before it fills the slot, or give slots more context.",
        count=count,
        examples=(*examples_of(cut, "a prompt was cut to fit"), *examples_of(shifted, "the beginning was thrown away"))[:3],
    )


FINDING = _look
