"""The server, the machine and the load that a request means: what the plan chose, and what the request adds to it."""

from dataclasses import dataclass

from planner.core import simulated
from planner.core.advice import REHEARSED, advised
from planner.core.draft import Draft, Source
from planner.core.engines import engines
from planner.core.errors import InputError
from planner.core.plan import Figure, Remark
from planner.core.planning import choose_engine
from planner.core.simulation import PassCost, Scheduler, Traffic
from planner.core.simulation.request import SimulationRequest


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
    if request.batch is None:
        chosen = advised(chosen, source)
    prefill, decode = chosen.speed.prefill_rate, chosen.speed.decode_rate
    if prefill is None or decode is None:
        missing = "prefill_rate" if prefill is None else "decode_rate"
        raise InputError("The speeds of this machine are not known: measure both rates and give them.", field=missing)
    if chosen.fit.slots_that_fit < 1:
        raise InputError(f"There is nothing to simulate, because not one request fits. {chosen.fit.inequality}", field="context")
    scheduler = simulated.scheduler(request, chosen)
    traffic, assumed = simulated.traffic(request, chosen, source, scheduler)
    over = _over(chosen, scheduler)
    return SetUp(
        request=request,
        engine=chosen.engine.name,
        model=source.id,
        machine=chosen.job.node.title,
        scheduler=scheduler,
        cost=simulated.pass_cost(request, chosen, source),
        traffic=traffic,
        prefill_rate=prefill,
        decode_rate=decode,
        remarks=(*(remark for remark in chosen.remarks if remark.code not in REHEARSED), *over),
        assumed=assumed,
    )


def _over(chosen: Draft, scheduler: Scheduler) -> tuple[Remark, ...]:
    fits = chosen.fit.slots_that_fit
    if scheduler.slots <= fits:
        return ()
    message = f"Only {fits:,} slots fit in memory with a full context each; {scheduler.slots:,} are simulated."
    return (Remark("more_slots_than_fit", message, "slots"),)
