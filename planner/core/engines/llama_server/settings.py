"""The options of llama-server for a plan, each with its reason."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planner.core import units
from planner.core.engines import _reasons
from planner.core.engines._flags import VersionFlags, load_flags
from planner.core.engines._given import Given, override, read_given
from planner.core.engines._place import Place
from planner.core.engines.contract import Job, Setting
from planner.core.engines.llama_server.fit_context import held
from planner.core.engines.llama_server.placement import place
from planner.core.engines.llama_server.serving import serving
from planner.core.plan import Plan
from planner.core.units import GIB, MIB

FLAGS: Final = load_flags(Path(__file__).parent / "flags.toml")
MODELS: Final = "/var/lib/llama-server/models"

# The options that divide the context over the slots.
DIVISION: Final = frozenset({"--ctx-size", "--parallel", "--kv-unified", "--no-kv-unified", "--kv-unified-per-slot"})
# llama-server's defaults.
UBATCH: Final = 512
CACHE_RAM_MIB: Final = 8192
CHECKPOINTS: Final = 32
# The most host RAM that snapshots of all slots may take here.
CHECKPOINT_BYTES: Final = 4 * GIB
_GGUF_FORMAT: Final = re.compile(r"(?:I?Q\d\w*|B?F16|F32|MXFP4\w*)", re.ASCII | re.IGNORECASE)


def gguf_format(job: Job) -> str:
    """The weight format as GGUF files carry it in their names, "" where there is none."""
    return job.weights.format.upper() if _GGUF_FORMAT.fullmatch(job.weights.format) else ""


def served_from_hub(place: Place) -> bool:
    """Whether llama-server can load the model by its Hub id: it must be a repository of GGUF files."""
    return place.path is None and place.hub_id is not None and ("gguf" in place.hub_id.lower() or place.hub_id != place.name)


def model_file(job: Job, place: Place) -> str:
    """The GGUF file to load: the one given, else where this plan expects it."""
    return place.path or f"{MODELS}/{'-'.join(part for part in (place.slug, gguf_format(job)) if part)}.gguf"


def given(job: Job) -> Given:
    """The options of the user's own command line."""
    return read_given(job.engine_args, FLAGS.at(job.version))


def settings(plan: Plan, job: Job, place: Place) -> tuple[Setting, ...]:
    """What decides capacity first, then what is served and where; the user's own command line wins over the plan."""
    flags = FLAGS.at(job.version)
    chosen = (
        *_slots(plan, flags),
        *_passes(plan, flags),
        *_cache_types(plan, flags),
        *_host_ram(plan, job, flags),
        *_devices(plan, job, flags),
        *_served(job, place, flags),
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
        why=f"Each slot keeps its own {fit.context_per_slot:,} tokens, whatever the others hold.",
        breaks="In one shared pool, full conversations run out of cells together, and llama-server then ends every running request.",
        source="slots",
    )


