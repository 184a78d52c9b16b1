"""A draft: one engine's answer to a request, far enough that engines and changes of the request can be compared."""

import shlex
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from planner.core import fit as fitting
from planner.core import speed as speeds
from planner.core import units
from planner.core import weights as weighing
from planner.core.engines import version_of
from planner.core.engines.contract import Capacity, Engine, Job, Room
from planner.core.errors import InputError
from planner.core.fit import Outcome
from planner.core.hardware import Node
from planner.core.machine import machine
from planner.core.model_shape import ModelShape
from planner.core.plan import Figure, Fit, Remark, Speed, Workload
from planner.core.readers.parameters import ParameterCount
from planner.core.request import PlanRequest
from planner.core.spill import Spill
from planner.core.weights import Weights
from planner.core.workload import duty_cycle, workload

# The prompt that prefill rates are estimated for when no length is given: attention adds little to the work below that.
_PROMPT_TOKENS: Final = 1024
# Tokens of one pass, where they are chosen.
_BATCHES: Final = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
# Every dash of Unicode that is no hyphen-minus.
_DASHES: Final = tuple("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")


@dataclass(frozen=True, slots=True)
class Source:
    """The model a request names, found and read. `where` says from what; `weights_files` are exact sizes by format.

    `weights_format` is the format of the file it was read from, where that file holds the weights themselves (GGUF).
    """

    id: str
    revision: str | None
    shape: ModelShape
    parameters: ParameterCount | None
    where: str
    weights_files: tuple[Weights, ...] = ()
    weights_format: str | None = None
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class Passes:
    """Tokens of one pass, and why."""

    tokens: int
    why: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The figures of a draft without its words: what thousands of machines are compared by.

    `rates` are single-stream speeds, `spill` what the machine's main memory has to serve; `context_tokens` are those of a slot.
    """

    request: PlanRequest
    engine: Engine
    job: Job
    load: Workload
    rates: Speed
    room: Room
    outcome: Outcome
    context_tokens: int
    batch_tokens: int
    spill: Spill | None
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan for one engine up to the point where engines can be compared. `request` has the context it is really for."""

    request: PlanRequest
    engine: Engine
    job: Job
    load: Workload
    speed: Speed
    capacity: Capacity
    fit: Fit
    batch_why: str
    remarks: tuple[Remark, ...]
    spill: Spill | None


def _weights(request: PlanRequest, source: Source, engine: Engine) -> Weights:
    """Bytes typed in, else a known file of the wanted format, else parameters × bits; the checkpoint's own format where it can be served."""
    if request.weights_size:
        return weighing.typed_weights(request.weights_size, quant=request.weights_quant, parameters=source.parameters)
    usual = weighing.usual_gguf(source.shape) if engine.serves_gguf else weighing.checkpoint_format(source.shape)
    wanted = request.weights_quant or source.weights_format or usual
    if (source.weights_format or wanted.upper() in weighing.GGUF_ONLY) and not engine.serves_gguf:
        raise InputError(
            f"{wanted} is a GGUF file here, which {engine.title} does not load by itself: choose llama-server or Ollama, or another format.",
            field="weights_quant",
        )
    known = next((w for w in source.weights_files if w.format.lower() == wanted.lower()), None)
    if known:
        return known
    if source.parameters is None:
        raise InputError("The size of the weights is not known for this model: give it, for example 16.4GB.", field="weights_size")
    return weighing.estimate_weights(parameters=source.parameters, quant=wanted)


def _job(request: PlanRequest, source: Source, engine: Engine, node: Node) -> Job:
    job = Job(
        shape=source.shape,
        weights=_weights(request, source, engine),
        node=node,
        context_tokens=request.context,
        version=version_of(engine, request.engine_version) if request.engine_version else engine.versions[-1],
        cache_type_k=request.cache_type_k or request.cache_type,
        cache_type_v=request.cache_type_v or request.cache_type,
        memory_utilization=request.memory_utilization,
        cache_memory_bytes=request.cache_memory,
        images=request.images,
        engine_args=_arguments(request.engine_args),
    )
    tensor, pipeline = engine.parallel_sizes(job, tensor=request.tensor_parallel, pipeline=request.pipeline_parallel)
    return replace(job, tensor_parallel=tensor, pipeline_parallel=pipeline) if (tensor, pipeline) != (1, 1) else job


@lru_cache(maxsize=256)
def _arguments(text: str) -> tuple[str, ...]:
    """The words of the command line. A dash that a word processor made of “--” is refused: the option would go unnoticed."""
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        raise InputError("The engine's command line ends within a quote or after a backslash.", field="engine_args") from None
    typeset = next((word for word in words if word.startswith(_DASHES)), None)
    if typeset:
        raise InputError(
            f"“{typeset[:40]}” begins with a typographic dash, as word processors make of two hyphens: type - or --.", field="engine_args"
        )
    return words


