"""The machines of the table: every catalogue device in the numbers its platform takes, CPU platforms and offers with their RAM."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.core import catalog, units
from planner.core.comparing.scope import VPS, Scope
from planner.core.hardware import Device, DeviceClass
from planner.core.prices import Offer, Price, Prices, price_of
from planner.core.request import PlanRequest
from planner.core.units import GIB

# A desktop board takes four cards with risers at most; workstation and data-centre boards come in servers of eight. Machines whose
# memory is part of the board stand alone.
_COUNTS: Final[Mapping[DeviceClass, tuple[int, ...]]] = {"consumer": (1, 2, 4), "workstation": (1, 2, 4, 8), "datacenter": (1, 2, 4, 8)}
# Main memory in GiB that a platform is usually bought with, where the request names none: its channels filled with common modules.
_RAM: Final[Mapping[str, tuple[int, ...]]] = {
    "cpu-ddr4-2ch-3200": (32, 64, 128),
    "cpu-ddr5-2ch-5600": (64, 96, 192),
    "cpu-tr-7000": (128, 256, 512),
    "cpu-epyc-7003": (256, 512, 1024),
    "cpu-epyc-9004": (384, 768, 1152),
    "cpu-epyc-9005": (384, 768, 1152),
    "cpu-xeon-icelake": (256, 512, 1024),
    "cpu-xeon-spr": (256, 512, 1024),
    "cpu-rpi5": (8, 16),
}
_ANY_RAM: Final = (64, 128)
# Virtual servers, by their RAM in GiB: nobody says how fast it is.
_VPS_RAM: Final = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine of the table. `changes` make the request that plans it; `device` is the only kind in it, or the first.

    `price` is what is still to be bought, `unit_price` that of one device; `watts` are those of all boards. None is not known.
    """

    slug: str
    name: str
    device: Device
    count: int
    changes: tuple[tuple[str, Any], ...]
    owned: int
    unit_price: Price | None
    price: float | None
    watts: int | None


def machines(request: PlanRequest, scope: Scope, prices: Prices) -> Iterator[Machine]:
    """Every machine in scope, and always the one that stands there already."""
    seen = set()
    if scope.have:
        own = _owned(scope, prices)
        seen.add((own.slug, own.count))
        yield own
    for device in catalog.devices().values():
        if scope.devices and device.slug not in scope.devices:
            continue
        for machine in _of(device, request, scope, prices):
            if (machine.slug, machine.count) not in seen or not device.is_gpu:
                yield machine
    if 1 in (scope.counts or (1,)):
        yield from _offers(request, scope, prices)


def _of(device: Device, request: PlanRequest, scope: Scope, prices: Prices) -> Iterator[Machine]:
    usual = _COUNTS.get(device.device_class, (1,))
    counts = scope.counts or usual
    if len(usual) == 1:
        counts = tuple(count for count in counts if count == 1)
    if device.is_gpu:
        for count in counts:
            yield _machine(device, count, (("device", device.slug), ("count", count)), scope, prices)
    elif counts:
        sizes = (request.ram,) if request.ram else tuple(gib * GIB for gib in _RAM.get(device.slug, _ANY_RAM))
        for ram in sizes:
            named = f"{device.name}, {units.size(ram)}"
            yield _machine(device, 1, (("device", device.slug), ("count", 1), ("ram", ram)), scope, prices, name=named)


def _machine(
    device: Device, count: int, changes: tuple[tuple[str, Any], ...], scope: Scope, prices: Prices, *, name: str | None = None
) -> Machine:
    owned = min(count, scope.owned(device.slug))
    unit = price_of(device, prices)
    return Machine(
        slug=device.slug,
        name=name or (device.name if count == 1 else f"{count} × {device.name}"),
        device=device,
        count=count,
        changes=changes,
        owned=owned,
        unit_price=unit,
        price=_to_buy(unit, count - owned),
        watts=device.watts * count if device.watts is not None else None,
    )


def _to_buy(unit: Price | None, count: int) -> float | None:
    """What `count` devices cost to buy; None where that is not known, or where they are rented."""
    if count == 0:
        return 0.0
    return unit.amount * count if unit and unit.per == "once" else None


def _owned(scope: Scope, prices: Prices) -> Machine:
    """The machine that stands there, of one kind of device or several."""
    kinds = [(catalog.device(slug), count) for slug, count in scope.have]
    total = sum(count for _, count in kinds)
    first = kinds[0][0]
    if len(kinds) == 1:
        return _machine(first, total, (("device", first.slug), ("count", total)), scope, prices)
    watts = [device.watts for device, _ in kinds]
    return Machine(
        slug="+".join(slug if count == 1 else f"{count}x{slug}" for slug, count in scope.have),
        name=" + ".join(device.name if count == 1 else f"{count} × {device.name}" for device, count in kinds),
        device=first,
        count=total,
        changes=(("device", ",".join(f"{count}x{slug}" for slug, count in scope.have)), ("count", 1)),
        owned=total,
        unit_price=None,
        price=0.0,
        watts=None if None in watts else sum((device.watts or 0) * count for device, count in kinds),
    )


def _bandwidth(offer: Offer) -> tuple[tuple[str, Any], ...]:
    return (("ram_bandwidth", offer.bandwidth_bytes_per_s / 1e9),) if offer.bandwidth_bytes_per_s else ()


def _offers(request: PlanRequest, scope: Scope, prices: Prices) -> Iterator[Machine]:
    """The price book's own machines, else virtual servers of common sizes."""
    offers = prices.offers
    if not offers and not request.ram:
        offers = tuple(Offer(f"{VPS}-{gib}gb", gib * GIB) for gib in _VPS_RAM)
    for offer in offers:
        if scope.devices and offer.name not in scope.devices and not (VPS in scope.devices and offer.name.startswith(VPS)):
            continue
        unit = prices.of(offer.name)
        cores = f"{offer.vcpus} vCPU, " if offer.vcpus else ""
        yield Machine(
            slug=offer.name,
            name=f"{offer.name} ({cores}{units.size(offer.ram_bytes)})"
            if prices.offers
            else f"Virtual server, {units.size(offer.ram_bytes)}",
            device=catalog.cpu_device(offer.ram_bytes, bandwidth_bytes_per_s=offer.bandwidth_bytes_per_s),
            count=1,
            changes=(("device", None), ("count", 1), ("ram", offer.ram_bytes), *_bandwidth(offer)),
            owned=0,
            unit_price=unit,
            price=_to_buy(unit, 1),
            watts=None,
        )