def _passes(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    batch = max(plan.engine.batch_tokens, plan.fit.slots)
    yield from flags.setting(
        "--batch-size",
        batch,
        why=plan.engine.batch_tokens_why,
        breaks="More: long prompts pause the others for longer. Fewer: prompts are read more slowly.",
        source="pause_target",
    )
    ubatch = min(UBATCH, batch)
    yield from flags.setting(
        "--ubatch-size",
        ubatch,
        why=f"The compute buffer of the plan is for {ubatch} tokens at once"
        + (f", and more than the pass of {batch:,} never come." if batch < UBATCH else "."),
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


def _spare_ram(plan: Plan, job: Job) -> tuple[int | None, str]:
    """Host RAM for what is kept beside the slots, and which part of it that is; None where the RAM is not known."""
    ram = job.node.ram_bytes
    if ram is None:
        return None, ""
    if job.node.has_gpu:
        return ram // 4, f"a quarter of your {units.gib(ram)} of RAM"
    free = max(0, plan.memory.size_of("free"))
    return free // 2, f"half of the {units.gib(free)} of RAM that the plan leaves free"


def _host_ram(plan: Plan, job: Job, flags: VersionFlags) -> Iterator[Setting]:
    """The prompt cache and the snapshots, held back where their defaults would fill the host's RAM."""
    spare, part = _spare_ram(plan, job)
    if spare is not None and spare < CACHE_RAM_MIB * MIB:
        wanted = spare // MIB // 256 * 256
        yield from flags.setting(
            "--cache-ram",
            wanted,
            why=f"{wanted:,} MiB, {part}, for prompts that lost their slot; the default of {CACHE_RAM_MIB:,} MiB comes on top of the plan.",
            breaks="More than is free: the machine swaps, and every token waits for the disk.",
            source="ram",
        )
    # A snapshot holds a slot's windows and recurrent state.
    each, slots = plan.cache.bytes_per_sequence, plan.fit.slots
    default, room = slots * CHECKPOINTS * each, min(CHECKPOINT_BYTES, CHECKPOINT_BYTES if spare is None else spare)
    if default > room:
        wanted = max(1, room // (slots * each))
        yield from flags.setting(
            "--ctx-checkpoints",
            wanted,
            why=f"A snapshot of a slot holds about {units.size(each)} of host RAM: {slots} × {wanted} of them take "
            f"{units.size(slots * wanted * each)}, {slots} × {CHECKPOINTS} would take {units.size(default)}.",
            breaks="Fewer: a conversation that was edited further back is read again from its beginning.",
            source="context",
        )


def _devices(plan: Plan, job: Job, flags: VersionFlags) -> Iterator[Setting]:
    if job.node.has_gpu:
        yield from _gpu_layers(plan, job, flags)
        return
    yield from flags.setting(
        "--load-mode",
        "mmap+mlock",
        why=f"The {units.gib(job.weights.size_bytes)} of weights stay in RAM: every token reads them all.",
        breaks="Without it the kernel may drop weights under pressure and read them from the disk again.",
        source="ram",
    )


def _gpu_layers(plan: Plan, job: Job, flags: VersionFlags) -> Iterator[Setting]:
    """All layers on the GPU, or as many as the plan has room for beside what it sends to RAM."""
    started = serving(job, plan.fit.slots)
    placed = place(job, started, held(job, started))
    layers = len(plan.model.shape.layers)
    whole = not placed.spilled_layers
    yield from flags.setting(
        "--gpu-layers",
        "all" if whole else placed.n_gpu_layers,
        why=f"All {layers} layers, {units.gib(job.weights.size_bytes)} of weights, are planned on the GPU."
        if whole
        else f"The GPU holds {layers - placed.spilled_layers} of {layers} layers and the output; the others do not fit and stay in RAM.",
        breaks="Under auto, layers move to the CPU when memory is short, and every answer slows down; so the start fails instead.",
        source="device",
    )
    if placed.spilled_experts:
        yield from flags.setting(
            "--n-cpu-moe",
            placed.n_cpu_moe,
            why=f"The experts of the first {placed.n_cpu_moe} layers do not fit beside the rest: in RAM they cost the least speed.",
            breaks="Fewer: the GPU's memory does not hold them, and the start fails.",
            source="weights_quant",
        )


def _served(job: Job, place: Place, flags: VersionFlags) -> Iterator[Setting]:
    if served_from_hub(place):
        quant = gguf_format(job)
        yield from flags.setting(
            "--hf-repo",
            f"{place.hub_id}:{quant}" if quant else place.hub_id,
            why="The repository of GGUF files, and which of them. It is downloaded at the first start.",
            source="model",
        )
    else:
        yield from flags.setting(
            "--model",
            model_file(job, place),
            why=f"The GGUF file with {units.gib(job.weights.size_bytes)} of weights.",
            breaks="With no model at all, llama-server starts as a router that serves none.",
            source="model_path",
        )
    yield from flags.setting("--alias", place.name, why=f"Clients ask for {place.name}, wherever the file lies.", source="model")
    if place.host is not None:
        yield from flags.setting(
            "--host",
            place.host,
            why=f"You chose to listen on {place.host}.",
            breaks="An address that others can reach needs an API key: see the environment file.",
            source="host",
        )
    if place.port is not None:
        yield from flags.setting("--port", place.port, why=f"You chose port {place.port}.", source="port")
    yield from flags.setting(
        "--metrics",
        None,
        why="Shows requests that wait for a slot (llamacpp:requests_deferred): llama-server's queue has no limit and no other sign.",
        source="patience",
    )
    yield from flags.setting(
        "--verbosity",
        4,
        why="From 4 on, the log says how large the caches became at the start, to be compared with the plan.",
        breaks="At 3 those lines, and the ones about cached prompts, are missing.",
        source="engine",
    )