def own_context(request: PlanRequest, shape: ModelShape) -> PlanRequest:
    """The request with the model's own context where that is shorter than the default and none was asked for.

    Raises InputError for one that was asked for and is longer than the model's.
    """
    longest = shape.max_context
    if longest is None or request.context <= longest:
        return request
    if "context" not in request.model_fields_set:
        return request.model_copy(update={"context": longest})
    raise InputError(
        f"The model was trained for {longest:,} tokens (max_position_embeddings): "
        f"a context of {request.context:,} is beyond it. Choose at most {longest:,}.",
        field="context",
    )


def _load(request: PlanRequest, rates: Speed) -> tuple[Workload, tuple[Remark, ...]]:
    """The workload from durations, or from token counts and the speeds where those are given instead."""
    generate, turn = duty_cycle(request)
    remarks = []
    if request.generate_seconds is None and request.output_tokens:
        if rates.decode_rate is None or (rates.prefill_rate is None and request.prompt_tokens):
            raise InputError(
                "The generation time follows from token counts only with known speeds: give prefill and decode rates, or the seconds.",
                field="decode_rate",
            )
        prompt = (request.prompt_tokens or 0) * (1 - request.cached_share)
        reading = prompt / rates.prefill_rate.value if rates.prefill_rate else 0.0
        generate = reading + request.output_tokens / rates.decode_rate.value
        if request.turn_seconds is not None:
            turn = request.turn_seconds
        elif request.think_seconds is not None:
            turn = generate + request.think_seconds
    if turn < generate or (request.turn_seconds is not None and request.turn_seconds < generate):
        remarks.append(
            Remark(
                "always_in_flight",
                f"A turn of {units.seconds(request.turn_seconds or turn)} is shorter than its generation of {units.seconds(generate)}: "
                "the next request follows at once, so everyone is always in flight.",
                "turn_seconds",
            )
        )
    return workload(users=request.users, generate_seconds=generate, turn_seconds=max(generate, turn)), tuple(remarks)


def batch_choices(engine: Engine, job: Job) -> tuple[int, ...]:
    """The tokens of one pass that are worth a try, the engine's default last: above it, prompts gain little and buffers grow."""
    default = engine.default_batch_tokens(job)
    return (*(tokens for tokens in _BATCHES if tokens < default and engine.sets_batch), default)


def _pass_tokens(request: PlanRequest, engine: Engine, job: Job, prefill: Figure | None) -> int:
    """The engine's default, or less where a pass would make the others pause longer than they should, whatever they send."""
    choices = batch_choices(engine, job)
    return choices[-1] if prefill is None else speeds.batch_tokens_for(request.pause_target, prefill.value, choices=choices)


def _passes_why(drawn: Outline) -> str:
    request, engine, prefill, batch = drawn.request, drawn.engine, drawn.rates.prefill_rate, drawn.batch_tokens
    if prefill is None:
        return f"{engine.title}'s own default: how long a pass takes is not known without a prefill rate."
    default = engine.default_batch_tokens(drawn.job)
    pause = speeds.pass_pause_seconds(batch, prefill.value)
    known = prefill.grade == "measured"
    rate = f"{units.significant(prefill.value, 6 if known else 3)} tokens/s{'' if known else ' (estimated)'}"
    why = (
        f"A pass of {batch:,} prompt tokens takes about {units.seconds(pause)} at {rate}, and everyone who is generating waits for it: "
        f"{'within' if pause <= request.pause_target else 'more than'} your limit of {units.seconds(request.pause_target)}"
    )
    longer = speeds.pass_pause_seconds(default, prefill.value)
    return f"{why}." if batch == default else f"{why}; the default of {default:,} would take {units.seconds(longer)}."


def _rates(request: PlanRequest, source: Source, engine: Engine, job: Job, spill: Spill | None) -> Speed:
    """Single-stream speeds: the user's own measurements, else roofline estimates for a conversation half full."""
    return speeds.speed(
        measured_prefill=request.prefill_rate,
        measured_decode=request.decode_rate,
        weights=job.weights,
        shape=source.shape,
        active_parameters=source.parameters.active if source.parameters else None,
        cache_bytes_at_context=_half_context_bytes(engine, job),
        prompt_tokens=request.prompt_tokens or min(_PROMPT_TOKENS, job.context_tokens),
        node=job.node,
        engine=engine.name,
        tensor_parallel=job.tensor_parallel,
        spill=spill,
    )


