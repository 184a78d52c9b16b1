"""What does not fit the cards: read from main memory at every token, at the speed of that memory."""

import re
from dataclasses import dataclass
from typing import Final

from planner.core import catalog, units
from planner.core.hardware import Device, DeviceClass, Node
from planner.core.plan import Figure, Remark

# The slowest and the fastest platform usual beside a class of card, where the machine's own is not named.
_USUAL: Final[dict[DeviceClass, tuple[str, str]]] = {
    "workstation": ("cpu-ddr4-2ch-3200", "cpu-tr-7000"),
    "datacenter": ("cpu-epyc-7003", "cpu-epyc-9005"),
}
_DESKTOPS: Final = ("cpu-ddr4-2ch-3200", "cpu-ddr5-2ch-5600")

# Bytes/s of a PCIe lane in one direction, by generation: the PCI-SIG's rates of 8, 16 and 32 GT/s, coded 128b/130b.
_LANE: Final = {"3": 8e9 / 8 * 128 / 130, "4": 16e9 / 8 * 128 / 130, "5": 32e9 / 8 * 128 / 130}


@dataclass(frozen=True, slots=True)
class Spill:
    """What a decode step reads from main memory instead of a card: weights, and a share of every sequence's cache.

    `over_bus`: the card fetches it to compute with, instead of leaving that to the CPU.
    """

    weights_bytes: int
    cache_share: float
    over_bus: bool = False


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes/s of a memory: `low` and `high` are equal where it is known."""

    low: float
    high: float
    source: str = ""

    @property
    def words(self) -> str:
        low, high = f"{self.low / 1e9:,.0f}", f"{self.high / 1e9:,.0f}"
        return f"{low if low == high else f'{low} to {high}'} GB/s ({self.source})"


def ram_bandwidth(node: Node, *, over_bus: bool = False) -> Bandwidth:
    """How fast main memory is read: the named platform's peak, else the peaks of those usual beside such a card.

    Over the bus never faster than the slowest card's link, where that is known.
    """
    found = _main_memory(node)
    links = [(rate, device) for device in node.kinds if (rate := _link_bytes_per_s(device))] if over_bus else []
    if not links:
        return found
    rate, device = min(links, key=lambda link: link[0])
    if rate >= found.high:
        return found
    return Bandwidth(min(found.low, rate), rate, f"the peak of the card's link, {device.interconnect.partition(';')[0]}")


def _main_memory(node: Node) -> Bandwidth:
    if node.ram_bandwidth_bytes_per_s:
        return Bandwidth(node.ram_bandwidth_bytes_per_s, node.ram_bandwidth_bytes_per_s, "that of the main memory you named")
    slow, fast = (catalog.device(slug) for slug in _USUAL.get(node.device.device_class, _DESKTOPS))
    return Bandwidth(
        slow.bandwidth_bytes_per_s or 0.0,
        fast.bandwidth_bytes_per_s or 0.0,
        f"the peaks from “{slow.name}” to “{fast.name}”: name your platform beside the card for its own",
    )


def _link_bytes_per_s(device: Device) -> float | None:
    link = re.search(r"PCIe ([345])\.0 x(\d{1,2})", device.interconnect)
    return _LANE[link[1]] * int(link[2]) if link else None


def slowed(rate: Figure, unspilled: Figure, *, node: Node, spill: Spill) -> Remark:
    """What reading from RAM does to the decode rate; `unspilled` is the rate if the cards held everything."""
    memory = ram_bandwidth(node, over_bus=spill.over_bus)
    weights = f"{units.size(spill.weights_bytes)} of weights" if spill.weights_bytes else ""
    cache = f"{units.percent(spill.cache_share)} of its cache" if spill.cache_share else ""
    read = " and ".join(part for part in (weights, cache) if part)
    return Remark(
        "slowed_by_ram",
        f"Every token reads {read} from RAM at {memory.words}: {_between(rate)} tokens/s for a single stream, where a card that held "
        f"everything would give {_between(unspilled)}.",
        "weights_quant",
    )


def _between(rate: Figure) -> str:
    low, high = (rate.value if end is None else end for end in (rate.low, rate.high))
    return f"{low:.3g} to {high:.3g}"
