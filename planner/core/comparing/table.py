"""compare: every sensible combination of machine, engine, weights and cache, each planned by the rules of a plan."""

from dataclasses import dataclass, replace
from typing import Any, Final

from planner.core.comparing.machines import Machine, machines
from planner.core.comparing.option import Option
from planner.core.comparing.scope import EVERYTHING, Scope
from planner.core.comparing.sensible import cache_choices, suits, weight_choices
from planner.core.draft import Outline, Source, decode_step, outline, own_context
from planner.core.engines import engines
from planner.core.engines.contract import Engine
from planner.core.errors import InputError
from planner.core.latency import pause_p95, ttft_p95
from planner.core.plan import Figure
from planner.core.planning import needs_no_engine
from planner.core.prices import NO_PRICES, Prices
from planner.core.request import PlanRequest
from planner.core.running_cost import NO_TARIFF, Tariff, busy_share, monthly
from planner.core.simulated import ASSUMED_PROMPT_TOKENS

# What a row that the engine refuses has not got.
_OF_A_PLAN: Final = (
    "slots_needed", "wait_probability", "mean_wait", "prefill_rate", "decode_rate", "user_rate", "ttft_p95", "pause_p95", "weights_bytes", "free_bytes",
)  # fmt: skip
USER_RATE_SOURCE: Final = "One token a step, for as many at a time as are in flight on average."


def compare(
    request: PlanRequest, source: Source, scope: Scope = EVERYTHING, *, prices: Prices = NO_PRICES, tariff: Tariff = NO_TARIFF
) -> tuple[Option, ...]:
    """A row for every combination, in the order of the catalogue; `request`'s own machine does not matter.

    Raises InputError for a request that is refused on every machine alike.
    """
    request = own_context(request.model_copy(update={"device": None, "gpu_memory": None, "count": 1}), source.shape)
    needs_no_engine(request)
    known = engines()
    chosen = tuple(known.values()) if request.engine == "auto" else (known[request.engine],)
    table = _Table(request, source, tariff)
    options = tuple(
        table.option(machine, engine, weights, cache_type)
        for machine in machines(request, scope, prices)
        for engine in chosen
        if suits(engine, machine.device, machine.count) or len(chosen) == 1
        for weights in weight_choices(request, source, engine, machine.device)
        for cache_type in cache_choices(request, engine, machine.device)
    )
    _check(options, request, source)
    return options


def _check(options: tuple[Option, ...], request: PlanRequest, source: Source) -> None:
    refusals = {option.refusal for option in options}
    if not options:
        raise InputError(
            f"No engine serves weights in {request.weights_quant or 'this format'} on these machines: choose another format or engine.",
            field="weights_quant",
        )
    if len(refusals) == 1 and None not in refusals:
        # Once more, for the refusal itself with its field.
        first = options[0]
        outline(request.model_copy(update=dict(first.changes)), source, engines()[first.engine])


