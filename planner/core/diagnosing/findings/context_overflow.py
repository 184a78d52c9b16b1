"""Prompts that are longer than the context, and answers that end because it is full."""

from planner.core import units
from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding
from planner.core.diagnosing.fixes import fix_files
from planner.core.engines.contract import File


def _look(case: Case) -> Finding | None:
    refused = case.noticed("too_long")
    count = max(refused.count, case.collected.totals.refused)
    if not count:
        return None
    context = case.whole("n_ctx_slot")
    longest = int(refused.largest) if refused.largest else case.collected.totals.prompt_max
    needed = _rounded(longest + 1_024)
    room = f" A slot has {context:,}." if context else ""
    return Finding(
        code="context_overflow",
        severity="high" if count * 20 >= case.collected.totals.tasks else "medium",
        title="Prompts are longer than the context",
        evidence=f"{units.counted(count, 'request')} of {case.collected.totals.tasks:,} did not fit and got an error; the longest asked for {longest:,} tokens.{room}",
        cause="The context is divided by the slots, and a prompt that does not fit its share is refused at once.",
        fix=f"A slot needs {needed:,} tokens: raise the context, have fewer slots, or cut histories in the application.",
        count=count,
        examples=examples_of(refused, "a prompt was refused as too long"),
        files=_files(case, needed),
    )


def _files(case: Case, needed: int) -> tuple[File, ...]:
    if case.engine == "ollama":
        return fix_files(case.facts, "OLLAMA_CONTEXT_LENGTH", needed, "Room for the longest prompt and its answer.")
    if case.engine != "llama-server" or not case.slots:
        return ()
    unified = case.facts.values.get("kv_unified") is True
    whole = needed if unified else needed * case.slots
    return fix_files(
        case.facts, "--ctx-size", whole, f"{needed:,} tokens for each of {case.slots} slots: llama-server divides the number by them."
    )


def _rounded(tokens: int) -> int:
    return -(-tokens // 1_024) * 1_024


FINDING = _look
