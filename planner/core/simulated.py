"""A draft as the simulator takes it: its server's settings, what a pass costs on its machine, and the load its people are."""

from dataclasses import replace
from typing import Final

from planner.core import speed as speeds
from planner.core import units
from planner.core.attention.stores import StateStore
from planner.core.draft import Draft, Source
from planner.core.engines.contract import Job
from planner.core.errors import InputError
from planner.core.plan import Figure, Remark
from planner.core.request import FIELDS as PLAN_FIELDS
from planner.core.request import PlanRequest
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
# The schedulers whose slots with different adapters take turns.
_CHANGES_ADAPTERS: Final = frozenset({"llama-server", "ollama"})
# llama-server's n_ubatch unless told otherwise.
MICRO_BATCH: Final = 512


def rehearsed(request: PlanRequest, *, duration_s: float) -> SimulationRequest:
    """A plan's question as one to the simulator, with nothing asked beyond the plan."""
    asked = {name: getattr(request, name) for name in PLAN_FIELDS}
    return SimulationRequest.model_construct(**asked, duration=duration_s)


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


def costs_at_ends(cost: PassCost, prefill: Figure, decode: Figure) -> tuple[PassCost, PassCost] | None:
    """The cost where the machine is as fast, and where it is as slow, as its estimated rates may be; None where both are measured."""
    (prefill_fast, prefill_slow), (decode_fast, decode_slow) = (
        (rate.value / (rate.high or rate.value), rate.value / (rate.low or rate.value)) for rate in (prefill, decode)
    )
    if prefill_fast == prefill_slow and decode_fast == decode_slow:
        return None
    return cost.slower(prefill=prefill_fast, decode=decode_fast), cost.slower(prefill=prefill_slow, decode=decode_slow)


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


def scheduler(request: SimulationRequest, chosen: Draft) -> Scheduler:
    """The plan's server, or what the request wants otherwise. Raises InputError where it would not start."""
    job, slots = chosen.job, chosen.fit.slots
    policy = request.policy or chosen.engine.name
    expected = chosen.engine.expect(job, slots).values
    unified = bool(expected.get("kv_unified"))
    planned = chosen.engine.stated_batch_tokens(job) or job.batch_tokens or chosen.engine.default_batch_tokens(job)
    batch = request.batch or max(slots, planned)
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


def with_batch(server: Scheduler, tokens: int) -> Scheduler:
    """The same server with passes of at most `tokens`."""
    micro = None if server.micro_batch_tokens is None else min(MICRO_BATCH, tokens)
    return replace(server, batch_tokens=tokens, micro_batch_tokens=micro)


def _host_cache_tokens(chosen: Draft) -> int:
    """Tokens of conversations that llama-server keeps in main memory beside its slots."""
    ram = chosen.job.node.ram_bytes
    limit = HOST_CACHE_BYTES if ram is None else min(HOST_CACHE_BYTES, ram)
    return limit * chosen.job.context_tokens // max(1, chosen.engine.request_bytes(chosen.job))


def _cannot_roll_back(job: Job) -> bool:
    """Whether some layer forgets: a window or a state. llama-server then makes checkpoints of prompts."""
    stores = list(job.shape.stores())
    return any(isinstance(store, StateStore) or store.window is not None for store in stores)


def traffic(request: SimulationRequest, chosen: Draft, source: Source, server: Scheduler) -> tuple[Traffic, tuple[Remark, ...]]:
    """The load of the request, and what was assumed of it where it does not say. Raises InputError where it cannot be simulated."""
    load, context = chosen.load, server.context_tokens
    assumed = []
    prompt, output = request.prompt_tokens, request.output_tokens
    if prompt is None:
        prompt = min(ASSUMED_PROMPT_TOKENS, max(1, context // 4))
        said = f"No prompt length was given: {prompt:,} tokens are assumed for a turn, with a long tail."
        assumed.append(Remark("prompt_tokens_assumed", said, "prompt_tokens"))
    if output is None:
        beside = max(1, min(round(load.in_flight_mean), server.slots))
        output = _answer_tokens(load.generate_seconds, prompt, beside, pass_cost(request, chosen, source), context)
        said = (
            f"No answer length was given: {output:,} tokens, what {units.seconds(load.generate_seconds)} are enough for with "
            f"{units.counted(beside, 'request')} in flight."
        )
        assumed.append(Remark("output_tokens_assumed", said, "output_tokens"))
    assumed += [*_cut(request, prompt=prompt, output=output, context=context), *_changes(request, server)]
    sent = Traffic(
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
    return sent, tuple(assumed)


def _cut(request: SimulationRequest, *, prompt: int, output: int, context: int) -> list[Remark]:
    """What is said of turns that are longer than the context: the simulated ones are not what was asked for."""
    asked = [("a turn", prompt)]
    if request.long_share:
        asked.append(("a long prompt", request.long_tokens))
    if request.image_share:
        asked.append(("a turn with an image", prompt + request.image_tokens))
    too_long = [(what, tokens) for what, tokens in asked if request.shared_tokens + tokens + output > context]
    if not too_long:
        return []
    what, tokens = max(too_long, key=lambda each: each[1])
    beside = f" beside the {request.shared_tokens:,} that all share" if request.shared_tokens else ""
    said = (
        f"The {tokens:,} prompt and {output:,} answer tokens of {what}{beside} do not fit in a context of {context:,}: "
        "what is simulated is cut to it, the prompt before the answer."
    )
    return [Remark("lengths_cut", said, "context")]


def _changes(request: SimulationRequest, server: Scheduler) -> list[Remark]:
    """What is said of changes of adapter where what they cost was not given, or is given and costs nothing here."""
    if request.adapters < 2:
        return []
    waits = server.policy in _CHANGES_ADAPTERS
    if waits and request.switch_seconds is None:
        loading = ", though Ollama loads the whole model anew for each" if server.policy == "ollama" else ""
        said = f"No time for a change of adapter was given: none is assumed{loading}. It delays everyone, so measure it once."
        return [Remark("switch_seconds_assumed", said, "switch_seconds")]
    if not waits and request.switch_seconds:
        said = "Several adapters share a step here: the seconds given for a change of adapter are not used."
        return [Remark("switch_seconds_unused", said, "switch_seconds")]
    return []


def _answer_tokens(seconds: float, prompt: int, beside: int, cost: PassCost, context: int) -> int:
    """Tokens of an answer that takes `seconds`, the reading of its prompt included, among `beside` in flight with half a context each."""
    step = cost.step_seconds(beside) + beside * cost.cached_token_s * context / 2
    # Where reading would take up most of the time, it cannot be what the seconds were meant for.
    return max(1, round(max(seconds / 2, seconds - prompt * cost.token_s) / step))


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
