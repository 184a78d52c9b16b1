"""Devices and machines: what the catalogue or the user says about the hardware a model is to run on."""

from dataclasses import dataclass, field
from typing import Literal

Vendor = Literal["NVIDIA", "AMD", "Intel", "Apple", "CPU", "other"]
DeviceClass = Literal["consumer", "workstation", "datacenter", "unified", "cpu", "custom"]


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator (or CPU platform). Bandwidth in bytes/s, rates in dense operations per second; None = not known.

    `nominal_gb` is the vendor's figure (decimal GB on the box); `memory_bytes` what the driver reports (or the nominal
    figure in GiB where no report is known, then `memory_grade` is "estimated"). It is 0 for a CPU platform of the
    catalogue, until `catalog.cpu_device` gives it the machine's main memory.
    `available_bytes` is what a model may use of memory shared with the system, by its default limit or as reported
    after boot; None where that is all of it, or not known.
    `slot_width` counts the slots of a case that a card covers; None for a module, and where it is not known.
    `disputed` names the fields on which sources differ, each with both values in words.
    """

    slug: str
    name: str
    vendor: Vendor
    device_class: DeviceClass
    memory_bytes: int
    memory_grade: Literal["measured", "estimated", "user"]
    nominal_gb: float | None = None
    bandwidth_bytes_per_s: float | None = None
    bf16_flops: float | None = None
    fp16_flops: float | None = None
    fp8_flops: float | None = None
    int8_ops: float | None = None
    watts: int | None = None
    interconnect: str = ""
    compute_capability: str = ""
    launch_year: int | None = None
    launch_price_usd: int | None = None
    source: str = ""
    checked: str = ""
    disputed: tuple[str, ...] = ()
    available_bytes: int | None = None
    slot_width: int | None = None

    @property
    def is_gpu(self) -> bool:
        return self.device_class != "cpu"

    @property
    def runs_cuda(self) -> bool:
        return self.vendor == "NVIDIA"

    @property
    def shares_memory(self) -> bool:
        """Whether its memory is the machine's main memory, so that there is none beside it."""
        return self.device_class == "unified"

    @property
    def system_bytes(self) -> int:
        """What the system keeps of memory that it shares with the device."""
        return 0 if self.available_bytes is None else max(0, self.memory_bytes - self.available_bytes)


@dataclass(frozen=True, slots=True)
class Node:
    """One machine: its devices (equal or not), and its main memory with its bandwidth, None when not known.

    `reserved_bytes` of the first device are left to the desktop and other programs; without a GPU, of the main memory.
    """

    devices: tuple[Device, ...]
    ram_bytes: int | None = None
    ram_bandwidth_bytes_per_s: float | None = None
    reserved_bytes: int = 0
    has_gpu: bool = field(init=False, compare=False, repr=False)
    device: Device = field(init=False, compare=False, repr=False)
    uniform: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """`device` is the one with the least memory: under an equal split the smallest card decides. `uniform`: all are free alike."""
        object.__setattr__(self, "has_gpu", any(device.is_gpu for device in self.devices))
        object.__setattr__(self, "device", min(self.devices, key=lambda device: device.memory_bytes))
        first = self.devices[0]
        object.__setattr__(self, "uniform", not self.reserved_bytes and all(device is first for device in self.devices))

    @property
    def shares_memory(self) -> bool:
        return any(device.shares_memory for device in self.devices)

    @property
    def kinds(self) -> tuple[Device, ...]:
        """The different devices, in order."""
        return tuple(dict.fromkeys(self.devices))

    def others_bytes(self, index: int) -> int:
        """What the desktop and other programs keep of device `index`: a screen hangs on the first one."""
        return 0 if index else self.reserved_bytes

    def free_bytes(self, index: int) -> int:
        """What is free on device `index` when a server starts."""
        device = self.devices[index]
        return max(0, device.memory_bytes - device.system_bytes - self.others_bytes(index))

    @property
    def memory_bytes(self) -> int:
        return sum(device.memory_bytes for device in self.devices)

    @property
    def title(self) -> str:
        names = [device.name for device in self.devices]
        distinct = dict.fromkeys(names)
        return " + ".join(name if names.count(name) == 1 else f"{names.count(name)} × {name}" for name in distinct)