def _half_context_bytes(engine: Engine, job: Job) -> int:
    """The cache of the conversation that speeds are for."""
    return engine.request_bytes(replace(job, context_tokens=max(1, job.context_tokens // 2)))


def decode_step(planned: Outline | Draft, slots: int) -> Figure | None:
    """Seconds of a decode step for as many as are in flight on average, in conversations half full, on `slots` slots."""
    job = planned.job
    return speeds.step_seconds(
        batch=max(1, min(round(planned.load.in_flight_mean), slots)),
        weights=job.weights,
        cache_bytes_at_context=_half_context_bytes(planned.engine, job),
        node=job.node,
        engine=planned.engine.name,
        tensor_parallel=job.tensor_parallel,
        measured_rate=planned.request.decode_rate,
        spill=planned.spill,
    )


def _felt(request: PlanRequest, chosen: Draft) -> Speed:
    """The gaps and pauses people will notice, where prompt lengths were given."""
    if request.prompt_tokens is None:
        return chosen.speed
    job, step = chosen.job, decode_step(chosen, chosen.fit.slots)
    return speeds.felt(
        chosen.speed,
        load=chosen.load,
        prompt_tokens=min(request.prompt_tokens, job.context_tokens),
        batch_tokens=job.batch_tokens or chosen.engine.default_batch_tokens(job),
        context_tokens=job.context_tokens,
        step=step.value if step else None,
        slots=chosen.fit.slots,
    )


def outline(request: PlanRequest, source: Source, engine: Engine, *, pass_tokens: int | None = None) -> Outline:
    """The figures of the plan under one engine, with `pass_tokens` where they have been chosen.

    Raises InputError where the engine cannot run it at all.
    """
    request = own_context(request, source.shape)
    job = _job(request, source, engine, machine(request))
    engine.check(job)
    spill = engine.spilled(job, 1)
    rates = _rates(request, source, engine, job, spill)
    load, remarks = _load(request, rates)
    batch = pass_tokens or _pass_tokens(request, engine, job, rates.prefill_rate)
    job = replace(job, batch_tokens=batch)
    room = engine.room(job)
    stated_slots, stated_context = engine.stated(job)
    found = fitting.outcome(
        load=load,
        room=room,
        given_slots=request.slots or stated_slots or 0,
        wait_target=request.wait_target,
        patience_seconds=request.patience,
    )
    if spill and (spill := engine.spilled(job, found.slots)):
        rates = _rates(request, source, engine, job, spill)
    return Outline(request, engine, job, load, rates, room, found, stated_context or request.context, batch, spill, remarks)


# What of a request decides how many are in flight and how long they wait, and nothing else of an outline.
LOAD_FIELDS: Final = frozenset({"users", "generate_seconds", "turn_seconds", "think_seconds", "wait_target", "patience"})


def reloaded(drawn: Outline, request: PlanRequest) -> Outline:
    """The outline of a request that differs in `LOAD_FIELDS` only: its machine, room and speeds stay.

    Not for one that spills: its speeds are those of its slots.
    """
    load, remarks = _load(request, drawn.rates)
    found = fitting.outcome(
        load=load,
        room=drawn.room,
        given_slots=request.slots or drawn.engine.stated(drawn.job)[0] or 0,
        wait_target=request.wait_target,
        patience_seconds=request.patience,
    )
    return replace(drawn, request=request, load=load, outcome=found, remarks=remarks)


def draft(request: PlanRequest, source: Source, engine: Engine, passes: Passes | None = None) -> Draft:
    """The plan under one engine, with `passes` where they have been chosen. Raises InputError where the engine cannot run it at all."""
    drawn = outline(request, source, engine, pass_tokens=passes.tokens if passes else None)
    request, job, load, rates, spill = drawn.request, drawn.job, drawn.load, drawn.rates, drawn.spill
    capacity = engine.capacity(job)
    fit = fitting.fit(
        load=load,
        capacity=capacity,
        context_tokens=drawn.context_tokens,
        given_slots=request.slots or engine.stated(job)[0] or 0,
        wait_target=request.wait_target,
        patience_seconds=request.patience,
    )
    said = speeds.remarks(
        rates,
        node=job.node,
        active_parameters=source.parameters.active if source.parameters else None,
        spill=spill,
        unspilled=_rates(request, source, engine, job, None).decode_rate if spill else None,
    )
    why = passes.why if passes else _passes_why(drawn)
    made = Draft(request, engine, job, load, rates, capacity, fit, why, (*capacity.remarks, *drawn.remarks, *said), spill)
    return replace(made, speed=_felt(request, made))
