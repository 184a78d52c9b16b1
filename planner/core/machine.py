"""The machine of a request: devices from the catalogue, memory typed by hand, or a CPU with its RAM."""

from dataclasses import dataclass, replace
from functools import lru_cache

from planner.core import catalog, units
from planner.core.errors import InputError
from planner.core.hardware import Device, Node
from planner.core.request import PlanRequest


def machine(request: PlanRequest) -> Node:
    """The devices named, or memory typed by hand × count, or a CPU with its RAM.

    A CPU platform named beside GPUs tells how fast their main memory is. Raises InputError with its field.
    """
    node = _machine(request)
    shortest = node.devices[0].memory_bytes - node.devices[0].system_bytes
    if node.reserved_bytes >= shortest:
        raise InputError(
            f"{units.size(node.reserved_bytes)} left to others leave nothing of the {units.size(shortest)} that {node.devices[0].name} has.",
            field="reserved_memory",
        )
    return node


def _machine(request: PlanRequest) -> Node:
    reserved = request.reserved_memory or 0
    rate = request.ram_bandwidth * 1e9 if request.ram_bandwidth else None
    if request.device:
        return _named(request.device, request.count, request.gpu_memory, _Main(request.ram, rate, reserved))
    if request.gpu_memory:
        return Node((catalog.custom_device(request.gpu_memory),) * request.count, request.ram, rate, reserved)
    if request.ram:
        return Node((catalog.cpu_device(request.ram, bandwidth_bytes_per_s=rate),), request.ram, rate, reserved)
    raise InputError("Say what it runs on: a device from the catalogue, GPU memory, or RAM for a machine without a GPU.", field="device")


@dataclass(frozen=True, slots=True)
class _Main:
    """Main memory as the request has it, and what of the machine is left to others."""

    ram_bytes: int | None
    bandwidth_bytes_per_s: float | None
    reserved_bytes: int


# Many rows of a table are about one machine.
@lru_cache(maxsize=1024)
def _named(text: str, count: int, gpu_memory: int | None, main: _Main) -> Node:
    kinds = [(catalog.device(slug), number) for slug, number in catalog.parse_machines(text)]
    platforms = [(device, number) for device, number in kinds if not device.is_gpu]
    cards = _cards(text, count, gpu_memory, [(device, number) for device, number in kinds if device.is_gpu])
    if len(platforms) > 1 or any(number > 1 for _, number in platforms):
        raise InputError("A machine has one CPU platform here: name it once, its figures are for a socket.", field="device")
    platform = platforms[0][0] if platforms else None
    rate = main.bandwidth_bytes_per_s or (platform.bandwidth_bytes_per_s if platform else None)
    if cards:
        return Node(cards, main.ram_bytes, rate, main.reserved_bytes)
    if platform is None or main.ram_bytes is None:
        raise InputError(f"{platform.name if platform else text} is a CPU: say how much RAM the machine has.", field="ram")
    return Node(
        (catalog.cpu_device(main.ram_bytes, platform=platform, bandwidth_bytes_per_s=rate),), main.ram_bytes, rate, main.reserved_bytes
    )


def _cards(text: str, count: int, gpu_memory: int | None, kinds: list[tuple[Device, int]]) -> tuple[Device, ...]:
    """The GPUs in the order typed. The count multiplies a single kind; a list has its own numbers."""
    if len(kinds) > 1:
        if count > 1:
            raise InputError(f"“{text[:60]}” says how many of each: leave the count out.", field="count")
        if gpu_memory:
            raise InputError("Memory typed by hand is for one kind of device: leave it out, or name one kind.", field="gpu_memory")
        return tuple(device for device, number in kinds for _ in range(number))
    if not kinds:
        return ()
    device, number = kinds[0]
    if number > 1 and count > 1 and number != count:
        raise InputError(f"“{text[:60]}” says {number} devices and the count says {count}: give one of them.", field="count")
    if gpu_memory:
        device = replace(device, memory_bytes=gpu_memory, memory_grade="user", available_bytes=None)
    return (device,) * max(number, count)
