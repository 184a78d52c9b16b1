"""Rungs that are bought: another card beside today's, or another machine instead."""

import itertools
from collections.abc import Iterator
from typing import Any, Final

from planner.core import catalog
from planner.core.comparing import Option, Scope, compare
from planner.core.comparing.order import keeps_pace, ranked
from planner.core.engines import engines
from planner.core.errors import InputError
from planner.core.hardware import Device
from planner.core.ladder.costs import cost_of
from planner.core.ladder.rung import Rung
from planner.core.ladder.trying import Start, rung, tried
from planner.core.quality import cache_risk
from planner.core.sensitivity import Held
from planner.core.sensitivity.users import serves
from planner.core.weight_formats import find_format

_FREE: Final = {"tensor_parallel": None, "pipeline_parallel": None}
# Cards of one machine: four on a desktop board with risers, eight in a server.
MOST_CARDS: Final = 8
_MOST_ON_A_DESK: Final = 4
# Machines of a kind that are tried before it is given up.
_MOST_TRIED: Final = 4
# What stands for a kind of machine: a card, a machine whose memory is one, a machine without a GPU.
_GROUPS: Final = (
    ("card", frozenset({"consumer", "workstation", "datacenter"})),
    ("unified", frozenset({"unified"})),
    ("cpu", frozenset({"cpu"})),
)


def buying_rungs(start: Start) -> Iterator[Rung]:
    yield from _more_cards(start)
    yield from _other_card(start)
    yield from _bigger(start)


def _counted(kinds: dict[str, int]) -> dict[str, Any]:
    """The machine of these devices as a request names it."""
    if len(kinds) == 1:
        ((slug, count),) = kinds.items()
        return {"device": slug, "count": count, **_FREE}
    return {"device": ",".join(f"{count}x{slug}" for slug, count in kinds.items()), "count": 1, **_FREE}


def _kinds(start: Start) -> dict[str, int] | None:
    """Today's cards by slug; None where there are none of the catalogue."""
    devices = start.node.devices
    if not start.node.has_gpu or any(device.device_class in {"custom", "unified"} for device in devices):
        return None
    return {device.slug: devices.count(device) for device in start.node.kinds}


def _more_cards(start: Start) -> Iterator[Rung]:
    """The next number of each of today's cards that brings slots (a second card is the usual one), and the first that serves everyone.

    Where no number does, the first that does with an 8-bit cache.
    """
    kinds = _kinds(start) or {}
    for slug, have in kinds.items():
        device = catalog.device(slug)
        most = (_MOST_ON_A_DESK if device.device_class == "consumer" else MOST_CARDS) - sum(kinds.values()) + have
        planned = {count: tried(start, _counted({**kinds, slug: count})) for count in range(have + 1, most + 1)}
        today = start.now.outcome.slots_that_fit
        gaining = next((count for count, made in planned.items() if made and made.outcome.slots_that_fit > today), None)
        serving = next((count for count, made in planned.items() if made and serves(made)), None)
        for count in sorted({each for each in (gaining, serving) if each}):
            yield from _with_cards(start, kinds, device, count, {})
        name = start.held.engine.eight_bit_cache(device)
        if serving is None and name:
            eight = {"cache_type": name, "cache_type_k": None, "cache_type_v": None}
            counts = (n for n in planned if (made := tried(start, {**_counted({**kinds, slug: n}), **eight})) and serves(made))
            for count in itertools.islice(counts, 1):
                yield from _with_cards(start, kinds, device, count, eight)


def _with_cards(start: Start, kinds: dict[str, int], device: Device, count: int, eight: dict[str, str | None]) -> Iterator[Rung]:
    """`eight` makes the cache an 8-bit one as well."""
    more, name = count - kinds[device.slug], eight.get("cache_type")
    words = f"{more} more {device.name}, {count} in all{f', with an 8-bit cache ({name})' if name else ''}"
    found = rung(
        start,
        "card",
        words,
        why=_bridge(device),
        changes={**_counted({**kinds, device.slug: count}), **eight},
        cost=cost_of(device.slug, device, more, start.prices),
        risk=cache_risk(name) if name else None,
    )
    if found:
        yield found


