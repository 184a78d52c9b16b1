"""What POST /compare answers: the object of `manage.py compare --json`, a page of it at a time."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from planner.api.answers.common import Warned
from planner.core.hardware import DeviceClass, Vendor
from planner.core.plan import Grade, Limit, Verdict


class UnitPrice(BaseModel):
    """The price of one device. `per` is “once” where it is bought."""

    amount: float
    currency: str
    per: str
    vat: str | None
    date: str | None
    condition: str | None
    note: str | None
    origin: str
    year: int | None


class TableRow(BaseModel):
    """One machine with one engine, weight format and cache type. `changes` make the request that plans exactly this row.

    `ranges` has [low, high] of every figure with a range, `grades` how sure each is. A combination that its engine refuses has the
    reason in `refusal`.
    """

    device: str
    name: str
    vendor: Vendor
    class_: DeviceClass = Field(alias="class")
    count: int
    engine: str
    weights: str
    cache_type: str
    context: int
    slots: int | None
    slots_that_fit: int
    slots_needed: int | None
    verdict: Verdict
    limit: Limit
    generate_seconds: float | None
    turn_seconds: float | None
    wait_probability: float | None
    mean_wait: float | None
    prefill_rate: float | None
    decode_rate: float | None
    user_rate: float | None
    ttft_p95: float | None
    pause_p95: float | None
    monthly_kwh: float | None
    monthly_cost: float | None
    ranges: dict[str, list[float | None]]
    grades: dict[str, Grade]
    weights_bytes: int | None
    memory_bytes: int
    free_bytes: int | None
    slot_width: int | None
    price: float | None
    unit_price: UnitPrice | None
    owned: int
    watts: int | None
    estimate: bool
    refusal: str | None
    disputed: list[str]
    changes: dict[str, Any]


class CompareAnswer(BaseModel):
    """The table in the wanted order: `limit` rows of `total`, from `offset` on."""

    schema_: Literal[1] = Field(alias="schema")
    model: str
    currency: str
    options: list[TableRow]
    warnings: list[Warned]
    total: int
    limit: int
    offset: int