@dataclass(frozen=True, slots=True)
class _Table:
    """What all rows share."""

    request: PlanRequest
    source: Source
    tariff: Tariff

    def option(self, machine: Machine, engine: Engine, weights: str | None, cache_type: str) -> Option:
        changes: dict[str, Any] = {**dict(machine.changes), "engine": engine.name, "cache_type": cache_type}
        if weights is not None:
            changes["weights_quant"] = weights
        try:
            drawn = outline(self.request.model_copy(update=changes), self.source, engine)
        except InputError as refusal:
            refused = self._refused(machine, changes, str(refusal))
            return replace(refused, weights=weights or self.request.weights_quant or self.source.weights_format or "as given")
        return self._planned(machine, drawn, changes)

    def _planned(self, machine: Machine, drawn: Outline, changes: dict[str, Any]) -> Option:
        job, found, rates = drawn.job, drawn.outcome, drawn.rates
        node, weights = job.node, job.weights
        step, unknown = decode_step(drawn, found.slots), []
        pause = ttft = None
        if rates.decode_rate is None:
            unknown.append(("decode_rate", f"The memory bandwidth of {node.device.name} is not known."))
        if rates.prefill_rate is None:
            unknown.append(("prefill_rate", _no_prefill(self.source, drawn)))
        elif step and rates.decode_rate:
            pause, ttft = _felt(self.request, drawn, prefill=rates.prefill_rate, decode=rates.decode_rate, step=step)
        unknown.extend((name, "It takes both rates.") for name, figure in (("ttft_p95", ttft), ("pause_p95", pause)) if figure is None)
        if machine.watts is None:
            unknown.append(("watts", "The catalogue has no board power for it."))
        running = monthly(watts=machine.watts, busy=busy_share(drawn.load, self.tariff), tariff=self.tariff, rent=machine.unit_price)
        return Option(
            device=machine.slug,
            name=machine.name,
            vendor=machine.device.vendor,
            device_class=machine.device.device_class,
            count=machine.count,
            engine=drawn.engine.name,
            weights=weights.format,
            cache_type=drawn.engine.cache_types(job)[0],
            slots=found.slots,
            slots_that_fit=found.slots_that_fit,
            slots_needed=found.slots_needed,
            verdict=found.verdict,
            limit=found.limit,
            generate_seconds=drawn.load.generate_seconds,
            turn_seconds=drawn.load.turn_seconds,
            wait_probability=found.chosen.wait_probability,
            mean_wait=found.chosen.mean_wait_seconds,
            prefill_rate=rates.prefill_rate,
            decode_rate=rates.decode_rate,
            user_rate=_each(step),
            ttft_p95=ttft,
            pause_p95=pause,
            weights_bytes=weights.size_bytes,
            memory_bytes=node.memory_bytes,
            free_bytes=drawn.engine.free_bytes(job, found.slots),
            context=drawn.context_tokens,
            slot_width=machine.device.slot_width,
            price=machine.price,
            unit_price=machine.unit_price,
            owned=machine.owned,
            watts=machine.watts,
            monthly_kwh=running.kwh,
            monthly_cost=running.cost,
            estimate=not rates.measured or weights.grade == "estimated" or node.device.memory_grade == "estimated",
            refusal=None,
            unknown=tuple(unknown),
            disputed=machine.device.disputed,
            changes=tuple(changes.items()),
        )

    def _refused(self, machine: Machine, changes: dict[str, Any], refusal: str) -> Option:
        return Option(
            device=machine.slug,
            name=machine.name,
            vendor=machine.device.vendor,
            device_class=machine.device.device_class,
            count=machine.count,
            engine=changes["engine"],
            weights="",
            cache_type=changes["cache_type"],
            slots=None,
            slots_that_fit=0,
            slots_needed=None,
            verdict="does_not_fit",
            limit="engine",
            generate_seconds=None,
            turn_seconds=None,
            wait_probability=None,
            mean_wait=None,
            prefill_rate=None,
            decode_rate=None,
            user_rate=None,
            ttft_p95=None,
            pause_p95=None,
            weights_bytes=None,
            memory_bytes=machine.device.memory_bytes * machine.count,
            free_bytes=None,
            context=self.request.context,
            slot_width=machine.device.slot_width,
            price=machine.price,
            unit_price=machine.unit_price,
            owned=machine.owned,
            watts=machine.watts,
            monthly_kwh=None,
            monthly_cost=None,
            estimate=False,
            refusal=refusal,
            unknown=tuple((name, refusal) for name in _OF_A_PLAN),
            disputed=machine.device.disputed,
            changes=tuple(changes.items()),
        )


def _each(step: Figure | None) -> Figure | None:
    """Tokens/s of every user."""
    if step is None:
        return None
    low, high = (None if end is None else 1 / end for end in (step.high, step.low))
    return Figure(1 / step.value, step.grade, USER_RATE_SOURCE, low, high)


def _felt(request: PlanRequest, drawn: Outline, *, prefill: Figure, decode: Figure, step: Figure) -> tuple[Figure, Figure]:
    """The pause and the time to first token, for the prompts given or a usual one."""
    load, slots = drawn.load, drawn.outcome.slots
    prompt = min(request.prompt_tokens or assumed_prompt(request), drawn.job.context_tokens)
    pause = pause_p95(prefill=prefill, step=step, load=load, prompt_tokens=prompt, batch_tokens=drawn.batch_tokens, slots=slots)
    unread = prompt * (1 - request.cached_share)
    return pause, ttft_p95(prefill=prefill, decode=decode, step=step, load=load, prompt_tokens=unread, slots=slots)


def assumed_prompt(request: PlanRequest) -> int:
    """The prompt taken where none is given, as the simulator does."""
    return min(ASSUMED_PROMPT_TOKENS, max(1, request.context // 4))


def _no_prefill(source: Source, drawn: Outline) -> str:
    if drawn.spill:
        return "Weights in RAM go through the bus or the CPU for every pass: how fast is not known."
    if source.parameters is None:
        return "The number of parameters is not known."
    return f"No compute rate of {drawn.job.node.device.name} is known."


def assumptions(request: PlanRequest) -> tuple[str, ...]:
    """What the table takes where the request says nothing."""
    if request.prompt_tokens is not None:
        return ()
    return (f"No prompt length was given: first token and pause are for prompts of {assumed_prompt(request):,} tokens.",)
