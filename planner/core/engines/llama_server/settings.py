"""The options of llama-server for a plan, each with its reason: slots, passes, cache and host RAM here, the rest beside this."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.engines import _reasons
from planner.core.engines._flags import VersionFlags
from planner.core.engines._given import Given, override, read_given
from planner.core.engines._place import Place
from planner.core.engines._tables import flag_tables
from planner.core.engines.contract import Job, Setting
from planner.core.engines.llama_server.endpoint import endpoint_settings
from planner.core.engines.llama_server.fit_context import held
from planner.core.engines.llama_server.offload import offload_settings
from planner.core.engines.llama_server.placement import Placement, place
from planner.core.engines.llama_server.ram import checkpoint_bytes, prompt_cache_limit
from planner.core.engines.llama_server.serving import (
    DEFAULT_CACHE_RAM_MIB,
    DEFAULT_CHECKPOINTS,
    DEFAULT_UBATCH,
    Serving,
    default_ubatch,
    serving,
)
from planner.core.plan import Plan
from planner.core.units import GIB, MIB

FLAGS: Final = flag_tables()["llama-server"]

# The options that divide the context over the slots.
DIVISION: Final = frozenset({"--ctx-size", "--parallel", "--kv-unified", "--no-kv-unified", "--kv-unified-per-slot"})
# The most host RAM that snapshots of all slots may take here.
CHECKPOINT_BYTES: Final = 4 * GIB


def given(job: Job) -> Given:
    """The options of the user's own command line."""
    return read_given(job.engine_args, FLAGS.at(job.version))


def settings(plan: Plan, job: Job, where: Place) -> tuple[Setting, ...]:
    """What decides capacity first, then what is served and where; the user's own command line wins over the plan."""
    flags = FLAGS.at(job.version)
    serves = serving(job, plan.fit.slots)
    placed = place(job, serves, held(job, serves))
    chosen = (
        *_slots(plan, flags),
        *_passes(plan, serves, flags),
        *_cache_types(plan, flags),
        *_prompt_cache(plan, job, serves, placed, flags),
        *_snapshots(plan, job, serves, placed, flags),
        *offload_settings(plan, job, placed, flags),
        *endpoint_settings(plan, job, where, flags),
    )
    own = given(job)
    return override(_undivided(chosen, own), own)


def _undivided(chosen: tuple[Setting, ...], own: Given) -> tuple[Setting, ...]:
    """Without the plan's division of the context, where the user's command line has one: what it leaves out is the server's default."""
    stated = {setting.flag for setting in own.settings} & DIVISION
    return tuple(setting for setting in chosen if not stated or setting.flag not in DIVISION - stated)


