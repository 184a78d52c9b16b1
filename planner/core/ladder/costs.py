"""What a rung costs: from the prices given, else the launch price as such, else nothing is said."""

from collections.abc import Sequence
from typing import Final

from planner.core.hardware import Device
from planner.core.ladder.rung import Cost
from planner.core.prices import Price, Prices, launch_price

NO_PRICE: Final = "no price given"


def nothing(currency: str) -> Cost:
    return Cost(0.0, None, currency, 0, (), "nothing to buy")


def cost_of(slug: str, device: Device | None, count: int, prices: Prices) -> Cost:
    """Of `count` more of the device (or offer) called `slug`: every price in the book, used and new, and the lowest of them."""
    book = prices.by_slug.get(slug, ())
    bought = sorted((price for price in book if price.per == "once"), key=lambda price: price.amount)
    rented = sorted((price for price in book if price.monthly is not None), key=lambda price: price.monthly or 0.0)
    if bought:
        return Cost(bought[0].amount * count, None, prices.currency, count, tuple(bought), "; ".join(_said(each, count) for each in bought))
    if rented:
        words = "; ".join(_said(each, count) for each in rented)
        return Cost(0.0, (rented[0].monthly or 0.0) * count, prices.currency, count, tuple(rented), words)
    launch = launch_price(device) if device else None
    if launch is None:
        return Cost(None, None, prices.currency, count, (), NO_PRICE)
    amount = launch.amount * count if prices.currency == launch.currency else None
    return Cost(amount, None, prices.currency, count, (launch,), f"{NO_PRICE}; {_said(launch, count)}")


def together(costs: Sequence[Cost]) -> Cost:
    """Of several kinds of device that are bought at once."""
    amounts = [cost.amount for cost in costs]
    return Cost(
        None if None in amounts else sum(each or 0.0 for each in amounts),
        sum(cost.monthly or 0.0 for cost in costs) or None,
        costs[0].currency,
        sum(cost.count for cost in costs),
        tuple(price for cost in costs for price in cost.prices),
        " + ".join(cost.words for cost in costs),
    )


def _said(price: Price, count: int) -> str:
    each = f"{count} × {price.amount:,.0f}" if count > 1 else f"{price.amount:,.0f}"
    if price.origin == "launch":
        year = f" in {price.year}" if price.year else ""
        return f"list price at launch{year}: {each} {price.currency}, no offer"
    about = [price.condition, f"VAT {price.vat}" if price.vat else "VAT not said", price.date.isoformat() if price.date else "no date"]
    per = "" if price.per == "once" else f" a {price.per}"
    return f"{each} {price.currency}{per} ({', '.join(about)})"
