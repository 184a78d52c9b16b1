"""The table as the JSON object that scripts rely on, as CSV, and as lines for a terminal."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from planner.core import units
from planner.core.comparing.option import Option
from planner.core.comparing.order import READING_RATE, Sieve, keeps_pace
from planner.core.plan import Figure
from planner.core.prices import Price
from planner.core.request import PlanRequest

SCHEMA: Final = 1
# Figures that come with a range.
_FIGURES: Final = ("prefill_rate", "decode_rate", "user_rate", "ttft_p95", "pause_p95", "monthly_kwh", "monthly_cost")
_VERDICT_WORDS: Final = {"fits": "fits", "tight": "tight", "does_not_fit": "does not fit"}


def option_json(option: Option) -> dict[str, Any]:
    """One row. Every figure with a range has its value under its own name and [low, high] under `ranges`."""
    figures = {name: getattr(option, name) for name in _FIGURES}
    unit = option.unit_price
    return {
        "device": option.device,
        "name": option.name,
        "vendor": option.vendor,
        "class": option.device_class,
        "count": option.count,
        "engine": option.engine,
        "weights": option.weights,
        "cache_type": option.cache_type,
        "context": option.context,
        "slots": option.slots,
        "slots_that_fit": option.slots_that_fit,
        "slots_needed": option.slots_needed,
        "verdict": option.verdict,
        "limit": option.limit,
        "generate_seconds": option.generate_seconds,
        "turn_seconds": option.turn_seconds,
        "wait_probability": option.wait_probability,
        "mean_wait": option.mean_wait,
        **{name: figure.value if figure else None for name, figure in figures.items()},
        "ranges": {name: [figure.low, figure.high] for name, figure in figures.items() if figure and figure.low is not None},
        "grades": {name: figure.grade for name, figure in figures.items() if figure},
        "weights_bytes": option.weights_bytes,
        "memory_bytes": option.memory_bytes,
        "free_bytes": option.free_bytes,
        "slot_width": option.slot_width,
        "price": option.price,
        "unit_price": price_json(unit) if unit else None,
        "owned": option.owned,
        "watts": option.watts,
        "estimate": option.estimate,
        "refusal": option.refusal,
        "disputed": list(option.disputed),
        "changes": dict(option.changes),
    }


def price_json(price: Price) -> dict[str, Any]:
    return {
        "amount": price.amount,
        "currency": price.currency,
        "per": price.per,
        "vat": price.vat or None,
        "date": price.date.isoformat() if price.date else None,
        "condition": price.condition,
        "note": price.note,
        "origin": price.origin,
        "year": price.year,
    }


def comparison_json(options: Sequence[Option], *, model: str, currency: str, assumed: Iterable[str] = ()) -> dict[str, Any]:
    """`currency` is that of prices and of the cost of a month."""
    return {
        "schema": SCHEMA,
        "model": model,
        "currency": currency,
        "options": [option_json(option) for option in options],
        "warnings": [
            *({"code": "assumed", "message": sentence} for sentence in assumed),
            *(
                {"code": f"{field}_unknown", "message": f"{reason} ({units.counted(count, 'row')})"}
                for (field, reason), count in _unknown(options).items()
            ),
        ],
    }


def _unknown(options: Iterable[Option]) -> Counter[tuple[str, str]]:
    """Why figures are null, each reason once."""
    return Counter((field, reason) for option in options for field, reason in (*option.unknown, *_without(option)))


def _without(option: Option) -> Iterator[tuple[str, str]]:
    if option.price is None:
        yield "price", "No price of this device is in the price list, and no launch price in its currency in the catalogue."
    if option.monthly_cost is None:
        yield "monthly_cost", "It takes the board power and the price of a kWh."


def comparison_csv(options: Iterable[Option]) -> str:
    """One line a row, each figure with its ends in columns of their own."""
    text = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for option in options:
        row = _flat(option)
        if writer is None:
            writer = csv.DictWriter(text, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


def _flat(option: Option) -> dict[str, Any]:
    row = option_json(option)
    ranges, unit = row.pop("ranges"), row.pop("unit_price")
    for name in ("grades", "changes"):
        del row[name]
    for name in _FIGURES:
        low, high = ranges.get(name, (None, None))
        row |= {f"{name}_low": low, f"{name}_high": high}
    for name in ("amount", "currency", "per", "origin", "year", "date", "vat", "condition", "note"):
        row[f"unit_price_{name}"] = unit[name] if unit else None
    row["disputed"] = "; ".join(row["disputed"])
    return row


def _cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula gets a quote before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def comparison_text(shown: Sequence[Option], *, total: int, request: PlanRequest, assumed: Iterable[str] = ()) -> str:
    """The rows for a terminal, and under them what the figures are."""
    rows = [_COLUMNS, *(_cells(option, request) for option in shown)]
    if any(option.monthly_cost for option in shown):
        monthly = ("a month", *(_estimate(option.monthly_cost, lambda value: f"{value:,.0f}") for option in shown))
        rows = [(*row, cost) for row, cost in zip(rows, monthly, strict=True)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    left = {0, 1, 2, 3}
    lines = [
        "  ".join(
            cell.ljust(width) if index in left else cell.rjust(width) for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    notes = [
        "",
        f"{units.counted(len(shown), 'row')} of {total:,}. Speeds, first token and pause are estimates with a range unless you measured: the middle of it is shown,",
        "~ marks it, and --json or --csv has both ends. Prices with a year are list prices at launch, no offers.",
        f"“slow”: fewer tokens a second than people read ({READING_RATE:.1f}), or a first token later than their patience.",
        *assumed,
        *(f"Refused: {sentence}" for sentence in list(dict.fromkeys(option.refusal for option in shown if option.refusal))[:3]),
    ]
    return "\n".join([*lines, *notes]) + "\n"


_COLUMNS: Final = (
    "verdict",
    "machine",
    "engine",
    "weights, cache",
    "slots",
    "wait",
    "tokens/s each",
    "first token",
    "pause",
    "watts",
    "price",
)


def _cells(option: Option, request: PlanRequest) -> tuple[str, ...]:
    pace = keeps_pace(option, patience_seconds=request.patience)
    verdict = (
        "refused"
        if option.refusal
        else _VERDICT_WORDS[option.verdict] + (", slow" if pace is False and option.verdict != "does_not_fit" else "")
    )
    wait = "" if option.wait_probability is None else units.percent(option.wait_probability)
    return (
        verdict,
        option.name,
        option.engine,
        f"{option.weights}, {option.cache_type}",
        f"{option.slots_that_fit:,} of {option.slots_needed:,}" if option.slots_needed is not None else "not known",
        wait,
        _estimate(option.user_rate, lambda value: units.significant(value, 2)),
        _estimate(option.ttft_p95, units.seconds),
        _estimate(option.pause_p95, units.seconds),
        f"{option.watts:,}" if option.watts is not None else "not known",
        _money(option),
    )


def _estimate(figure: Figure | None, show: Callable[[float], str]) -> str:
    if figure is None:
        return "not known"
    return f"{'~' if figure.grade == 'estimated' else ''}{show(figure.value)}"


def _money(option: Option) -> str:
    unit = option.unit_price
    if option.owned == option.count:
        return "there already"
    if unit is None:
        return "not known"
    if unit.per != "once":
        return f"{unit.amount:,.2f} {unit.currency} a {unit.per}"
    year = f" ({unit.year})" if unit.origin == "launch" and unit.year else ""
    return f"{option.price or 0:,.0f} {unit.currency}{year}"


def empty_text(options: Sequence[Option], sieve: Sieve) -> str:
    """What to do where no row passes: what each wish alone would leave."""
    wishes = {
        "--max-price": Sieve(max_price=sieve.max_price),
        "--max-watts": Sieve(max_watts=sieve.max_watts),
        "--vendor": Sieve(vendors=sieve.vendors),
        "--verdict": Sieve(verdicts=sieve.verdicts),
        "--min-slots": Sieve(min_slots=sieve.min_slots),
        "--single-slot": Sieve(single_slot=sieve.single_slot),
    }
    left = {name: sum(wish.passes(option) for option in options) for name, wish in wishes.items() if wish != Sieve()}
    alone = "; ".join(f"{name} alone leaves {count:,}" for name, count in left.items())
    return f"None of {len(options):,} rows passes these filters: {alone}. Loosen the one that leaves the fewest.\n"
