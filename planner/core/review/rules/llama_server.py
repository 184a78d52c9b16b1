"""llama-server: how the context is divided, what a quantised cache needs, what fits.

Sources: llama.cpp b11434, tools/server/server-context.cpp (slots), src/llama-context.cpp (division, V cache), common/arg.cpp.
"""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.review.case import Case, Complaint

_UNQUANTISED: Final = frozenset({"f16", "bf16", "f32"})
_AUTO_SLOTS: Final = 4
_MODEL: Final = frozenset({"--model", "--hf-repo", "--models-dir", "--models-preset"})


def _applies(case: Case) -> bool:
    return case.plan.engine.name == "llama-server"


def _unified(case: Case) -> bool:
    """One pool for all slots: asked for, or chosen by llama-server where the number of slots is left to it."""
    given = case.option("--kv-unified")
    if given is not None:
        return case.meaning(given) != "off"
    slots = case.number("--parallel")
    return slots is None or slots < 0


def undivided_context(case: Case) -> Iterator[Complaint]:
    """`-c` is divided by the slots, so it must be that many conversations long."""
    context, slots = case.number("--ctx-size"), case.number("--parallel")
    wanted = case.plan.fit.context_per_slot
    if not _applies(case) or not context or slots is None or slots < 2 or _unified(case) or context // slots >= wanted:
        return
    yield case.complain(
        "undivided_context",
        case.option("--ctx-size"),
        case.option("--parallel"),
        numbers=f"{context:,} ÷ {slots} = {context // slots:,} tokens for each slot",
        reason=f"llama-server divides --ctx-size by the slots. A conversation of the planned {wanted:,} tokens gets HTTP 400, or its answer ends early.",
        replacement=f"{case.write('--ctx-size')}\n{case.write('--parallel')}",
    )


def context_left_out(case: Case) -> Iterator[Complaint]:
    """Slots without a context: the model's whole training context, once for each slot or divided by them."""
    slots, longest = case.number("--parallel"), case.plan.model.shape.max_context
    given = case.option("--ctx-size")
    if not _applies(case) or slots is None or slots < 2 or (given is not None and case.number("--ctx-size") != 0):
        return
    trained = f"{longest:,}" if longest else "the model's whole context of"
    yield case.complain(
        "context_left_out",
        given,
        case.option("--parallel"),
        numbers=f"--ctx-size is {'0' if given else 'not set'}",
        reason=f"Without a context, llama-server plans {trained} tokens for each of the {slots} slots and shrinks that to what the GPU has free "
        "(with --fit off it divides it by the slots instead): what one conversation gets depends on the machine.",
        replacement=f"{case.write('--ctx-size')}\n{case.write('--parallel')}",
    )


def shared_pool(case: Case) -> Iterator[Complaint]:
    """Slots that share one pool smaller than their conversations together."""
    context, slots = case.number("--ctx-size"), case.number("--parallel")
    at_once = _AUTO_SLOTS if slots is None or slots < 0 else slots
    wanted = case.plan.fit.context_per_slot
    given = case.option("--kv-unified")
    stated = given is not None and case.meaning(given) != "off"
    if not _applies(case) or not context or not _unified(case) or at_once < 2 or context >= at_once * wanted:
        return
    how = "You asked for one pool" if stated else "Without a number of slots, llama-server makes four that share one pool"
    yield case.complain(
        "shared_pool",
        case.option("--ctx-size"),
        case.option("--parallel"),
        given,
        numbers=f"{at_once} slots × {wanted:,} tokens = {at_once * wanted:,}, and the pool has {context:,}",
        reason=f"{how}. Each may fill it alone; when their conversations together do, llama-server ends every running request "
        "(“Context size has been exceeded.”).",
        replacement="\n".join(case.write(name) for name in ("--ctx-size", "--parallel", "--kv-unified") if case.write(name)),
    )