def _bridge(device: Device) -> str:
    """How the cards reach each other, as the catalogue has it."""
    link = f" ({device.interconnect})" if device.interconnect else ""
    return f"Weights and cache are shared over the cards{link}. Check slots, space and supply of your machine."


def _other_card(start: Start) -> Iterator[Rung]:
    """The cheapest other card beside today's, where unequal cards serve everyone: by the prices given only."""
    kinds = _kinds(start)
    if not kinds:
        return
    priced = sorted(
        (min(price.amount for price in book if price.per == "once"), slug)
        for slug, book in start.prices.by_slug.items()
        if slug not in kinds and slug in catalog.devices() and any(price.per == "once" for price in book)
    )
    for _, slug in priced:
        device = catalog.device(slug)
        if device.device_class not in {"consumer", "workstation", "datacenter"} or device.vendor != start.node.device.vendor:
            continue
        changes = _counted({**kinds, slug: 1})
        planned = tried(start, changes)
        if planned and serves(planned):
            why = "Unequal cards in one machine: each takes what it has room for, and the slower one sets the pace of its layers."
            found = rung(
                start,
                "other_card",
                f"A {device.name} beside today's",
                why=why,
                changes=changes,
                cost=cost_of(slug, device, 1, start.prices),
            )
            if found:
                yield found
            return


def _bigger(start: Start) -> Iterator[Rung]:
    """The cheapest machine of each kind that serves everyone at a pace to read: cards, unified memory, no GPU or rented."""
    own = {device.slug for device in start.node.devices}
    patience = start.now.request.patience
    options = [
        option
        for option in _table(start)
        if option.device not in own and _serves(option) and keeps_pace(option, patience_seconds=patience) is not False
    ]
    for name, classes in _GROUPS:
        group = [option for option in options if option.device_class in classes]
        entered = [option for option in group if option.unit_price and option.unit_price.origin == "entered"]
        for option in ranked(entered or group, "price", patience_seconds=patience)[:_MOST_TRIED]:
            found = _instead(start, option, name)
            if found and (found.users_reading is None or found.users_reading >= start.now.load.users):
                yield found
                break


def _table(start: Start) -> tuple[Option, ...]:
    """The hardware table for today's engine, weights and cache; where nothing fits today, for every engine and format."""
    own = start.held.request
    asked: dict[str, Any] = {**_FREE, "reserved_memory": None}
    if start.now.outcome.slots_that_fit:
        quant = start.now.job.weights.format
        asked |= {"engine": start.held.engine.name, "weights_quant": quant if find_format(quant) else own.weights_quant}
    try:
        return compare(own.model_copy(update=asked), start.held.source, Scope(), prices=start.prices)
    except InputError:
        return ()


def _serves(option: Option) -> bool:
    return option.verdict != "does_not_fit" and option.slots_needed is not None and option.slots_that_fit >= option.slots_needed


def _instead(start: Start, option: Option, group: str) -> Rung | None:
    changes: dict[str, Any] = {**dict(option.changes), **_FREE, "reserved_memory": None, "gpu_memory": None}
    changes.setdefault("ram", start.now.request.ram)
    engine = changes.pop("engine")
    held = Held(start.held.request, start.held.source, engines()[engine])
    device = catalog.devices().get(option.device)
    why = {
        "card": "Instead of today's: the cheapest with known prices, else the one that draws least, on which everyone finds a slot.",
        "unified": "A machine whose memory is the GPU's as well. It computes prompts slower than a card of its price.",
        "cpu": "A machine without a GPU, bought or rented. Its memory is large and slow: look at the speed before the slots.",
    }[group]
    cost = cost_of(option.device, device, option.count, start.prices)
    cached = option.cache_type not in start.held.engine.cache_types(start.now.job)
    words = f"{option.name} instead{f', with a cache in {option.cache_type}' if cached else ''}"
    risk = cache_risk(option.cache_type) if cached and "16" not in option.cache_type else None
    return rung(start, "bigger", words, why=why, changes=changes, cost=cost, held=held, risk=risk)
