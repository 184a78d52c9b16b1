"""What the reader of a plan for llama-server must know: of the model, of the command line, and of what goes to RAM."""

from collections.abc import Iterator

from planner.core import units
from planner.core.engines.contract import Job
from planner.core.engines.llama_server.architecture import architecture
from planner.core.engines.llama_server.arguments import flags_of
from planner.core.engines.llama_server.cache import Caches
from planner.core.engines.llama_server.layout import trained_context
from planner.core.engines.llama_server.placement import Placement, place, uses_gpu
from planner.core.engines.llama_server.serving import Serving
from planner.core.engines.llama_server.settings import FLAGS
from planner.core.engines.llama_server.versions import BUILDS
from planner.core.plan import Remark


def remarks(job: Job, settings: Serving, held: Caches, placed: Placement) -> tuple[Remark, ...]:
    return (*_conversion(job), *_flags(job, settings), *_context(job, settings, held), *_spill(job, settings, held, placed))


def _conversion(job: Job) -> Iterator[Remark]:
    if architecture(job.shape) is None:
        name = job.shape.architecture or job.shape.model_type or "this kind"
        yield Remark(
            "not_in_llama_cpp",
            f"llama.cpp {BUILDS[-1]} converts no model of class {name[:60]}: there may be no GGUF file, and its memory is worked out by the common rules.",
            "model",
        )


def _flags(job: Job, settings: Serving) -> Iterator[Remark]:
    known = FLAGS.at(f"b{settings.rules.build}")
    unknown = []
    for flag in flags_of(job.engine_args):
        if known.find(flag):
            continue
        removed = known.removed(flag)
        if removed is None:
            unknown.append(flag[:40])
        elif removed.replaced_by != "":
            instead = f": use {removed.replaced_by}" if removed.replaced_by else ""
            yield Remark(
                "flag_not_in_version",
                f"llama-server b{settings.rules.build} does not know {flag[:40]} and stops at it{instead}.",
                "engine_args",
            )
    if unknown:
        yield Remark(
            "unknown_flag",
            f"{', '.join(unknown[:8])}: not among the options known here. They are passed over; one that llama-server does not know stops its start.",
            "engine_args",
        )


def _context(job: Job, settings: Serving, held: Caches) -> Iterator[Remark]:
    trained, context = trained_context(job.shape), held.context
    if trained and context.n_ctx_seq > trained:
        yield Remark(
            "context_above_training",
            f"{context.n_ctx_seq:,} cells are allocated, but the model was trained for {trained:,} tokens, where llama-server caps every slot.",
            "engine_args" if job.engine_args else "context",
        )
    if settings.drafts_itself and not job.shape.draft_layers:
        yield Remark(
            "no_draft_layers", "--spec-type draft-mtp needs a model with draft layers of its own, and this one has none.", "engine_args"
        )
    elif settings.draft_tokens and not settings.drafts_itself:
        yield Remark("draft_not_counted", "The draft model's weights and cache are not in this plan: they come on top.", "engine_args")


def _spill(job: Job, settings: Serving, held: Caches, placed: Placement) -> Iterator[Remark]:
    """What the cards do not hold, or would not if the RAM were known."""
    if job.node.shares_memory and not placed.cards_hold and uses_gpu(job, settings):
        yield Remark(
            "unified_memory_full",
            f"{job.node.device.name} has no main memory beside this: what does not fit would be swapped, and every token would wait for the disk.",
            "weights_quant",
        )
    elif not placed.cards_hold and not placed.spills and job.node.ram_bytes is None and uses_gpu(job, settings):
        text = _spilled(job, place(job, settings, held, assume_ram=True))
        yield Remark("ram_unknown", f"{text} Say how much RAM the machine has, and the plan counts on it.", "ram")
    elif placed.spills and placed.ram:
        text = _spilled(job, placed)
        if placed.ram.spare_bytes < 0:
            text += (
                f" RAM is {units.size(-placed.ram.spare_bytes)} short: the rest would be swapped, and every token would wait for the disk."
            )
        yield Remark("spills_to_ram", text, "weights_quant")


def _spilled(job: Job, placed: Placement) -> str:
    parts = []
    if placed.spilled_layers:
        parts.append(f"{placed.spilled_layers} of {len(job.shape.layers)} layers")
    if placed.spilled_experts:
        parts.append(f"the experts of {placed.spilled_experts} layers")
    size = units.size(placed.ram.weights_bytes) if placed.ram else "some memory"
    return (
        f"With one slot, {' and '.join(parts) or 'some weights'} ({size}) do not fit the cards and go to RAM, whose bandwidth then sets the speed; "
        "every further slot sends more."
    )
