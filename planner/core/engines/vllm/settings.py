"""The options of `vllm serve` for a plan, each with its reason."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planner.core import units
from planner.core.engines import _reasons
from planner.core.engines._flags import VersionFlags, load_flags
from planner.core.engines._given import Given, override, read_given
from planner.core.engines._place import Place
from planner.core.engines._unit import Start
from planner.core.engines.contract import Job, Setting
from planner.core.plan import Plan

# Compiling the model and capturing CUDA graphs take one to three minutes on most cards.
READY_SECONDS: Final = 240
FLAGS: Final = load_flags(Path(__file__).parent / "flags.toml")


def given(job: Job) -> Given:
    """The options of the user's own command line."""
    return read_given(job.engine_args, FLAGS.at(job.version))


def settings(plan: Plan, job: Job, place: Place) -> tuple[Setting, ...]:
    """What decides capacity first, then what is served and where; the user's own command line wins over the plan."""
    flags = FLAGS.at(job.version)
    chosen = (
        *_capacity(plan, flags),
        *_memory(plan, flags),
        *_queue(plan, flags),
        *_parallel(plan, job, flags),
        *_served(place, flags),
        *_loading(job, flags),
    )
    return override(chosen, given(job))


def _capacity(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    fit = plan.fit
    yield from flags.setting(
        "--max-model-len",
        fit.context_per_slot,
        why=_reasons.context_why(plan),
        breaks="Longer: fewer conversations fit, until vLLM refuses to start. Shorter: longer prompts get HTTP 400.",
        source="context",
    )
    yield from flags.setting(
        "--max-num-seqs",
        fit.slots,
        why=_reasons.slots_why(plan),
        breaks="More: full conversations push each other out of the cache and are computed again. Fewer: people wait longer.",
        source="slots",
    )
    batch = max(plan.engine.batch_tokens, fit.slots)
    least = "" if batch == plan.engine.batch_tokens else f" vLLM wants at least one token for each of the {fit.slots:,} slots."
    yield from flags.setting(
        "--max-num-batched-tokens",
        batch,
        why=plan.engine.batch_tokens_why + least,
        breaks="More: long prompts pause the others for longer. Fewer: prompts are read more slowly.",
        source="pause_target",
    )


def _memory(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    memory = plan.memory
    share = units.trimmed(plan.engine.memory_utilization or memory.usable_bytes / memory.total_bytes, 4)
    yield from flags.setting(
        "--gpu-memory-utilization",
        share,
        why=f"{share} × {units.gib(memory.total_bytes)} = {units.gib(memory.usable_bytes)} per GPU: "
        f"{units.gib(memory.size_of('weights'))} of weights, {units.gib(memory.size_of('overhead'))} to work in, "
        f"{units.gib(memory.cache_pool_bytes)} for the cache.",
        breaks="More than is free at the start: vLLM refuses to start. Less: fewer slots.",
        source="memory_utilization",
    )
    if _chosen_cache_type(plan):
        yield from flags.setting(
            "--kv-cache-dtype",
            plan.engine.cache_type_k,
            why=_reasons.cache_type_why(plan),
            breaks="The card and its attention backend must support it, else vLLM refuses to start.",
            source="cache_type",
        )
    if plan.model.shape.growing:
        yield from flags.setting(
            "--enable-prefix-caching",
            None,
            why="Every turn sends its whole conversation again: what the cache still holds of it is not read a second time.",
            breaks="Off: each turn waits for its whole history to be read.",
            source="context",
        )


def _chosen_cache_type(plan: Plan) -> bool:
    return any(wanted not in {None, "auto"} for wanted in (plan.request.cache_type, plan.request.cache_type_k))


def _queue(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    fit = plan.fit
    yield from flags.setting(
        "--max-num-queued-reqs",
        fit.slots + fit.max_queue,
        why=f"{fit.slots:,} running + {fit.max_queue:,} waiting, because vLLM counts both here. {fit.max_queue_why}",
        breaks="Without it the queue has no end. A request too many gets HTTP 503 at once and can be sent again.",
        source="patience",
    )


def _parallel(plan: Plan, job: Job, flags: VersionFlags) -> Iterator[Setting]:
    tensor, pipeline = plan.engine.tensor_parallel, plan.engine.pipeline_parallel
    if tensor > 1:
        yield from flags.setting(
            "--tensor-parallel-size",
            tensor,
            why=f"{tensor} GPUs share every layer: {units.gib(job.weights.size_bytes / tensor / pipeline)} of weights on each.",
            breaks="It must divide the attention heads; vLLM takes the first GPUs, busy or not.",
            source="tensor_parallel",
        )
    if pipeline > 1:
        yield from flags.setting(
            "--pipeline-parallel-size",
            pipeline,
            why=f"{pipeline} groups of GPUs hold consecutive layers, {len(plan.model.shape.layers)} in all.",
            breaks="The GPUs needed are this times the tensor-parallel size.",
            source="pipeline_parallel",
        )


def _loading(job: Job, flags: VersionFlags) -> Iterator[Setting]:
    """The API server gives up on an engine that loads for longer than ten minutes, unless told otherwise."""
    start = Start(weight_bytes=job.weights.size_bytes, ready_seconds=READY_SECONDS)
    if start.seconds > 600:
        yield from flags.setting(
            "VLLM_ENGINE_READY_TIMEOUT_S",
            start.seconds,
            why=start.why.rsplit(". ", 1)[0] + ".",
            breaks="The API server gives up on an engine that needs longer to load.",
            source="weights_size",
        )


def _served(place: Place, flags: VersionFlags) -> Iterator[Setting]:
    if place.revision:
        yield from flags.setting(
            "--revision", place.revision, why="The plan was computed for this revision of the model.", source="revision"
        )
    if place.model != place.name:
        yield from flags.setting(
            "--served-model-name",
            place.name,
            why=f"Clients ask for {place.name}, wherever the files lie.",
            breaks="Requests with another model name get HTTP 404.",
            source="model",
        )
    yield from flags.setting(
        "--host",
        place.host or "127.0.0.1",
        why=f"You chose to listen on {place.host}."
        if place.host
        else "Only this machine reaches it; vLLM itself would listen on every address.",
        breaks="An address that others can reach needs an API key: see the environment file.",
        source="host",
    )
    if place.port is not None:
        yield from flags.setting("--port", place.port, why=f"You chose port {place.port}.", source="port")
