"""The variables of `ollama serve` for a plan, each with its reason."""

import math
from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.engines import _reasons
from planner.core.engines._flags import VersionFlags
from planner.core.engines._given import Given, override, read_given
from planner.core.engines._place import Place
from planner.core.engines._tables import flag_tables
from planner.core.engines._unit import DISK_BYTES_PER_S
from planner.core.engines.contract import Job, Setting
from planner.core.engines.ollama.families import family, one_at_a_time
from planner.core.hardware import Node
from planner.core.plan import Plan
from planner.core.units import GIB

FLAGS: Final = flag_tables()["ollama"]
PORT: Final = 11434
LOAD_SECONDS: Final = 300
# The context where none is set, by the memory of all GPUs. Source: Ollama server/routes.go, defaultNumCtx.
DEFAULT_CONTEXT: Final = ((47 * GIB, 262_144), (23 * GIB, 32_768), (0, 4_096))


def given(job: Job) -> Given:
    """The variables of the user's own."""
    return read_given(job.engine_args, FLAGS.at(job.version))


def default_context(node: Node) -> int:
    """Tokens of one request where OLLAMA_CONTEXT_LENGTH is not set."""
    memory = sum(device.memory_bytes for device in node.devices if device.is_gpu)
    return next(tokens for least, tokens in DEFAULT_CONTEXT if memory >= least)


def settings(plan: Plan, job: Job, place: Place) -> tuple[Setting, ...]:
    """What decides capacity first, then memory, then where it listens."""
    flags = FLAGS.at(job.version)
    chosen = (*_slots(plan, job, flags), *_memory(job, flags), *_cache_type(plan, flags), *_listen(place, flags))
    return override(chosen, given(job))


def _slots(plan: Plan, job: Job, flags: VersionFlags) -> Iterator[Setting]:
    fit = plan.fit
    alone = one_at_a_time(job.shape)
    beyond = "moves to the CPU and every answer slows down" if plan.node.has_gpu else "is swapped out and every token waits for the disk"
    yield from flags.setting(
        "OLLAMA_NUM_PARALLEL",
        1 if alone else fit.slots,
        why=f"Ollama serves {family(job.shape)} one request at a time, whatever stands here: the others wait."
        if alone
        else _reasons.slots_why(plan),
        breaks="" if alone else f"Each one more takes another {units.size(plan.cache.request_bytes)}; what does not fit {beyond}.",
        source="slots",
    )
    yield from flags.setting(
        "OLLAMA_CONTEXT_LENGTH",
        fit.context_per_slot,
        why=f"{_reasons.context_why(plan)} Ollama multiplies it by the slots itself: {fit.slots:,} × {fit.context_per_slot:,} tokens.",
        breaks=f"Without it a request gets {default_context(plan.node):,} tokens here, by the GPU memory there is. A num_ctx in a request or a "
        "Modelfile overrides it.",
        source="context",
    )
    yield from flags.setting(
        "OLLAMA_MAX_QUEUE",
        fit.max_queue,
        why=fit.max_queue_why,
        breaks=f"The default lets 512 wait: the last for about {units.seconds(512 * plan.workload.generate_seconds / fit.slots)}. "
        "A request too many gets HTTP 503 at once and can be sent again.",
        source="patience",
    )


def _memory(job: Job, flags: VersionFlags) -> Iterator[Setting]:
    weights = job.weights.size_bytes
    load = weights / DISK_BYTES_PER_S
    yield from flags.setting(
        "OLLAMA_MAX_LOADED_MODELS",
        1,
        why=f"The plan gives the memory to one model of {units.gib(weights)} and its cache.",
        breaks="A second model takes memory that the slots need, or pushes this one out.",
        source="weights_size",
    )
    yield from flags.setting(
        "OLLAMA_KEEP_ALIVE",
        -1,
        why=f"The model stays loaded: reading {units.gib(weights)} again takes {units.seconds(load)} at {DISK_BYTES_PER_S // 10**6} MB/s.",
        breaks="By default, the first request after five idle minutes waits for the whole model.",
        source="weights_size",
    )
    if load > LOAD_SECONDS:
        minutes = math.ceil(load / 60) + 2
        yield from flags.setting(
            "OLLAMA_LOAD_TIMEOUT",
            f"{minutes}m",
            why=f"{units.gib(weights)} from a disk of {DISK_BYTES_PER_S // 10**6} MB/s take {units.seconds(load)}.",
            breaks="Loading that stands still for longer counts as failed.",
            source="weights_size",
        )
    if len([device for device in job.node.devices if device.is_gpu]) > 1:
        yield from flags.setting(
            "OLLAMA_SCHED_SPREAD",
            1,
            why=f"The plan counts on the memory of all {len(job.node.devices)} cards.",
            breaks="Otherwise a model that fits on one card gets one card, and its slots only that card's memory.",
            source="count",
        )


def _cache_type(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    name = plan.engine.cache_type_k
    if name == "f16":
        return
    yield from flags.setting(
        "OLLAMA_KV_CACHE_TYPE",
        name,
        why=_reasons.cache_type_why(plan),
        breaks="It holds for every model of this server.",
        source="cache_type",
    )
    yield from flags.setting(
        "OLLAMA_FLASH_ATTENTION",
        1,
        why=f"A cache of type {name} needs flash attention.",
        breaks="Without it Ollama keeps the cache at 16 bit, and the slots of this plan do not fit.",
        source="cache_type",
    )


def _listen(place: Place, flags: VersionFlags) -> Iterator[Setting]:
    if place.host is None and place.port is None:
        return
    host = place.host or "127.0.0.1"
    address = f"[{host}]:{place.port or PORT}" if ":" in host else f"{host}:{place.port or PORT}"
    yield from flags.setting(
        "OLLAMA_HOST",
        address,
        why=f"You chose to listen on {address}.",
        breaks="Ollama knows no keys: whoever reaches the address may use it, and load or delete models.",
        source="host" if place.host else "port",
    )
