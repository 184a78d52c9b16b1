"""The calls that work something out and keep nothing: a plan, the hardware table, a simulation, a diagnosis."""

from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import File, Form, Router, UploadedFile

from planner.answer import answer
from planner.api.answers.diagnosis import DiagnoseAnswer
from planner.api.answers.plan import PlanAnswer
from planner.api.answers.simulation import SimulateAnswer
from planner.api.answers.table import CompareAnswer
from planner.api.bodies import ONE_MACHINE, CompareRequest, LogNumbers, SimulateRequest, parts, typed_value
from planner.api.replies import reply
from planner.core.comparing import compare
from planner.core.comparing.machines import machines
from planner.core.comparing.order import Sieve, best_of_each, ranked, sift
from planner.core.comparing.report import comparison_json
from planner.core.comparing.scope import Scope, read_scope
from planner.core.comparing.table import assumptions
from planner.core.diagnosing.report import diagnosis_json
from planner.core.errors import InputError
from planner.core.prices import NO_PRICES, Prices, parse_prices
from planner.core.report import plan_json
from planner.core.request import PlanRequest
from planner.core.running_cost import Tariff
from planner.core.simulating.report import trials_json
from planner.core.simulating.runs import Axis, points, trials
from planner.core.simulation.request import SimulationRequest
from planner.diagnoses import diagnosis_of
from planner.operations.limits import refusal, subject_of, take
from planner.sources import find_model
from planner.web import site
from planner.web.diagnosing import uploaded
from planner.web.simulating.trying import MAX_EVENTS, MAX_POINTS

# The whole table has two thirds of it; each machine is planned for with several engines, formats and cache types.
MAX_MACHINES: Final = 400
calls = Router(tags=["Work out"])


@calls.post("/plan", response=PlanAnswer, by_alias=True, url_name="plan", operation_id="plan", summary="Work out a plan")
def plan(request: HttpRequest, asked: PlanRequest) -> JsonResponse:  # noqa: ARG001 (ninja passes it)
    """Slots, memory, speeds and the engine's files for a model, a machine and its users: the object of `manage.py plan --json`.

    Give at least the model and the machine: `device`, `gpu_memory` or `ram`. Everything else has a default.
    """
    made = answer(asked, site.hub())
    return reply(plan_json(made.plan, made.hand_over))


@calls.post("/compare", response=CompareAnswer, by_alias=True, url_name="compare", operation_id="compare", summary="Compare machines")
def compare_machines(request: HttpRequest, asked: CompareRequest) -> JsonResponse:  # noqa: ARG001 (ninja passes it)
    """Every machine that could serve the users, with each sensible engine, weight format and cache type."""
    if one := next((name for name in ONE_MACHINE if name in asked.model_fields_set), None):
        raise InputError("The table is of many machines: name them in devices and counts, or none for all.", field=one)
    prices = parse_prices(asked.prices) if asked.prices else NO_PRICES
    scope = _scope(asked, prices)
    if (count := sum(1 for _ in machines(asked, scope, prices))) > MAX_MACHINES:
        raise InputError(f"These are {count:,} machines, and one call compares {MAX_MACHINES} at most: name fewer counts.", field="counts")
    source = find_model(asked, site.hub())
    tariff = Tariff(per_kwh=asked.kwh_price, hours_per_day=asked.hours)
    rows = sift(compare(asked, source, scope, prices=prices, tariff=tariff), _sieve(asked))
    if asked.best_of_each:
        rows = tuple(best_of_each(rows, patience_seconds=asked.patience))
    rows = tuple(ranked(rows, asked.sort, patience_seconds=asked.patience))
    shown = rows[asked.offset : asked.offset + asked.limit]
    told = comparison_json(shown, model=source.id, currency=prices.currency, assumed=assumptions(asked))
    return reply({**told, "total": len(rows), "limit": asked.limit, "offset": asked.offset})


def _scope(asked: CompareRequest, prices: Prices) -> Scope:
    offers = tuple(offer.name for offer in prices.offers)
    return Scope(
        devices=_read("devices", lambda: read_scope(devices=",".join(asked.devices), offers=offers)).devices,
        counts=tuple(sorted(set(asked.counts))),
        have=_read("have", lambda: read_scope(have=asked.have)).have,
    )


def _read(field: str, read: Callable[[], Scope]) -> Scope:
    """What `read` makes of an input; its refusal under the name that the input has here."""
    try:
        return read()
    except InputError as refused:
        raise InputError(str(refused), field=field) from None


def _sieve(asked: CompareRequest) -> Sieve:
    return Sieve(
        max_price=asked.max_price,
        max_watts=asked.max_watts,
        vendors=asked.vendors,
        verdicts=asked.verdicts,
        min_slots=asked.min_slots,
        single_slot=asked.single_slot,
    )


@calls.post("/simulate", response=SimulateAnswer, by_alias=True, url_name="simulate", operation_id="simulate", summary="Simulate users")
def simulate(request: HttpRequest, asked: SimulateRequest) -> JsonResponse:  # noqa: ARG001 (ninja passes it)
    """The plan tried on simulated users: first token, gaps, longest pause, queue; a run for every value of a sweep.

    One call may simulate as much as one page of the site: a sweep or a time that takes longer is refused.
    """
    axes = tuple(Axis(name, tuple(map(typed_value, values))) for name, values in asked.sweep.items())
    for name in asked.sweep:
        if name not in SimulationRequest.model_fields:
            raise InputError(f"“{name}” is no option that a sweep can take: try batch, slots or users.", field="sweep")
    if (count := len(points(axes))) > MAX_POINTS:
        raise InputError(f"A sweep has at most {MAX_POINTS} runs here, this one has {count}: give fewer values.", field="sweep")
    source = find_model(asked, site.hub())
    return reply(trials_json(list(trials(parts(asked, SimulationRequest), source, axes, events_in_all=MAX_EVENTS))))


@calls.post("/diagnose", response=DiagnoseAnswer, by_alias=True, url_name="diagnose", operation_id="diagnose", summary="Diagnose a log")
def diagnose(
    request: HttpRequest,
    *,
    logs: File[list[UploadedFile]],  # noqa: ARG001 (named for the schema; read below, as the page does)
    before: File[UploadedFile | None] = None,  # noqa: ARG001
    calls: File[UploadedFile | None] = None,  # noqa: ARG001
    metrics: File[UploadedFile | None] = None,  # noqa: ARG001
    vmstat: File[UploadedFile | None] = None,  # noqa: ARG001
    numbers: Form[LogNumbers],  # noqa: ARG001
) -> HttpResponse:
    """Why a llama-server, vLLM or Ollama server was slow, from its own log. Nothing that is sent is kept.

    `logs` are the log, plain or gzip, or its rotated parts; `before` an older one to compare with; `calls` the application's own calls as
    CSV or JSON lines; `metrics` what the server answered at /metrics, and `vmstat` what `vmstat 1` printed meanwhile.
    """
    if settings.DIAGNOSE_RATE_LIMIT and not (standing := take(settings.DIAGNOSE_RATE_LIMIT, subject_of(request))).allowed:
        return refusal(request, standing)
    given = uploaded.material(request.POST, request.FILES)
    made = diagnosis_of(given, most_bytes=uploaded.most_bytes(), most_beside=uploaded.MAX_BESIDE)
    return reply(diagnosis_json(made))
