"""Power supply and circuit for a machine: the boards' power from the catalogue, and estimates around it with their ranges."""

import math
from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.hardware import Device, DeviceClass
from planner.core.plan import Figure

# Watts at full load of what is around the boards: processor, mainboard, memory, disks, fans (low, usual, high). Judgement, by the
# kind of machine that such boards are put into; a board that is the whole machine has nothing around it but its supply.
_AROUND: Final[dict[DeviceClass, tuple[int, int, int]]] = {
    "consumer": (100, 200, 300),
    "custom": (100, 200, 300),
    "workstation": (150, 300, 500),
    "datacenter": (400, 800, 1500),
    "unified": (0, 0, 30),
    "cpu": (0, 0, 0),
}
# A CPU platform has no board power in the catalogue: the whole machine is an estimate.
_CPU_MACHINE: Final = (60, 200, 600)
# Of the sum: short peaks of cards above their board power, and ageing. 1.3 gives the 850 W that NVIDIA and most makers of an RTX 4090
# (450 W) ask for; they go from 850 to 1,200 W (Tom's Hardware, 2022-10-06).
_HEADROOM: Final = (1.15, 1.3, 1.6)
_STEP: Final = 50
# Share of what is drawn from the wall that reaches the machine: 80 PLUS Bronze to Titanium at half load.
_EFFICIENCY: Final = (0.94, 0.90, 0.85)
_LOAD_SHARE: Final = 0.8
_BREAKERS: Final = {230: (10, 13, 16, 20, 25, 32), 120: (15, 20, 30)}
_SOURCE: Final = "Board power from the catalogue; what is around the boards and the supply's headroom are estimates."


@dataclass(frozen=True, slots=True)
class Circuit:
    """What a machine draws at one voltage. `breaker_amps` is the smallest usual one that bears it for hours; None: several circuits."""

    volts: int
    amps: Figure
    breaker_amps: int | None
    circuits: int
    why: str


@dataclass(frozen=True, slots=True)
class Power:
    """`board_watts` None is not known: what depends on it then is, too."""

    board_watts: int | None
    around_watts: Figure
    total_watts: Figure | None
    supply_watts: Figure | None
    circuits: tuple[Circuit, ...]
    sentences: tuple[str, ...]


def board_watts(devices: tuple[Device, ...]) -> int | None:
    """The boards together, None where the catalogue does not know one of them."""
    watts = [device.watts for device in devices]
    return None if None in watts else sum(each or 0 for each in watts)


def power(devices: tuple[Device, ...]) -> Power:
    """For one machine with these devices at full load."""
    kind = max((device.device_class for device in devices), key=lambda each: _AROUND[each][1])
    boards = board_watts(tuple(device for device in devices if device.is_gpu))
    low, usual, high = _AROUND[kind] if any(device.is_gpu for device in devices) else _CPU_MACHINE
    around = Figure(usual, "estimated", "Judgement: processor, mainboard, memory, disks and fans at full load.", low, high)
    if boards is None:
        unknown = "The catalogue has no board power for this device: ask its maker, then size supply and circuit."
        return Power(None, around, None, None, (), (unknown,))
    total = Figure(boards + usual, "estimated", _SOURCE, boards + low, boards + high)
    supply = _supply(boards, (low, usual, high))
    circuits = tuple(_circuit(volts, total) for volts in _BREAKERS)
    return Power(boards, around, total, supply, circuits, tuple(_sentences(boards, around, total, supply, circuits)))


def _supply(boards: int, around: tuple[int, int, int]) -> Figure:
    low, usual, high = (math.ceil((boards + each) * headroom / _STEP) * _STEP for each, headroom in zip(around, _HEADROOM, strict=True))
    return Figure(usual, "estimated", "(boards + what is around them) × headroom for short peaks, in steps of 50 W.", low, high)


def _circuit(volts: int, total: Figure) -> Circuit:
    low, usual, high = (
        (watts or 0.0) / share / volts for watts, share in zip((total.low, total.value, total.high), _EFFICIENCY, strict=True)
    )
    amps = Figure(usual, "estimated", "Watts ÷ the supply's efficiency (94, 90, 85 %) ÷ volts.", low, high)
    largest = _BREAKERS[volts][-1]
    fitting = next((breaker for breaker in _BREAKERS[volts] if high <= breaker * _LOAD_SHARE), None)
    circuits = 1 if fitting else math.ceil(high / (largest * _LOAD_SHARE))
    why = "Hours of load may take 80 % of a breaker (NEC 210.20 in the United States; prudent elsewhere), at the high end of the estimate."
    return Circuit(volts, amps, fitting, circuits, why)


def _sentences(boards: int, around: Figure, total: Figure, supply: Figure, circuits: tuple[Circuit, ...]) -> list[str]:
    around_range, total_range, supply_range = (f"{each.low:,.0f} to {each.high:,.0f}" for each in (around, total, supply))
    beside = f" + about {around.value:,.0f} W around them ({around_range}) = about {total.value:,.0f} W" if around.high else ""
    said = [
        f"Boards {boards:,} W{beside} at full load{f' ({total_range})' if beside else ''}.",
        f"Power supply: about {supply.value:,.0f} W ({supply_range}).",
    ]
    for each in circuits:
        amps = f"about {units.trimmed(each.amps.value, 1)} A ({units.trimmed(each.amps.low or 0, 1)} to {units.trimmed(each.amps.high or 0, 1)})"
        if each.breaker_amps:
            said.append(f"At {each.volts} V: {amps}; a {each.breaker_amps} A circuit of its own bears that for hours.")
        else:
            largest = _BREAKERS[each.volts][-1]
            said.append(f"At {each.volts} V: {amps}; that is {each.circuits} circuits of {largest} A, or a feed as data centres have it.")
    said.append("An electrician has the last word on the circuit, and the maker's data sheet on the supply.")
    return said
