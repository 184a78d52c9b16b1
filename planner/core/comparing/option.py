"""Option: one row of the hardware table."""

from dataclasses import dataclass
from typing import Any

from planner.core.hardware import DeviceClass, Vendor
from planner.core.plan import Figure, Limit, Verdict
from planner.core.prices import Price


@dataclass(frozen=True, slots=True)
class Option:
    """One machine with one engine, weight format and cache type, planned for the request.

    Times are seconds, rates tokens/s, sizes bytes. `None` is not known; `unknown` then has (field, reason). A combination that the
    engine refuses has its sentence in `refusal`, no slots that fit, and `limit` “engine”.
    `changes` make the request that plans exactly this row; `devices` are the slugs in order, `device` what to show for them.
    `price` is what is still to be bought, of `unit_price` each; `watts` the boards together.
    `generate_seconds` and `turn_seconds` are the duty cycle of its users: where the request counts in tokens, it follows from the speeds.
    `slot_width` is that of one card, None for modules and where it is not known.
    `free_bytes` is what is left of the fullest device (negative: missing).
    """

    device: str
    name: str
    vendor: Vendor
    device_class: DeviceClass
    count: int
    engine: str
    weights: str
    cache_type: str
    slots: int | None
    slots_that_fit: int
    slots_needed: int | None
    verdict: Verdict
    limit: Limit
    generate_seconds: float | None
    turn_seconds: float | None
    wait_probability: float | None
    mean_wait: float | None
    prefill_rate: Figure | None
    decode_rate: Figure | None
    user_rate: Figure | None
    ttft_p95: Figure | None
    pause_p95: Figure | None
    weights_bytes: int | None
    memory_bytes: int
    free_bytes: int | None
    context: int
    slot_width: int | None
    price: float | None
    unit_price: Price | None
    owned: int
    watts: int | None
    monthly_kwh: Figure | None
    monthly_cost: Figure | None
    estimate: bool
    refusal: str | None
    unknown: tuple[tuple[str, str], ...]
    disputed: tuple[str, ...]
    changes: tuple[tuple[str, Any], ...]