def _slots(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    fit = plan.fit
    total = fit.slots * fit.context_per_slot
    yield from flags.setting(
        "--ctx-size",
        total,
        why=f"{_reasons.count(fit.slots, 'slot')} × {fit.context_per_slot:,} tokens = {total:,}: llama-server divides this number by the slots. "
        f"{units.size(plan.cache.reserved_bytes)} of cache, reserved at the start.",
        breaks=f"With {fit.context_per_slot:,} here, each slot would get {fit.context_per_slot // fit.slots:,} tokens."
        if fit.slots > 1
        else "",
        source="context",
    )
    yield from flags.setting(
        "--parallel",
        fit.slots,
        why=_reasons.slots_why(plan),
        breaks="Left out, llama-server makes four slots that share one pool.",
        source="slots",
    )
    yield from flags.setting(
        "--no-kv-unified",
        None,
        why=f"Each slot keeps its own {fit.context_per_slot:,} tokens, whatever the others hold: nobody gets less, and nobody gets more, "
        "even when alone.",
        breaks=f"One shared pool would give a lone user all {total:,} tokens; full conversations run out of cells together, and llama-server "
        "then ends every running request.",
        source="slots",
    )


def _passes(plan: Plan, serves: Serving, flags: VersionFlags) -> Iterator[Setting]:
    batch = max(plan.engine.batch_tokens, plan.fit.slots)
    yield from flags.setting(
        "--batch-size",
        batch,
        why=plan.engine.batch_tokens_why,
        breaks="More: long prompts pause the others for longer. Fewer: prompts are read more slowly.",
        source="pause_target",
    )
    usual = min(DEFAULT_UBATCH, batch)
    ubatch = default_ubatch(plan.model.shape, batch=batch, slots=serves.n_parallel, unified=serves.unified)
    whole = "" if ubatch == usual else f" A multiple of the {serves.n_parallel} slots: llama-server ends at the start otherwise."
    yield from flags.setting(
        "--ubatch-size",
        ubatch,
        why=f"The compute buffer of the plan is for {ubatch} tokens at once"
        + (f", and more than the pass of {batch:,} never come." if batch < DEFAULT_UBATCH else ".")
        + whole,
        breaks="More: the compute buffer and sliding-window caches grow with it.",
        source="pause_target",
    )


def _cache_types(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    types = {"--cache-type-k": plan.engine.cache_type_k, "--cache-type-v": plan.engine.cache_type_v}
    for name, value in types.items():
        if value != "f16":
            yield from flags.setting(
                name,
                value,
                why=_reasons.cache_type_why(plan),
                breaks="f16 takes more memory per token: the slots of this plan would not fit.",
                source="cache_type",
            )
    if types["--cache-type-v"] not in {"f16", "bf16", "f32"}:
        yield from flags.setting(
            "--flash-attn",
            "on",
            why="Quantised values need flash attention.",
            breaks="Under auto it may be switched off for a pair of types that the device cannot do; llama-server then refuses to start.",
            source="cache_type",
        )


def _prompt_cache(plan: Plan, job: Job, serves: Serving, placed: Placement, flags: VersionFlags) -> Iterator[Setting]:
    """The prompt cache, held back where its default would fill the host's RAM."""
    wanted, ram = prompt_cache_limit(job, serves, placed) // MIB, job.node.ram_bytes
    if ram is None or wanted >= DEFAULT_CACHE_RAM_MIB:
        return
    if not job.node.has_gpu:
        part = f"half of the {units.gib(max(0, plan.memory.size_of('free')))} of RAM that the plan leaves free"
    elif placed.ram:
        part = f"no more than a quarter of your {units.gib(ram)} of RAM, and than what the weights there leave of it"
    else:
        part = f"a quarter of your {units.gib(ram)} of RAM"
    yield from flags.setting(
        "--cache-ram",
        wanted,
        why=f"{wanted:,} MiB, {part}, for prompts that lost their slot; the default of {DEFAULT_CACHE_RAM_MIB:,} MiB comes on top of the plan.",
        breaks="More than is free: the machine swaps, and every token waits for the disk.",
        source="ram",
    )


def _snapshots(plan: Plan, job: Job, serves: Serving, placed: Placement, flags: VersionFlags) -> Iterator[Setting]:
    """Snapshots of windows and recurrent states, which only such models keep, held back where they would fill the host's RAM."""
    each, slots = checkpoint_bytes(job, serves), plan.fit.slots
    most = min(DEFAULT_CHECKPOINTS, 1 + plan.fit.context_per_slot // serves.rules.checkpoint_step)
    room = CHECKPOINT_BYTES if job.node.ram_bytes is None else min(CHECKPOINT_BYTES, prompt_cache_limit(job, serves, placed))
    if slots * most * each <= room:
        return
    wanted = max(1, room // (slots * each))
    yield from flags.setting(
        "--ctx-checkpoints",
        wanted,
        why=f"A snapshot of a slot's windows or states holds about {units.size(each)} of host RAM: {slots} × {wanted} of them take "
        f"{units.size(slots * wanted * each)}, {slots} × {most} would take {units.size(slots * most * each)}.",
        breaks="Fewer: a conversation that was edited further back is read again from its beginning.",
        source="context",
    )
