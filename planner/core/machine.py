"""The machine of a request: devices from the catalogue, memory typed by hand, or a CPU with its RAM."""

from dataclasses import replace

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
    if request.device:
        return _named(request, request.device, reserved)
    if request.gpu_memory:
        return Node((catalog.custom_device(request.gpu_memory),) * request.count, request.ram, reserved_bytes=reserved)
    if request.ram:
        return Node((catalog.cpu_device(request.ram),), request.ram, reserved_bytes=reserved)
    raise InputError("Say what it runs on: a device from the catalogue, GPU memory, or RAM for a machine without a GPU.", field="device")


def _named(request: PlanRequest, text: str, reserved: int) -> Node:
    kinds = [(catalog.device(slug), count) for slug, count in catalog.parse_machines(text)]
    platforms = [(device, count) for device, count in kinds if not device.is_gpu]
    cards = _cards(request, text, [(device, count) for device, count in kinds if device.is_gpu])
    if len(platforms) > 1 or any(count > 1 for _, count in platforms):
        raise InputError("A machine has one CPU platform here: name it once, its figures are for a socket.", field="device")
    platform = platforms[0][0] if platforms else None
    if cards:
        return Node(cards, request.ram, platform.bandwidth_bytes_per_s if platform else None, reserved)
    if platform is None or request.ram is None:
        raise InputError(f"{platform.name if platform else text} is a CPU: say how much RAM the machine has.", field="ram")
    return Node((catalog.cpu_device(request.ram, platform=platform),), request.ram, platform.bandwidth_bytes_per_s, reserved)


def _cards(request: PlanRequest, text: str, kinds: list[tuple[Device, int]]) -> tuple[Device, ...]:
    """The GPUs in the order typed. The count multiplies a single kind; a list has its own numbers."""
    if len(kinds) > 1:
        if request.count > 1:
            raise InputError(f"“{text[:60]}” says how many of each: leave the count out.", field="count")
        if request.gpu_memory:
            raise InputError("Memory typed by hand is for one kind of device: leave it out, or name one kind.", field="gpu_memory")
        return tuple(device for device, count in kinds for _ in range(count))
    if not kinds:
        return ()
    device, count = kinds[0]
    if count > 1 and request.count > 1 and count != request.count:
        raise InputError(f"“{text[:60]}” says {count} devices and the count says {request.count}: give one of them.", field="count")
    if request.gpu_memory:
        device = replace(device, memory_bytes=request.gpu_memory, memory_grade="user", available_bytes=None)
    return (device,) * max(count, request.count)
