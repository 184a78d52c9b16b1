"""Rungs that cost nothing: a shorter context, an 8-bit cache, smaller weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from planner.core import units
from planner.core import weights as weighing
from planner.core.ladder.costs import nothing
from planner.core.ladder.rung import Kind, Rung
from planner.core.ladder.trying import Start, rung, tried
from planner.core.quality import Risk, cache_risk, context_risk, weights_risk
from planner.core.sensitivity.search import flip
from planner.core.sensitivity.users import serves

_CONTEXT_STEP: Final = 256
_SHORTEST: Final = 1024
# A context of less than this share of today's is another use of the model, and no smaller change of it.
_LEAST_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class _Change:
    kind: Kind
    words: str
    why: str
    changes: dict[str, Any]


def _made(start: Start, change: _Change) -> Rung | None:
    cost, risk = nothing(start.prices.currency), _risk(change.changes)
    return rung(start, change.kind, change.words, why=change.why, changes=change.changes, cost=cost, risk=risk)


def settings_rungs(start: Start) -> Iterator[Rung]:
    """The smallest change first. Both together only where neither is enough."""
    if start.now.request.engine_args or start.now.request.cache_memory:
        return
    yield from _some(_context(start))
    cache, weights = _cache(start), _weights(start)
    made = [found for change in (cache, weights) if change and (found := _made(start, change))]
    yield from made
    if cache and weights and not any(found.reaches for found in made):
        words = f"{cache.words} and {weights.words[0].lower()}{weights.words[1:]}"
        yield from _some(_made(start, _Change("cache_and_weights", words, "Both together.", {**cache.changes, **weights.changes})))


def _some(found: Rung | None) -> Iterator[Rung]:
    if found:
        yield found


def _risk(changes: dict[str, Any]) -> Risk:
    """Of the change that costs the most quality: weights, before the cache."""
    quant = changes.get("weights_quant")
    return weights_risk(quant) if quant else cache_risk(changes["cache_type"])


def _context(start: Start) -> Rung | None:
    """What the longest turns in twenty need, where lengths are given; else the longest context at which everybody finds a slot."""
    request, own = start.now.request, start.now.context_tokens
    if request.prompt_tokens and request.output_tokens:
        needs = request.prompt_tokens + request.output_tokens
        context = -(-needs // _CONTEXT_STEP) * _CONTEXT_STEP
        why = f"Prompt and answer of the longest turn in twenty have {needs:,} tokens."
    else:
        context = _longest(start)
        if context < _LEAST_SHARE * own:
            return None
        why = "The longest context, in steps of 256, at which everybody finds a slot as often as they should."
    if not _SHORTEST <= context < own:
        return None
    change = f"{context:,} tokens of context instead of {own:,}"
    cost, risk = nothing(start.prices.currency), context_risk(context)
    return rung(start, "context", change, why=why, changes={"context": context}, cost=cost, risk=risk)


def _longest(start: Start) -> int:
    """In steps of 256 tokens; 0 where even the shortest is too long."""

    def enough(steps: int) -> bool:
        planned = tried(start, {"context": steps * _CONTEXT_STEP})
        return planned is not None and serves(planned)

    shortest, own = _SHORTEST // _CONTEXT_STEP, start.now.context_tokens // _CONTEXT_STEP
    if own <= shortest or not enough(shortest):
        return 0
    return flip(enough, start=shortest, end=own).last * _CONTEXT_STEP


def _cache(start: Start) -> _Change | None:
    engine, job = start.held.engine, start.now.job
    name = engine.eight_bit_cache(job.node.device)
    if (
        name is None
        or name in engine.cache_types(job)
        or tried(start, {"cache_type": name, "cache_type_k": None, "cache_type_v": None}) is None
    ):
        return None
    changes = {"cache_type": name, "cache_type_k": None, "cache_type_v": None}
    return _Change("cache", f"An 8-bit KV cache ({name})", "The cache of a conversation takes about half.", changes)


def _weights(start: Start) -> _Change | None:
    """The first smaller format that serves everyone, else the smallest there is."""
    engine, job, best = start.held.engine, start.now.job, None
    if start.held.source.weights_format:
        return None
    for name in weighing.smaller_formats(job.weights.format, gguf=engine.serves_gguf):
        planned = tried(start, {"weights_quant": name, "weights_size": None})
        if planned and planned.job.weights.size_bytes < job.weights.size_bytes:
            best = name, planned
            if serves(planned):
                break
    if best is None:
        return None
    name, planned = best
    sizes = f"about {units.gib(planned.job.weights.size_bytes)} instead of {units.gib(job.weights.size_bytes)}"
    changes = {"weights_quant": name, "weights_size": None}
    return _Change("weights", f"Weights in {name} ({sizes})", "What the weights leave, the cache gets.", changes)