def quantised_values(case: Case) -> Iterator[Complaint]:
    """A quantised V cache needs flash attention."""
    given = case.option("--cache-type-v")
    if not _applies(case) or given is None or case.meaning(given) in _UNQUANTISED:
        return
    flash = case.option("--flash-attn")
    if flash is not None and case.meaning(flash) in {"on", "1", "true", "enabled"}:
        return
    off = flash is not None and case.meaning(flash) not in {"auto", "-1"}
    reason = (
        "Quantised values need flash attention, and it is switched off: llama-server refuses to start."
        if off
        else "Quantised values need flash attention. Under auto it is switched off where the device cannot do this pair of types, and "
        "llama-server then refuses to start."
    )
    yield case.complain(
        "quantised_values",
        given,
        flash,
        reason=reason,
        replacement=f"{case.write('--cache-type-v', case.meaning(given))}\n{case.write('--flash-attn', 'on')}",
    )


def uneven_cache_types(case: Case) -> Iterator[Complaint]:
    """On CUDA, the usual build has flash attention only where both types are equal."""
    keys, values = case.option("--cache-type-k"), case.option("--cache-type-v")
    type_k = case.meaning(keys) if keys else "f16"
    type_v = case.meaning(values) if values else "f16"
    if not _applies(case) or type_k == type_v or type_v in _UNQUANTISED or not case.plan.node.has_gpu:
        return
    yield case.complain(
        "uneven_cache_types",
        keys,
        values,
        numbers=f"keys {type_k}, values {type_v}",
        reason="The usual CUDA and ROCm builds have flash attention only for equal types (others need a build with GGML_CUDA_FA_ALL_QUANTS); "
        "without it a quantised V cache ends the start.",
        replacement=f"{case.write('--cache-type-k', type_v)}\n{case.write('--cache-type-v', type_v)}",
    )


def beyond_memory(case: Case) -> Iterator[Complaint]:
    """More cells than the memory holds."""
    context, fit = case.number("--ctx-size"), case.plan.fit
    most = fit.slots_that_fit * fit.context_per_slot
    same_types = all(case.option(name) is None for name in ("--cache-type-k", "--cache-type-v"))
    if not _applies(case) or not context or context <= most or not same_types or not fit.slots_that_fit:
        return
    yield case.complain(
        "beyond_memory",
        case.option("--ctx-size"),
        numbers=f"{context:,} cells; {fit.inequality.rstrip('.')}",
        reason=f"The memory holds {most:,} cells: layers move to the CPU and every answer slows down, or the start fails.",
        replacement=f"{case.write('--ctx-size')}\n{case.write('--parallel')}",
    )


def no_slots(case: Case) -> Iterator[Complaint]:
    if _applies(case) and case.number("--parallel") == 0:
        yield case.complain(
            "no_slots",
            case.option("--parallel"),
            reason="llama-server refuses to start with no slots; -1 leaves the number to it.",
            replacement=case.write("--parallel"),
        )


def no_model(case: Case) -> Iterator[Complaint]:
    """A whole command without a model starts a router."""
    whole = bool(case.pasted.program) and case.pasted.form in {"command", "docker"}
    if _applies(case) and whole and not any(case.name(given) in _MODEL for given in case.pasted.given):
        yield Complaint(
            "no_model",
            ("--model",),
            "Neither --model nor --hf-repo is there.",
            "Without a model llama-server starts as a router that serves none, and every request gets an error.",
            case.write("--model") or case.write("--hf-repo"),
        )


def long_pass(case: Case) -> Iterator[Complaint]:
    """A batch whose pass makes everyone pause for longer than the plan allows."""
    batch, rate = case.number("--batch-size"), case.plan.speed.prefill_rate
    limit = case.plan.request.pause_target
    if not _applies(case) or not batch or rate is None or batch / rate.value <= 2 * limit or batch <= case.plan.engine.batch_tokens:
        return
    yield case.complain(
        "long_pass",
        case.option("--batch-size"),
        numbers=f"{batch:,} tokens ÷ {rate.value:,.0f} tokens/s = {units.seconds(batch / rate.value)}",
        reason=f"Everyone who is being answered waits for such a pass, and your limit is {units.seconds(limit)}.",
        replacement=case.write("--batch-size"),
    )


RULES: Final = (
    undivided_context, context_left_out, shared_pool, quantised_values, uneven_cache_types, beyond_memory, no_slots, no_model, long_pass,
)  # fmt: skip
