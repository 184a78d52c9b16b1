"""Ollama: what it multiplies, what it forces, and a queue that keeps everyone waiting.

Sources: Ollama, snapshot fb30760 of August 2026: envconfig/config.go, server/sched.go, and its FAQ on the cache type.
"""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.review.case import Case, Complaint

_ON: Final = frozenset({"1", "true", "on", "yes"})
_HOMES: Final = ("/home/", "/root/", "~", "$HOME", "${HOME}")


def _applies(case: Case) -> bool:
    return case.plan.engine.name == "ollama"


def long_queue(case: Case) -> Iterator[Complaint]:
    queue, fit = case.number("OLLAMA_MAX_QUEUE"), case.plan.fit
    if not _applies(case) or queue is None or queue <= 4 * max(1, fit.max_queue) or not fit.slots:
        return
    last = queue * case.plan.workload.generate_seconds / fit.slots
    yield case.complain(
        "long_queue",
        case.option("OLLAMA_MAX_QUEUE"),
        numbers=f"number {queue:,} in the queue starts after about {units.seconds(last)}",
        reason=f"People give up after {units.seconds(case.plan.request.patience)}, and what they gave up on is still computed. A short queue says “busy” at once.",
        replacement=case.write("OLLAMA_MAX_QUEUE"),
    )


def multiplied_context(case: Case) -> Iterator[Complaint]:
    """Ollama multiplies the context by the slots; whoever did it before has it twice."""
    context, slots = case.number("OLLAMA_CONTEXT_LENGTH"), case.number("OLLAMA_NUM_PARALLEL") or 1
    wanted = case.plan.fit.context_per_slot
    if _applies(case) and context and slots > 1 and context >= slots * wanted:
        yield case.complain(
            "multiplied_context",
            case.option("OLLAMA_CONTEXT_LENGTH"),
            case.option("OLLAMA_NUM_PARALLEL"),
            numbers=f"{slots} × {context:,} = {context * slots:,} tokens of cache",
            reason=f"Ollama multiplies the context by OLLAMA_NUM_PARALLEL itself. For {wanted:,} tokens in each conversation, say {wanted:,}.",
            replacement=case.write("OLLAMA_CONTEXT_LENGTH"),
        )


def type_without_flash(case: Case) -> Iterator[Complaint]:
    given, flash = case.option("OLLAMA_KV_CACHE_TYPE"), case.option("OLLAMA_FLASH_ATTENTION")
    if not _applies(case) or given is None or case.meaning(given) in {"f16", ""}:
        return
    if flash is None or (flash.value or "").lower() not in _ON:
        yield case.complain(
            "type_without_flash",
            given,
            flash,
            reason="Without flash attention Ollama keeps the cache at 16 bit and says nothing.",
            replacement=f"{case.write('OLLAMA_KV_CACHE_TYPE', case.meaning(given))}\n{case.write('OLLAMA_FLASH_ATTENTION', 1)}",
        )


def forced_to_one(case: Case) -> Iterator[Complaint]:
    slots = case.number("OLLAMA_NUM_PARALLEL")
    if _applies(case) and slots and slots > 1 and case.plan.fit.limit == "engine" and case.plan.fit.slots_that_fit == 1:
        yield case.complain(
            "forced_to_one",
            case.option("OLLAMA_NUM_PARALLEL"),
            numbers=f"{case.plan.model.shape.architecture or case.plan.model.id}",
            reason="Ollama serves this family one request at a time, whatever this says, and only its log mentions it.",
            replacement=case.write("OLLAMA_NUM_PARALLEL"),
        )


def beyond_memory(case: Case) -> Iterator[Complaint]:
    context, slots = case.number("OLLAMA_CONTEXT_LENGTH"), case.number("OLLAMA_NUM_PARALLEL")
    fit = case.plan.fit
    most = fit.slots_that_fit * fit.context_per_slot
    small = case.option("OLLAMA_KV_CACHE_TYPE") is not None
    if not _applies(case) or not context or not slots or small or not most or context * slots <= most or fit.limit == "engine":
        return
    if slots > 1 and context >= slots * fit.context_per_slot:
        return
    yield case.complain(
        "beyond_memory",
        case.option("OLLAMA_NUM_PARALLEL"),
        case.option("OLLAMA_CONTEXT_LENGTH"),
        numbers=f"{slots} × {context:,} = {slots * context:,} tokens; {fit.inequality.rstrip('.')}",
        reason=f"The memory holds {most:,} tokens: part of the model moves to the CPU (`ollama ps` shows the share) and every answer slows down.",
        replacement=f"{case.write('OLLAMA_NUM_PARALLEL')}\n{case.write('OLLAMA_CONTEXT_LENGTH')}",
    )


def models_at_home(case: Case) -> Iterator[Complaint]:
    given = case.option("OLLAMA_MODELS")
    if _applies(case) and given is not None and (given.value or "").startswith(_HOMES) and case.pasted.form != "command":
        yield case.complain(
            "models_at_home",
            given,
            reason="The service runs as the user ollama, who cannot read your home folder (and a unit has no ~): it finds no models.",
            replacement=case.write("OLLAMA_MODELS", "/var/lib/ollama/models"),
        )


def never_kept(case: Case) -> Iterator[Complaint]:
    given = case.option("OLLAMA_KEEP_ALIVE")
    if _applies(case) and given is not None and (given.value or "").strip() in {"0", "0s", "0m"}:
        yield case.complain(
            "never_kept",
            given,
            reason=f"The model is unloaded after every answer: the next one waits until {units.gib(case.plan.memory.size_of('weights'))} are read again.",
            replacement=case.write("OLLAMA_KEEP_ALIVE"),
        )


RULES: Final = (long_queue, multiplied_context, type_without_flash, forced_to_one, beyond_memory, models_at_home, never_kept)
