"""The server, the machine and the load that a request means: what the plan chose, and what the request adds to it."""

from dataclasses import dataclass, replace
from typing import Final

from planner.core import speed as speeds
from planner.core.attention.stores import StateStore
from planner.core.draft import Draft, Source
from planner.core.engines import engines
from planner.core.engines.contract import Job
from planner.core.errors import InputError
from planner.core.plan import Figure, Remark
from planner.core.planning import choose_engine
from planner.core.simulation import PassCost, Scheduler, Traffic, policies
from planner.core.simulation.lengths import Spread
from planner.core.simulation.request import SimulationRequest
from planner.core.simulation.traffic import TurnKind
from planner.core.units import GIB

# Where no prompt length is given. The median prompt of the conversations in the Azure LLM inference trace of 2023 is 1,020 tokens
# (Patel et al., Splitwise, ISCA 2024).
ASSUMED_PROMPT_TOKENS: Final = 1_024
# llama-server keeps the histories of idle conversations in this much main memory unless told otherwise (--cache-ram).
HOST_CACHE_BYTES: Final = 8 * GIB
# llama-server's n_ubatch unless told otherwise.
MICRO_BATCH: Final = 512


@dataclass(frozen=True, slots=True)
class SetUp:
    """Everything a run needs, and what to know about it: `assumed` of its load. The rates are of a single stream."""

    request: SimulationRequest
    engine: str
    model: str
    machine: str
    scheduler: Scheduler
    cost: PassCost
    traffic: Traffic
    prefill_rate: Figure
    decode_rate: Figure
    remarks: tuple[Remark, ...]
    assumed: tuple[Remark, ...]


def set_up(request: SimulationRequest, source: Source) -> SetUp:
    """Raises InputError (with its field) where the request cannot be planned, its speeds are unknown, or nothing fits."""
    planned = request
    if request.engine == "auto" and request.policy in engines():
        planned = request.model_copy(update={"engine": request.policy})
    chosen, _ = choose_engine(planned, source)
    prefill, decode = chosen.speed.prefill_rate, chosen.speed.decode_rate
    if prefill is None or decode is None:
        missing = "prefill_rate" if prefill is None else "decode_rate"
        raise InputError("The speeds of this machine are not known: measure both rates and give them.", field=missing)
    if chosen.fit.slots_that_fit < 1:
        raise InputError(f"There is nothing to simulate, because not one request fits. {chosen.fit.inequality}", field="context")
    scheduler = _scheduler(request, chosen)
    traffic, assumed = _traffic(request, chosen, scheduler, decode.value)
    over = _over(chosen, scheduler)
    return SetUp(
        request=request,
        engine=chosen.engine.name,
        model=source.id,
        machine=chosen.job.node.title,
        scheduler=scheduler,
        cost=pass_cost(request, chosen, source),
        traffic=traffic,
        prefill_rate=prefill,
        decode_rate=decode,
        remarks=(*chosen.remarks, *over),
        assumed=assumed,
    )


