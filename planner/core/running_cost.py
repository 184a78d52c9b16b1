"""Electricity and rent: from board power and the duty cycle to kWh and money a month."""

from dataclasses import dataclass
from typing import Final

from planner.core.plan import Figure, Workload
from planner.core.prices import Price

# Days of a month: 365.25 ÷ 12.
DAYS_PER_MONTH: Final = 30.4375
# Shares of the board power. Idle: with a model loaded and nobody asking; busy: while tokens are generated, which waits for memory
# more than it computes. Estimates: replace them by what your meter shows.
IDLE_SHARE: Final = (0.05, 0.12, 0.25)
BUSY_SHARE: Final = (0.50, 0.80, 1.00)
SOURCE: Final = "Estimated from the board power: idle 5 to 25 % of it, busy 50 to 100 %. The machine around the cards is not counted."


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a kWh costs in the price book's currency (None: not known), and how many hours a day people are there."""

    per_kwh: float | None = None
    hours_per_day: float = 24.0


NO_TARIFF: Final = Tariff()


@dataclass(frozen=True, slots=True)
class Monthly:
    """One month: electricity in kWh (None where the board power is not known) and money (None where a part of it is not known)."""

    kwh: Figure | None
    cost: Figure | None


def busy_share(load: Workload, tariff: Tariff) -> float:
    """The share of all hours in which at least one request is in flight."""
    return (1 - load.distribution[0]) * tariff.hours_per_day / 24


def monthly(*, watts: int | None, busy: float, tariff: Tariff, rent: Price | None = None) -> Monthly:
    """kWh = watts × (idle share × (1 − busy) + busy share × busy) × hours; cost = kWh × price, or the rent, which has the electricity in it."""
    if rent is not None and rent.monthly is not None:
        return Monthly(None, Figure(rent.monthly, "computed", "The rent; electricity is in it."))
    if watts is None:
        return Monthly(None, None)
    hours = 24 * DAYS_PER_MONTH
    low, middle, high = (
        watts * (idle * (1 - busy) + work * busy) * hours / 1000 for idle, work in zip(IDLE_SHARE, BUSY_SHARE, strict=True)
    )
    kwh = Figure(middle, "estimated", SOURCE, low, high)
    if tariff.per_kwh is None:
        return Monthly(kwh, None)
    price = tariff.per_kwh
    return Monthly(kwh, Figure(middle * price, "estimated", SOURCE, low * price, high * price))
