"""Somebody's prompt is read and everybody's answer stands still: one token per pass, and a pass as long as the batch."""

from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import Effect, Example, Finding
from planner.core.diagnosing.fixes import fix_files
from planner.core.diagnosing.replaying import with_batch
from planner.core.engines.contract import File
from planner.core.simulation import PassCost

# Batches that are tried, the largest first; smaller ones cost prefill speed.
BATCHES: Final = (2_048, 1_024, 512, 256, 128)
_PAUSE_TARGET_S: Final = 1.0
# Where no batch meets the target: smaller passes than this cost prefill speed on many machines.
_SMALL: Final = 256
_BATCH_FROM: Final = {
    "printed": "",
    "inferred": " (by what answers got meanwhile; the log does not print it)",
    "assumed": " (llama-server's default; the log does not print it)",
}  # fmt: skip
# Less than this share of everybody's seconds is no reason to change a server.
_LEAST: Final = 0.01


def _look(case: Case) -> Finding | None:
    seen = case.collected.observed
    stalls = seen.beside.stalls
    if not stalls.count or stalls.seconds < _LEAST * case.total_s:
        return None
    during, otherwise = seen.beside.during(), seen.beside.otherwise()
    batch = case.rates.batch_tokens or 0
    smaller = smaller_batch(case, batch)
    rates = (
        f" Beside prompts of {case.long_prefill:,} tokens and more a stream got {during.mean:.2f} tokens/s, otherwise {otherwise.mean:.1f}."
        if during.mean is not None and otherwise.mean is not None
        else ""
    )
    assumed = _BATCH_FROM[case.rates.batch_source]
    return Finding(
        code="long_prefill",
        severity=case.severity(stalls.seconds, stalls.count + 1),
        title="Long prompts freeze the other answers",
        evidence=f"{units.counted(stalls.count, 'answer')} stood still beside somebody else's prompt, {case.of_all(stalls.seconds)} in all, "
        f"the longest for {units.seconds(stalls.longest)}; the longest such prompt had {seen.beside.longest_prompt:,} tokens.{rates}",
        cause=f"A pass holds one token of each answer and up to {batch:,} prompt tokens{assumed}: while a prompt is read, everyone who generates "
        "gets one token per pass, and a pass takes as long as the prompt tokens in it.",
        fix=_fix(case, batch, smaller),
        lost_s=stalls.seconds,
        count=stalls.count,
        examples=_distinct(case),
        files=_files(case, smaller) if smaller else (),
        effect=_effect(case, smaller) if smaller else None,
    )


def _distinct(case: Case) -> tuple[Example, ...]:
    seen = case.collected.observed
    return tuple({example.task: example for example in (*seen.beside.stalls.examples(), *seen.beside.overlaps.examples())}.values())[:3]


def smaller_batch(case: Case, batch: int) -> int | None:
    """The largest of the usual batches whose pass stays within the target even at the end of the longest such prompt, else a small one."""
    below = [size for size in BATCHES if size < batch]
    if not below:
        return None
    cost = case.rates.cost
    if cost is None:
        return below[min(1, len(below) - 1)]
    token_s = _token_seconds(case, cost)
    return next((size for size in below if size * token_s <= _PAUSE_TARGET_S), max(below[-1], min(below[0], _SMALL)))


def _token_seconds(case: Case, cost: PassCost) -> float:
    """Of a prompt token at the end of the longest prompt that held others up."""
    return cost.token_s + cost.attention_s * case.collected.observed.beside.longest_prompt


def _fix(case: Case, batch: int, smaller: int | None) -> str:
    if smaller is None:
        return "Passes are small already: read long prompts at quiet hours, keep histories short, or give them a server of their own."
    cost = case.rates.cost
    if cost is None:
        return f"Make passes smaller: a batch of {smaller:,} tokens instead of {batch:,}."
    token_s = _token_seconds(case, cost)
    return (
        f"Make passes smaller: at the end of such a prompt a full pass of {smaller:,} tokens takes about {units.seconds(smaller * token_s)}, one of "
        f"{batch:,} {units.seconds(batch * token_s)}."
    )


def _files(case: Case, smaller: int) -> tuple[File, ...]:
    name = "--max-num-batched-tokens" if case.engine == "vllm" else "--batch-size"
    why = f"A pass of {smaller:,} prompt tokens instead of {case.rates.batch_tokens:,}: answers get a token after each."
    return fix_files(case.facts, name, smaller, why)


def _effect(case: Case, smaller: int) -> Effect | None:
    replayer = case.replayer
    if replayer is None:
        return None
    effect = replayer.pause_effect(with_batch(smaller), "")
    if effect is None or effect.after >= effect.before:
        return None
    text = (
        f"This log's requests sent again to a simulated server with its speeds: the median longest pause of an answer beside a prompt goes "
        f"from {units.seconds(effect.before)} to {units.seconds(effect.after)} ({units.seconds(effect.low)} to {units.seconds(effect.high)})."
    )
    return Effect(
        measure=effect.measure,
        before=effect.before,
        after=effect.after,
        low=effect.low,
        high=effect.high,
        seconds_a_day=effect.seconds_a_day,
        text=text,
    )


FINDING = _look
