"""Conversations that had been here before are read from their beginning again."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Effect, Finding
from planner.core.diagnosing.fixes import fix_files
from planner.core.engines.contract import File

_LEAST_SHARE: Final = 0.02
# One prompt as long as an earlier conversation may be chance.
_LEAST: Final = 2
# llama-server's --cache-ram unless told otherwise (b11434).
_DEFAULT_RAM_MIB: Final = 8_192


def _look(case: Case) -> Finding | None:
    cache, seen = case.prompt_cache, case.collected.observed.rereads.worst
    forced = case.noticed("full_reprocess")
    lost = cache.reread_s
    if not forced.count and (cache.misses < _LEAST or lost < _LEAST_SHARE * case.total_s):
        return None
    thrown = case.noticed("cache_ram_full", "purged_slot", "checkpoint_erased")
    beside = f" {thrown.count:,} times the log says that something was thrown out of the cache." if thrown.count else ""
    rolled = f" {forced.count:,} prompts were read again because the cache could not be rolled back." if forced.count else ""
    hit = f" {units.percent(cache.hit_rate)} of all prompt tokens were found in the cache." if cache.hit_rate is not None else ""
    certain = case.severity(lost, cache.misses + forced.count)
    return Finding(
        code="prompt_cache",
        severity="medium" if certain == "high" and not forced.count else certain,
        title="Long prompts are read from the beginning",
        evidence=f"{units.counted(cache.misses, 'prompt')} as long as an earlier conversation had next to nothing in the cache: {cache.reread_tokens:,} tokens, "
        f"{case.of_all(lost)}. They may be conversations that were here before, or new ones.{hit}{beside}{rolled}",
        cause="A slot keeps the last conversation it served; another one that takes the slot, a summary in place of the history, a changed first line "
        "or another adapter makes its cache worthless, and what main memory keeps is bounded.",
        fix="Keep the beginning of every prompt as it was (no clock, no shuffled tools), append instead of rewriting, and give the prompt cache in "
        "main memory more room.",
        lost_s=lost,
        count=cache.misses + forced.count,
        examples=seen.examples(),
        files=_files(case),
        effect=_effect(case, lost),
        inferred=not forced.count,
    )


def _files(case: Case) -> tuple[File, ...]:
    if case.engine != "llama-server":
        return ()
    ram = case.whole("cache_ram_mib") or _DEFAULT_RAM_MIB
    why = f"MiB of main memory for conversations whose slot went to another: {2 * ram:,} instead of {ram:,}."
    return fix_files(case.facts, "--cache-ram", 2 * ram, why)


def _effect(case: Case, lost: float) -> Effect | None:
    """The log's requests once more with those prompts in the cache."""
    replayer = case.replayer
    after = replayer.run(remembered=True) if replayer and replayer.base else None
    if replayer is None or after is None or replayer.base is None or after.seconds >= replayer.base.seconds:
        return None
    before = replayer.base.seconds
    low, high = after.seconds * (1 - replayer.error), min(before, after.seconds * (1 + replayer.error))
    return Effect(
        measure="seconds of all turns together",
        before=before,
        after=after.seconds,
        low=low,
        high=high,
        seconds_a_day=replayer.saved_a_day(after),
        text=f"Replayed with those prompts in the cache: all turns together take {units.seconds(after.seconds)} ({units.seconds(low)} to "
        f"{units.seconds(high)}) instead of {units.seconds(before)}. That is the best case, because some may be new: they took {units.seconds(lost)} by themselves.",
    )


FINDING = _look
