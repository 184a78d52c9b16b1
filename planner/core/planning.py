"""make_plan: from a request and a model to a Plan. The one place that calls the rest of the core, in order."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from planner.core import fit as fitting
from planner.core import units
from planner.core.advice import advised
from planner.core.alternatives import alternatives, is_small
from planner.core.cache_view import cache_view
from planner.core.draft import Draft, Source, draft
from planner.core.engines import engines
from planner.core.engines.contract import Expectation, HandOver
from planner.core.errors import InputError
from planner.core.plan import EngineChoice, Figure, Fit, KnownWeights, MemoryBudget, MemoryLine, Model, Plan, Remark, UserScenario
from planner.core.readers.parameters import ParameterCount
from planner.core.request import PlanRequest
from planner.core.weights import GGUF_ONLY, Weights

# Up to about this many requests really in flight, a llama-server with a slot for each serves them as well.
FEW_IN_FLIGHT: Final = 4


def needs_no_engine(request: PlanRequest) -> None:
    """Raises InputError where the request says something that only one engine can be told, and not which."""
    if request.engine == "auto" and (request.engine_args or request.engine_version):
        what = "A command line" if request.engine_args else "A version"
        raise InputError(f"{what} belongs to one engine: say which, for example --engine llama-server.", field="engine")


def choose_engine(request: PlanRequest, source: Source) -> tuple[Draft, str]:
    """The draft of the engine to plan for, and why this one.

    vLLM where a CUDA-class GPU has memory to spare and more than about four requests are really in flight;
    llama-server for fewer, for GGUF weights and without such a GPU.
    """
    known = engines()
    if request.engine != "auto":
        return draft(request, source, known[request.engine]), f"You chose {known[request.engine].title}."
    needs_no_engine(request)
    fallback = draft(request, source, known["llama-server"])
    flight = fallback.load.in_flight_p95
    many = f"{flight} requests are in flight at the 95th percentile"
    node = fallback.job.node
    if not node.has_gpu:
        return fallback, "There is no GPU here: llama-server runs on the CPU and reads GGUF files."
    if not node.device.runs_cuda and node.device.vendor != "other":
        return fallback, f"{node.device.name} is no CUDA device: llama-server supports it through its own back end."
    if source.weights_format or (request.weights_quant and fallback.job.weights.format in GGUF_ONLY):
        return fallback, f"{fallback.job.weights.format} is a GGUF format, which llama-server and Ollama serve."
    if flight <= FEW_IN_FLIGHT:
        return fallback, f"Only {many}: a slot for each is enough, and llama-server needs the least memory. Ollama would do as well."
    try:
        batched = draft(request, source, known["vllm"])
    except InputError as refusal:
        return fallback, f"{many[0].upper()}{many[1:]}, which would suit vLLM, but: {refusal}"
    if batched.fit.verdict == "does_not_fit":
        return fallback, f"{many[0].upper()}{many[1:]}, but vLLM has no memory to spare here: {batched.fit.inequality}"
    return batched, f"{many[0].upper()}{many[1:]} and a CUDA GPU has the memory: vLLM batches them and shares one paged cache."


def _engine_choice(request: PlanRequest, chosen: Draft, why: str) -> EngineChoice:
    type_k, type_v = chosen.engine.cache_types(chosen.job)
    return EngineChoice(
        name=chosen.engine.name,
        title=chosen.engine.title,
        version=chosen.job.version,
        why=why,
        cache_type_k=type_k,
        cache_type_v=type_v,
        tensor_parallel=chosen.job.tensor_parallel,
        pipeline_parallel=chosen.job.pipeline_parallel,
        memory_utilization=request.memory_utilization,
        batch_tokens=chosen.job.batch_tokens or chosen.engine.default_batch_tokens(chosen.job),
        batch_tokens_why=chosen.batch_why,
    )


def _model(source: Source) -> Model:
    known = tuple(KnownWeights(weights.format, weights.size_bytes) for weights in source.weights_files)
    return Model(source.id, source.revision, source.shape, _parameters(source.parameters), source.where, known)


def _parameters(count: ParameterCount | None) -> Figure | None:
    if count is None:
        return None
    if count.exact:
        return Figure(count.total, "computed", count.why)
    return Figure(count.total, "estimated", count.why, count.low, count.high)


_PARTS: Final = {
    "model": "The language model.",
    "vision and audio encoder": "It turns images and sound into tokens.",
    "draft layers": "They guess the next tokens (MTP): loaded only for speculative decoding.",
}


def _weight_lines(weights: Weights) -> tuple[MemoryLine, ...]:
    parts = [(line.name, line.size_bytes) for line in weights.lines]
    if weights.draft_bytes:
        parts = [*(parts or [("model", weights.size_bytes)]), ("draft layers", weights.draft_bytes)]
    if len(parts) < 2:
        return ()
    return tuple(MemoryLine(name, "weights", size, _PARTS.get(name, ""), weights.grade, weights.source) for name, size in parts)


def _scenarios(request: PlanRequest, chosen: Draft, request_bytes: int) -> tuple[UserScenario, ...]:
    node = chosen.job.node
    return tuple(
        fitting.scenario(
            users,
            load=chosen.load,
            plan_slots=chosen.fit.slots,
            wait_target=request.wait_target,
            request_bytes=request_bytes,
            bandwidth_bytes_per_s=None if node.has_gpu else node.device.bandwidth_bytes_per_s,
        )
        for users in fitting.scenario_users(request.users)
    )


def _beside(request: PlanRequest, chosen: Draft) -> Fit:
    """The fit, with what a shared or kept cache holds: requests of the lengths given, and histories that need not be read again.

    Histories are as long as a prompt and its answer, or as the context where those lengths are not given.
    """
    engine, job, slots = chosen.engine, chosen.job, chosen.fit.slots
    longest = chosen.fit.context_per_slot
    tokens = min(longest, request.prompt_tokens + request.output_tokens) if request.prompt_tokens and request.output_tokens else None
    return replace(
        chosen.fit,
        slots_at_p95_length=engine.slots_at(job, slots, tokens) if tokens else None,
        warm_conversations=engine.warm_conversations(job, slots, tokens or longest),
    )


def _remarks(source: Source, chosen: Draft) -> tuple[Remark, ...]:
    notes = tuple(Remark(note.code, note.message, "model") for note in source.shape.notes)
    disputed = tuple(
        Remark("disputed", f"{device.name}: sources differ on its {text}. The first is used.", "device")
        for device in dict.fromkeys(chosen.job.node.devices)
        for text in device.disputed
    )
    return tuple(dict.fromkeys((*chosen.remarks, *_small_machine(chosen), *source.remarks, *notes, *disputed)))


def _small_machine(chosen: Draft) -> tuple[Remark, ...]:
    if not is_small(chosen.job.node):
        return ()
    fit = chosen.fit
    return (
        Remark(
            "small_machine",
            f"{units.gib(chosen.job.node.memory_bytes)} and no GPU: keep the model small, the context short and the queue short. At most "
            f"{fit.max_queue:,} may wait; whoever comes later is better told at once.",
            "ram",
        ),
    )


def _contradiction(request: PlanRequest, memory: MemoryBudget) -> Iterator[Remark]:
    """A cache pool that is stated is believed, also where it and the weights cannot both be true."""
    room = memory.total_bytes - memory.size_of("weights")
    if request.cache_memory and request.cache_memory > room:
        yield Remark(
            "cache_memory_beyond_device",
            f"The cache pool you state ({units.size(request.cache_memory)}) is taken as it is, but the weights leave {units.size(max(0, room))} "
            "of the device: one of these figures belongs to another machine.",
            "cache_memory",
        )


def make_plan(request: PlanRequest, source: Source, *, simulated: bool = True) -> tuple[Plan, HandOver]:
    """The plan and what to install for it. Raises InputError (with its field) where the request cannot be planned.

    Not `simulated`, passes and queue come from closed forms: a fraction of the time, for many plans at once.
    """
    drafted, why = choose_engine(request, source)
    chosen = advised(drafted, source) if simulated else drafted
    request = chosen.request
    cache = cache_view(chosen.engine, chosen.job, slots=chosen.fit.slots)
    memory = chosen.engine.budget(chosen.job, chosen.fit.slots)
    plan = Plan(
        request=request,
        model=_model(source),
        node=chosen.job.node,
        engine=_engine_choice(request, chosen, why),
        cache=cache,
        memory=memory,
        workload=chosen.load,
        fit=_beside(request, chosen),
        speed=chosen.speed,
        scenarios=_scenarios(request, chosen, cache.request_bytes),
        alternatives=alternatives(request, source, chosen),
        remarks=(*_remarks(source, chosen), *_contradiction(request, memory)),
        weight_lines=_weight_lines(chosen.job.weights),
        weights=KnownWeights(chosen.job.weights.format, chosen.job.weights.size_bytes),
    )
    handed = chosen.engine.hand_over(plan, chosen.job)
    return replace(plan, remarks=(*plan.remarks, *handed.remarks)), handed


def expectation(request: PlanRequest, source: Source, *, batch_tokens: int | None = None) -> Expectation:
    """What the engine of the request's plan will print at start, without the rest of the plan.

    `batch_tokens` are the passes of a plan that was made before: to choose them again would take a simulation.
    """
    chosen, _ = choose_engine(request, source)
    job = chosen.job if batch_tokens is None else replace(chosen.job, batch_tokens=batch_tokens)
    return chosen.engine.expect(job, chosen.fit.slots)


def slots_by_context(request: PlanRequest, source: Source) -> list[tuple[int, int]]:
    """(context tokens, slots that fit) on the plan's engine, for contexts from 1,024 up to the model's maximum."""
    chosen, _ = choose_engine(request, source)
    longest = source.shape.max_context or 131_072
    contexts = sorted({c for c in (2**n for n in range(10, 24)) if c <= longest} | {min(request.context, longest), longest})
    fixed = request.model_copy(update={"engine": chosen.engine.name})
    return [(c, draft(fixed.model_copy(update={"context": c}), source, chosen.engine).capacity.slots) for c in contexts]
