"""The smallest changes that would make a plan fit, each tried out and with what it gains."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final

from planner.core import catalog, units
from planner.core import weights as weighing
from planner.core.draft import Draft, Source, draft
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.plan import Alternative
from planner.core.readers.hf_config import read_shape
from planner.core.readers.parameters import parameter_count
from planner.core.request import PlanRequest

_SHORTEST_CONTEXT: Final = 1024
_CONTEXT_STEP: Final = 256
_MOST: Final = 3
SMALL_BYTES: Final = 8 * units.GIB
# Models tried before it is given up: each is a plan of its own.
_MOST_MODELS: Final = 12

Changes = dict[str, Any]
Try = Callable[[Changes], Draft | None]


def alternatives(request: PlanRequest, source: Source, now: Draft) -> tuple[Alternative, ...]:
    """Up to three changes, smallest first, that bring more slots; none where the plan fits already.

    A small machine without a GPU is told of a smaller model first: it is faster there, too.
    Each was tried out on the plan's engine and asks for it by name, so that what it promises is what it gives. A command
    line or a known cache pool describes a server as it is: there the plan's inputs are not what to change.
    """
    if now.fit.verdict == "fits" or now.capacity.limit == "engine" or request.engine_args or request.cache_memory:
        return ()

    def tried(changes: Changes) -> Draft | None:
        """The draft under changed inputs, None where the engine cannot run that."""
        try:
            return draft(request.model_copy(update=changes), source, now.engine)
        except InputError:
            return None

    found: list[Alternative] = []
    small = is_small(now.job.node)
    if small:
        found.extend(_smaller_models(request, now))
    for make in (_shorter_context, _eight_bit_cache, _smaller_weights, _more_cards):
        alternative = make(now, tried)
        if alternative and alternative.slots_that_fit > now.fit.slots_that_fit:
            found.append(alternative)
    if not small and now.fit.verdict == "does_not_fit" and not any(a.slots_that_fit >= now.fit.slots_needed for a in found):
        found.extend(_smaller_models(request, now))
    found.sort(key=lambda alternative: alternative.slots_that_fit < now.fit.slots_needed)
    return tuple(replace(each, changes=(*each.changes, ("engine", now.engine.name))) for each in found[:_MOST])


def is_small(node: Node) -> bool:
    """A machine without a GPU whose main memory holds a small model at best."""
    return not node.has_gpu and node.memory_bytes <= SMALL_BYTES


def _gain(now: Draft, then: Draft) -> str:
    wanted, fits = now.fit.slots_needed, then.fit.slots_that_fit
    slots = f"{fits} slot{'s' if fits != 1 else ''} fit instead of {now.fit.slots_that_fit}"
    return f"{slots}, enough for the {wanted} you want" if fits >= wanted else f"{slots}, still short of the {wanted} you want"


def _shorter_context(now: Draft, tried: Try) -> Alternative | None:
    """The longest context, in steps of 256 tokens, at which the slots that are needed fit."""
    low, high = _SHORTEST_CONTEXT // _CONTEXT_STEP, (now.job.context_tokens - 1) // _CONTEXT_STEP
    best: tuple[int, Draft] | None = None
    while low <= high:
        middle = (low + high) // 2
        then = tried({"context": middle * _CONTEXT_STEP})
        if then and then.fit.slots_that_fit >= now.fit.slots_needed:
            best, low = (middle * _CONTEXT_STEP, then), middle + 1
        else:
            high = middle - 1
    if best is None:
        return None
    context, then = best
    return Alternative(
        change=f"{context:,} tokens of context instead of {now.job.context_tokens:,}",
        why=f"{_gain(now, then)}. Conversations longer than that are cut.",
        slots_that_fit=then.fit.slots_that_fit,
        changes=(("context", context),),
    )


def _eight_bit_cache(now: Draft, tried: Try) -> Alternative | None:
    cache_type = now.engine.eight_bit_cache(now.job.node.device)
    then = None if cache_type is None or cache_type in now.engine.cache_types(now.job) else tried({"cache_type": cache_type})
    if then is None:
        return None
    return Alternative(
        change=f"An 8-bit KV cache ({cache_type})",
        why=f"{_gain(now, then)}. It costs little quality for most models; check yours.",
        slots_that_fit=then.fit.slots_that_fit,
        changes=(("cache_type", cache_type),),
    )


def _smaller_weights(now: Draft, tried: Try) -> Alternative | None:
    """The first smaller weight format that reaches the slots needed, else the smallest there is."""
    best: tuple[str, Draft] | None = None
    for quant in weighing.smaller_formats(now.job.weights.format, gguf=now.engine.serves_gguf):
        then = tried({"weights_quant": quant, "weights_size": None})
        if then and then.job.weights.size_bytes < now.job.weights.size_bytes:
            best = quant, then
            if then.fit.slots_that_fit >= now.fit.slots_needed:
                break
    if best is None:
        return None
    quant, then = best
    return Alternative(
        change=f"Weights in {quant} (about {units.gib(then.job.weights.size_bytes)} instead of {units.gib(now.job.weights.size_bytes)})",
        why=f"{_gain(now, then)}. Fewer bits cost some quality: compare answers before you settle.",
        slots_that_fit=then.fit.slots_that_fit,
        changes=(("weights_quant", quant), ("weights_size", None)),
    )


def _more_cards(now: Draft, tried: Try) -> Alternative | None:
    """The next number of equal cards that this engine can use; nothing for cards of several kinds."""
    node = now.job.node
    if not node.has_gpu or len(node.kinds) > 1:
        return None
    have, card = len(node.devices), node.device
    # A device that was typed with its number is named without it; memory typed by hand has no name.
    named: Changes = {} if card.device_class == "custom" else {"device": card.slug}
    for count in range(have + 1, 2 * have + 1):
        changes: Changes = {**named, "count": count, "tensor_parallel": None, "pipeline_parallel": None}
        then = tried(changes)
        if then:
            more = count - have
            return Alternative(
                change=f"{more} more {card.name}" + (f" ({count} in all)" if have > 1 or more > 1 else ""),
                why=f"{_gain(now, then)}.",
                slots_that_fit=then.fit.slots_that_fit,
                changes=tuple(changes.items()),
            )
    return None


def _smaller_models(request: PlanRequest, now: Draft) -> Iterator[Alternative]:
    """The largest catalogue model, of the same maker where there is one, that gives these people their slots, else some."""
    size = now.job.weights.size_bytes
    maker = request.model.partition("/")[0].lower()
    smaller = [entry for entry in catalog.models().values() if _least_bytes(entry) < min(size, now.job.node.memory_bytes)]
    smaller.sort(key=lambda entry: (not entry.id.lower().startswith(maker + "/"), -entry.parameters))
    second: Alternative | None = None
    for entry in smaller[:_MOST_MODELS]:
        changes: Changes = {"model": entry.id, "config": None, "revision": None, "weights_size": None, "bytes_per_token": None}
        try:
            then = draft(request.model_copy(update=changes), _catalog_source(entry.id), now.engine)
        except InputError:
            continue
        if then.job.weights.size_bytes >= size or then.fit.verdict == "does_not_fit":
            continue
        found = Alternative(
            change=f"A smaller model: {entry.id} in {then.job.weights.format}",
            why=f"{_gain(now, then)}. Its weights take {units.gib(then.job.weights.size_bytes)} instead of {units.gib(size)}.",
            slots_that_fit=then.fit.slots_that_fit,
            changes=tuple(changes.items()),
        )
        if then.fit.slots_that_fit >= now.fit.slots_needed:
            yield found
            return
        second = second or found
    if second:
        yield second


def _least_bytes(entry: catalog.CatalogModel) -> int:
    """Below this a model's weights cannot be: half a byte per parameter. It only saves trying what cannot fit."""
    return entry.parameters // 2


@cache
def _catalog_source(model_id: str) -> Source:
    entry = catalog.models()[model_id]
    return Source(entry.id, None, read_shape(entry.config), parameter_count(entry.config), entry.source)
