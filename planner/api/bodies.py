"""What calls send. A plan and a simulation are asked for by the same models as everywhere; here stands what calls add to them."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from planner.core.comparing.order import By
from planner.core.comparing.scope import MAX_COUNTS, MAX_DEVICES
from planner.core.errors import InputError, one_line
from planner.core.hardware import Vendor
from planner.core.plan import Verdict
from planner.core.prices import MAX_BYTES
from planner.core.request import PlanRequest, Text
from planner.core.simulation.request import SimulationRequest
from planner.plans.labels import MAX_LABELS, MAX_LENGTH
from planner.plans.notes import MAX_NOTES

MAX_ROWS: Final = 500
MAX_ITEMS: Final = 100
# What names one machine, where a table is of many.
ONE_MACHINE: Final = ("device", "count", "gpu_memory")


def _kept(text: str) -> str:
    if "\0" in text:
        raise InputError("This has a character that cannot be kept: type it again.")
    return text.replace("\r\n", "\n")


def _said(text: str) -> str:
    if not (line := one_line(text)):
        raise InputError("This is empty: give a few words.")
    return line


# Text of one line: whatever could break it or turn the writing round becomes a space.
Line = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_said)]
Label = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, pattern="^[^,]+$"), AfterValidator(_said)]
Amount = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


def _without_one_machine(schema: dict[str, Any]) -> None:
    for name in ONE_MACHINE:
        del schema["properties"][name]


class CompareRequest(PlanRequest):
    """Every machine that could serve a plan's question. Without `devices` and `counts` all that are sensible; `have` need not be bought.

    Prices are for the currency of `prices`, a list as `device,price,currency` and, as known, `per,vat,date,condition,note`.
    """

    model_config = ConfigDict(json_schema_extra=_without_one_machine)

    devices: Annotated[
        tuple[Text, ...],
        Field(max_length=MAX_DEVICES, examples=[["rtx-4090", "l40s"]], description="Names of the catalogue or of offers in prices."),
    ] = ()
    counts: Annotated[
        tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(max_length=MAX_COUNTS, examples=[[1, 2, 4]], description="How many of each.")
    ] = ()
    have: Annotated[Text, Field(examples=["2x3090"], description="What stands there already: it need not be bought.")] = ""
    prices: Annotated[str, Field(max_length=MAX_BYTES, description="A price list as CSV.")] = ""
    kwh_price: Annotated[Amount, Field(description="Of a kWh, for the cost of a month.")] | None = None
    hours: Annotated[float, Field(gt=0, le=24, allow_inf_nan=False, description="Of a day in which people are there.")] = 24.0

    max_price: Amount | None = None
    max_watts: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    vendors: tuple[Vendor, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    min_slots: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    single_slot: bool = False

    sort: By = "best"
    best_of_each: Annotated[bool, Field(description="Only the best row of each machine.")] = False
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS)] = MAX_ITEMS
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class SimulateRequest(SimulationRequest):
    """A plan tried on simulated users. `sweep` has a run for each value of an option, or of several together."""

    sweep: Annotated[
        dict[
            Annotated[str, Field(max_length=40)],
            Annotated[tuple[float | Annotated[str, Field(max_length=40)], ...], Field(min_length=1, max_length=40)],
        ],
        Field(max_length=4, examples=[{"batch": [256, 512, 1024]}]),
    ] = {}  # noqa: RUF012 (pydantic copies it)


class LogNumbers(BaseModel):
    """What may be known of a server beside its log."""

    long_prefill: Annotated[str, Field(max_length=40, description="From how many tokens on a prompt counts as long in the tables.")] = ""
    prefill_rate: Annotated[str, Field(max_length=40, description="Measured prefill speed of a single stream.")] = ""
    decode_rate: Annotated[str, Field(max_length=40, description="Measured decode speed of a single stream.")] = ""


class PlanContent(BaseModel):
    """What is kept of a plan, beside its answer."""

    model_config = ConfigDict(extra="forbid")

    title: Line
    notes: Annotated[str, Field(max_length=MAX_NOTES, description="Markdown."), AfterValidator(_kept)] = ""
    tags: Annotated[tuple[Label, ...], Field(max_length=MAX_LABELS)] = ()
    owned: Annotated[tuple[Label, ...], Field(max_length=MAX_LABELS, description="Labels for hardware you own.")] = ()
    request: Annotated[PlanRequest, Field(description="The question that is saved with its answer.")]


class NewPlan(PlanContent):
    team: Annotated[str, Field(max_length=40, description="The id of a team of yours; without one the plan is yours alone.")] | None = None


class ChangedPlan(PlanContent):
    base: Annotated[int, Field(ge=1, le=1_000_000, description="The version you began with: 409 where it is not the newest any more.")]


class NewLink(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: Annotated[str, Field(max_length=80, description="For your own list."), AfterValidator(one_line)] = ""
    days: Annotated[int, Field(ge=1, le=366, description="How long it works; without a number until it is revoked.")] | None = None
    password: Annotated[str, Field(min_length=8, max_length=200), AfterValidator(_kept)] | None = None


def typed(request: PlanRequest) -> dict[str, str]:
    """The inputs of a request as they would be typed: what a saved plan keeps. What is blank was not given."""
    values = {name: getattr(request, name) for name in type(request).model_fields if name in request.model_fields_set}
    return {name: typed_value(value) for name, value in values.items() if value not in (None, "")}


def typed_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def parts(request: PlanRequest, kind: type[PlanRequest]) -> Mapping[str, Any]:
    """The values in `request` that `kind` has, those that were given."""
    return {name: getattr(request, name) for name in kind.model_fields if name in request.model_fields_set}
