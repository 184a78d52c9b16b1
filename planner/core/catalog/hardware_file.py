"""The form of hardware.toml: one entry in, one Device out, or several where a product comes in several memory sizes."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from planner.core.hardware import Device, DeviceClass, Vendor
from planner.core.units import GIB, MIB

# macOS lets the GPU wire two thirds of the memory up to 36 GB and three quarters above, unless
# `sysctl iogpu.wired_limit_mb` says otherwise.
APPLE_SMALL_GB: Final = 36

Name = Annotated[str, Field(min_length=1, max_length=120)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Rate = Annotated[float, Field(gt=1, lt=50_000)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Memory(_Entry):
    """One of `reported_mib`, `nominal_gb` alone, or `sizes_gb` decides the size."""

    nominal_gb: Annotated[float, Field(gt=1, lt=2000)] | None = None
    reported_mib: Annotated[int, Field(gt=1000, lt=2_000_000)] | None = None
    sizes_gb: tuple[Annotated[int, Field(gt=1, lt=2000)], ...] = ()
    available_gib: Annotated[float, Field(gt=1, lt=2000)] | None = None
    reported_by: Annotated[Name | None, Field(alias="from")] = None
    inferred_from: Name | None = None

    @model_validator(mode="after")
    def size_has_one_origin(self) -> Self:
        if bool(self.sizes_gb) == (self.nominal_gb is not None):
            raise ValueError("give either nominal_gb or sizes_gb")
        if (self.reported_mib is not None) != ((self.reported_by is None) != (self.inferred_from is None)):
            raise ValueError("a reported size needs either `from` or inferred_from, and only a reported size has them")
        return self


# What people call the fields that sources may differ on.
_WORDS: Final = {
    "memory.nominal_gb": "memory in GB",
    "bandwidth_gb_s": "bandwidth in GB/s",
    "tflops.bf16": "BF16 rate in TFLOP/s",
    "tflops.fp8": "FP8 rate in TFLOP/s",
    "watts": "power in W",
}


def _in_words(disputed: str) -> str:
    field, colon, sides = disputed.partition(":")
    return f"{_WORDS.get(field, field)}{colon}{sides}"


class Rates(_Entry):
    """Dense rates in 10^12 operations per second."""

    origin: Annotated[Name | None, Field(alias="from")] = None
    bf16: Rate | None = None
    fp16: Rate | None = None
    fp8: Rate | None = None
    int8: Rate | None = None

    @model_validator(mode="after")
    def rates_have_an_origin(self) -> Self:
        if (self.origin is None) != (self.bf16 is None and self.fp16 is None):
            raise ValueError("rates need a 16-bit rate and `from`")
        return self


class Launch(_Entry):
    year: Annotated[int, Field(ge=2015, le=2030)] | None = None
    price_usd: Annotated[int, Field(gt=50, lt=200_000)] | None = None


class DeviceEntry(_Entry):
    """One `[device.<slug>]` table."""

    name: Name
    vendor: Vendor
    device_class: Annotated[DeviceClass, Field(alias="class")]
    bandwidth_gb_s: Annotated[float, Field(gt=10, lt=20_000)]
    sources: Annotated[tuple[Name, ...], Field(min_length=1)]
    aliases: tuple[Name, ...] = ()
    memory: Memory | None = None
    tflops: Rates = Rates()
    watts: Annotated[int, Field(gt=4, lt=3000)] | None = None
    link: str = ""
    slots: Annotated[int, Field(ge=1, le=4)] | None = None
    compute: str = ""
    launch: Launch = Launch()
    disputed: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def only_cpu_platforms_leave_memory_out(self) -> Self:
        if (self.memory is None) != (self.device_class == "cpu"):
            raise ValueError("a device has memory, a CPU platform has none of its own")
        return self


class HardwareFile(_Entry):
    """hardware.toml as a whole, or a file of the same form. Raises pydantic's ValidationError with the path of what is wrong."""

    version: Name = "local"
    checked: Name = "not stated"
    sources: Mapping[str, Name] = Field(default_factory=dict)
    device: Mapping[Slug, DeviceEntry]

    def devices(self) -> Iterator[tuple[Device, tuple[str, ...]]]:
        """Every device with the other names it goes by."""
        for slug, entry in self.device.items():
            sizes = entry.memory.sizes_gb if entry.memory else ()
            if not sizes:
                yield self._device(slug, entry), entry.aliases
            for size_gb in sizes:
                yield self._sized_device(slug, entry, size_gb, largest=size_gb == max(sizes)), ()

    def _device(self, slug: str, entry: DeviceEntry) -> Device:
        memory, rates, launch = entry.memory, entry.tflops, entry.launch
        size_bytes = 0
        if memory is not None:
            size_bytes = memory.reported_mib * MIB if memory.reported_mib else round((memory.nominal_gb or 0) * GIB)
        return Device(
            slug=slug,
            name=entry.name,
            vendor=entry.vendor,
            device_class=entry.device_class,
            memory_bytes=size_bytes,
            memory_grade="user" if memory is None else "measured" if memory.reported_by else "estimated",
            nominal_gb=memory.nominal_gb if memory else None,
            bandwidth_bytes_per_s=entry.bandwidth_gb_s * 1e9,
            bf16_flops=_per_second(rates.bf16),
            fp16_flops=_per_second(rates.fp16),
            fp8_flops=_per_second(rates.fp8),
            int8_ops=_per_second(rates.int8),
            watts=entry.watts,
            interconnect=entry.link,
            slot_width=entry.slots,
            compute_capability=entry.compute,
            launch_year=launch.year,
            launch_price_usd=launch.price_usd,
            source=self._source(entry),
            checked=self.checked,
            disputed=tuple(_in_words(text) for text in entry.disputed),
            available_bytes=round(memory.available_gib * GIB) if memory and memory.available_gib else None,
        )

    def _sized_device(self, slug: str, entry: DeviceEntry, size_gb: int, *, largest: bool) -> Device:
        """One memory size of a product. The launch price is that of the largest, as its source has it."""
        available = size_gb * GIB * 2 // 3 if size_gb <= APPLE_SMALL_GB else size_gb * GIB * 3 // 4
        sized = entry.model_copy(
            update={
                "name": f"{entry.name} {size_gb}GB",
                "memory": Memory(nominal_gb=size_gb, available_gib=available / GIB),
                "launch": entry.launch if largest else Launch(year=entry.launch.year),
            }
        )
        return self._device(f"{slug}-{size_gb}gb", sized)

    def _source(self, entry: DeviceEntry) -> str:
        parts = [", ".join(self.sources.get(key, key) for key in entry.sources)]
        if entry.memory and entry.memory.reported_by:
            parts.append(f"memory: {entry.memory.reported_by}")
        if entry.memory and entry.memory.inferred_from:
            parts.append(f"memory: as the {entry.memory.inferred_from} reports it")
        if entry.tflops.origin:
            parts.append(f"rates: {self.sources.get(entry.tflops.origin, entry.tflops.origin)}")
        return "; ".join(parts)


def _per_second(tera: float | None) -> float | None:
    return None if tera is None else tera * 1e12