def pass_cost(request: SimulationRequest, chosen: Draft, source: Source) -> PassCost:
    """The five rates of the pass model from the plan's two and its roofline.

    A step is taken apart at the plan's reference, a conversation half full: what a cached token adds comes from the roofline,
    the rest of a single stream's step is its fixed part, and what the second stream adds beyond its cache is each further one's.
    A prompt token's share of attention grows with the tokens before it; at the reference length the mean is the prefill rate.
    """
    job = chosen.job
    full = job.context_tokens
    half = max(1, full // 2)

    def cache_bytes(tokens: int) -> int:
        return chosen.engine.request_bytes(replace(job, context_tokens=tokens))

    def step(batch: int, tokens: int, measured: float | None) -> float:
        seconds = speeds.step_seconds(
            batch=batch,
            weights=job.weights,
            cache_bytes_at_context=cache_bytes(tokens),
            node=job.node,
            engine=chosen.engine.name,
            tensor_parallel=job.tensor_parallel,
            measured_rate=measured,
            spill=chosen.spill,
        )
        return seconds.value if seconds else 0.0

    cached = max(0.0, step(1, full, None) - step(1, half, None)) / max(1, full - half)
    alone = step(1, half, request.decode_rate)
    prefill = chosen.speed.prefill_rate
    token, attention = _token_seconds(request, chosen, source, rate=prefill.value if prefill else 1.0)
    return PassCost(
        step_s=max(alone - cached * half, alone / 10),
        token_s=token,
        sequence_s=max(0.0, step(2, half, request.decode_rate) - alone - cached * half),
        cached_token_s=cached,
        attention_s=attention,
    )


def _token_seconds(request: SimulationRequest, chosen: Draft, source: Source, *, rate: float) -> tuple[float, float]:
    """Seconds of a prompt token by itself and of each token before it, so that a prompt of the reference length has `rate`."""
    if source.parameters is None:
        return 1 / rate, 0.0
    active = source.parameters.active
    context = chosen.job.context_tokens
    reference = min(request.prompt_tokens or ASSUMED_PROMPT_TOKENS, context)
    operations = {
        tokens: speeds.flops_per_token(source.shape, active_parameters=active, prompt_tokens=tokens) for tokens in (0, reference, context)
    }
    per_pair = (operations[context] - operations[0]) / (context / 2)
    attention = per_pair / (operations[reference] * rate)
    return max(1 / rate - attention * reference / 2, 0.1 / rate), attention


def _scheduler(request: SimulationRequest, chosen: Draft) -> Scheduler:
    job, slots = chosen.job, chosen.fit.slots
    policy = request.policy or chosen.engine.name
    expected = chosen.engine.expect(job, slots).values
    unified = bool(expected.get("kv_unified"))
    batch = request.batch or max(slots, job.batch_tokens or chosen.engine.default_batch_tokens(job))
    queue = request.max_queue
    if queue is None and policies()[policy].default_max_queue is not None:
        queue = chosen.fit.max_queue
    pool = chosen.engine.budget(job, slots).cache_tokens if policy == "vllm" else None
    return Scheduler(
        policy=policy,
        slots=slots,
        batch_tokens=batch,
        context_tokens=chosen.fit.context_per_slot,
        micro_batch_tokens=None if policy == "vllm" else min(MICRO_BATCH, batch),
        max_queue=queue,
        cache_tokens=int(expected["n_ctx"]) if unified and policy != "vllm" else pool,
        unified=unified and policy != "vllm",
        block_tokens=int(expected.get("block_size") or 16),
        host_cache_tokens=_host_cache_tokens(chosen) if policy in {"llama-server", "ollama"} else 0,
        checkpoints=policy in {"llama-server", "ollama"} and _cannot_roll_back(job),
        switch_s=request.switch_seconds or 0.0,
    )


def _host_cache_tokens(chosen: Draft) -> int:
    """Tokens of conversations that llama-server keeps in main memory beside its slots."""
    ram = chosen.job.node.ram_bytes
    limit = HOST_CACHE_BYTES if ram is None else min(HOST_CACHE_BYTES, ram)
    return limit * chosen.job.context_tokens // max(1, chosen.engine.request_bytes(chosen.job))


def _cannot_roll_back(job: Job) -> bool:
    """Whether some layer forgets: a window or a state. llama-server then makes checkpoints of prompts."""
    stores = list(job.shape.stores())
    return any(isinstance(store, StateStore) or store.window is not None for store in stores)


def _traffic(request: SimulationRequest, chosen: Draft, scheduler: Scheduler, decode_rate: float) -> tuple[Traffic, tuple[Remark, ...]]:
    load, context = chosen.load, scheduler.context_tokens
    assumed = []
    prompt, output = request.prompt_tokens, request.output_tokens
    if prompt is None:
        prompt = min(ASSUMED_PROMPT_TOKENS, max(1, context // 4))
        said = f"No prompt length was given: {prompt:,} tokens are assumed for a turn, with a long tail."
        assumed.append(Remark("prompt_tokens_assumed", said, "prompt_tokens"))
    if output is None:
        output = max(1, round(load.generate_seconds * decode_rate))
        said = f"No answer length was given: {output:,} tokens, what a single stream generates in {load.generate_seconds:g} s."
        assumed.append(Remark("output_tokens_assumed", said, "output_tokens"))
    traffic = Traffic(
        people=request.users,
        kinds=_kinds(request, prompt=min(prompt, context), output=min(output, context)),
        duration_s=request.duration,
        think_s=load.turn_seconds - load.generate_seconds,
        turn_s=load.turn_seconds,
        arrivals=request.arrivals,
        context_tokens=context,
        turns=request.conversation_turns,
        shared_tokens=request.shared_tokens,
        cached_share=request.cached_share or None,
        adapters=max(1, request.adapters),
        together=request.together,
        seed=request.seed,
    )
    return traffic, tuple(assumed)


def _kinds(request: SimulationRequest, *, prompt: int, output: int) -> tuple[TurnKind, ...]:
    if request.long_share + request.image_share > 1:
        raise InputError("Long prompts and images together cannot be more than all turns.", field="long_share")
    answer = Spread(output, request.variation)
    kinds = [
        TurnKind(name="turns", prompt=Spread(prompt, request.variation), output=answer, share=1 - request.long_share - request.image_share)
    ]
    if request.long_share:
        kinds.append(TurnKind(name="long prompts", prompt=Spread(request.long_tokens), output=answer, share=request.long_share))
    if request.image_share:
        with_image = Spread(prompt + request.image_tokens, request.variation)
        kinds.append(TurnKind(name="with an image", prompt=with_image, output=answer, share=request.image_share))
    return tuple(kinds)


def _over(chosen: Draft, scheduler: Scheduler) -> tuple[Remark, ...]:
    fits = chosen.fit.slots_that_fit
    if scheduler.slots <= fits:
        return ()
    message = f"Only {fits:,} slots fit in memory with a full context each; {scheduler.slots:,} are simulated."
    return (Remark("more_slots_than_fit", message, "slots"),)
