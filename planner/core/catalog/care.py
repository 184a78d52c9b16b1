"""Care for the catalogue: what is out of range, missing or disputed, and what other lists have differently."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from planner.core.catalog import checkpoints, machines
from planner.core.catalog.checkpoints import CatalogModel
from planner.core.catalog.hardware_file import DeviceEntry
from planner.core.errors import InputError

Severity = Literal["error", "drift", "missing", "disputed"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "drift", "missing", "disputed")
# Beyond this share two lists do not mean the same figure.
_TOLERANCE: Final = 0.02
# What a driver reports of the size on the box, in GiB for each GB there: less where ECC or the system keeps some.
_REPORTED: Final = (0.84, 1.005)
# GB/s and TFLOP/s (dense, 16 bits) that no product of a kind lies outside of.
_BANDWIDTH: Final = {
    "consumer": (150, 3000),
    "workstation": (150, 3000),
    "datacenter": (200, 13_000),
    "unified": (50, 1600),
    "cpu": (10, 1300),
}
_DENSE: Final = (1, 3000)
_MAX_BYTES: Final = 4 * 2**20

# Column of gpus.csv, our key in dotted form. The catalogue has dense rates with FP32 accumulation.
_COLUMNS: Final = {
    "memory_gb": "memory.nominal_gb",
    "usable_mib": "memory.reported_mib",
    "memory_bandwidth_gb_s": "bandwidth_gb_s",
    "bf16_dense_tflops": "tflops.bf16",
    "fp16_dense_tflops_fp32acc": "tflops.fp16",
    "fp8_dense_tflops": "tflops.fp8",
    "int8_dense_tops": "tflops.int8",
    "tdp_w": "watts",
    "launch_year": "launch.year",
    "msrp_usd_approx": "launch.price_usd",
}


@dataclass(frozen=True, slots=True)
class CareFinding:
    """Something about one entry. Only an `error` must be mended; the others are what is known of its sources."""

    severity: Severity
    entry: str
    message: str


def findings() -> tuple[CareFinding, ...]:
    """What the catalogue's own figures say about it."""
    found = [each for slug, entry in _entries().items() for each in _device(slug, entry)]
    found.extend(_alike(_entries()))
    found.extend(each for model in checkpoints.models().values() for each in _model(model))
    return tuple(sorted(found, key=lambda each: (SEVERITIES.index(each.severity), each.entry)))


def _entries() -> Mapping[str, DeviceEntry]:
    return {slug: entry for file in machines.hardware_files() for slug, entry in file.device.items()}


def _device(slug: str, entry: DeviceEntry) -> Iterator[CareFinding]:
    low, high = _BANDWIDTH.get(entry.device_class, (10, 13_000))
    if not low <= entry.bandwidth_gb_s <= high:
        yield CareFinding("error", slug, f"bandwidth_gb_s = {entry.bandwidth_gb_s:g} lies outside {low} to {high} GB/s: is the unit right?")
    memory, rates = entry.memory, entry.tflops
    if memory and memory.reported_mib and memory.nominal_gb:
        share = memory.reported_mib / 1024 / memory.nominal_gb
        if not _REPORTED[0] <= share <= _REPORTED[1]:
            yield CareFinding(
                "error", slug, f"reported_mib = {memory.reported_mib:,} is {share:.0%} of {memory.nominal_gb:g} GiB: is it the same card?"
            )
    for name in ("bf16", "fp16", "fp8", "int8"):
        rate = getattr(rates, name)
        if rate is not None and name in {"bf16", "fp16"} and not _DENSE[0] <= rate <= _DENSE[1]:
            yield CareFinding(
                "error", slug, f"tflops.{name} = {rate:g} lies outside {_DENSE[0]} to {_DENSE[1]}: is it a dense rate in TFLOP/s?"
            )
    half = max(rates.bf16 or 0.0, rates.fp16 or 0.0)
    if rates.fp8 and half and not 0.9 <= rates.fp8 / half <= 4.1:
        yield CareFinding(
            "error", slug, f"tflops.fp8 is {rates.fp8 / half:.1f} times the 16-bit rate: dense rates are once to four times that."
        )
    missing = [
        name
        for name, value in (
            ("watts", entry.watts),
            ("a 16-bit rate", half or None),
            ("launch.price_usd", entry.launch.price_usd),
            ("memory.reported_mib", memory.reported_mib or memory.available_gib or memory.sizes_gb or None if memory else True),
            ("compute", entry.compute or None),
        )
        if value is None
    ]
    if missing and entry.device_class != "cpu":
        yield CareFinding("missing", slug, f"no {', no '.join(missing)}: what follows from it is shown as not known.")
    for text in entry.disputed:
        yield CareFinding("disputed", slug, text)


def _alike(entries: Mapping[str, DeviceEntry]) -> Iterator[CareFinding]:
    """Entries that say the same under two slugs."""
    seen: dict[tuple[object, ...], str] = {}
    for slug, entry in entries.items():
        if entry.memory is None:
            continue
        figures = (entry.memory, entry.bandwidth_gb_s, entry.tflops, entry.watts, entry.compute, entry.name.lower())
        if figures in seen:
            yield CareFinding("error", slug, f"has the name and the figures of {seen[figures]}: keep one of them.")
        seen.setdefault(figures, slug)


def _model(model: CatalogModel) -> Iterator[CareFinding]:
    """Exact sizes that the parameters cannot have: under one bit or over five bytes each."""
    for name, size in model.weight_bytes.items():
        if not model.parameters / 8 <= size <= 5 * model.parameters:
            yield CareFinding("error", model.id, f"{name} of {size:,} bytes for {model.parameters:,} parameters: one of them is wrong.")
    if model.active_parameters is not None and model.active_parameters > model.parameters:
        yield CareFinding("error", model.id, "more parameters are active than there are.")


def drift(listed: str) -> tuple[CareFinding, ...]:
    """Where the catalogue differs from a list in the form of gpus.csv (`id` and the columns above), by more than 2 %.

    A figure that the entry says is disputed is no drift. Raises InputError for what is no such list.
    """
    if len(listed) > _MAX_BYTES:
        raise InputError("gpus.csv is longer than 4 MiB: is it the list of devices?", field="against")
    try:
        rows = list(csv.DictReader(io.StringIO(listed.removeprefix("\ufeff"), newline=""), strict=True))
    except csv.Error as problem:
        raise InputError(f"gpus.csv is no CSV: {problem}.", field="against") from None
    if not rows or "id" not in rows[0]:
        raise InputError("gpus.csv has no column “id”: is it the list of devices?", field="against")
    entries = _entries()
    return tuple(each for row in rows if row["id"] in entries for each in _differences(row["id"], entries[row["id"]], row))


def _differences(slug: str, entry: DeviceEntry, row: Mapping[str, str | None]) -> Iterator[CareFinding]:
    for column, key in _COLUMNS.items():
        own, other = _own(entry, key), _number(row.get(column))
        if own is None or other is None or _same(own, other) or _disputed(entry, key):
            continue
        yield CareFinding("drift", slug, f"{key} is {own:g} here and {other:g} in the list ({column}).")


def _disputed(entry: DeviceEntry, key: str) -> bool:
    """Whether the entry says so; rates are of one clock, and stand or fall together."""
    part = "tflops." if key.startswith("tflops.") else f"{key}:"
    return any(text.startswith(part) for text in entry.disputed)


def _own(entry: DeviceEntry, key: str) -> float | None:
    value: object = entry
    for part in key.split("."):
        value = getattr(value, part, None)
    return float(value) if isinstance(value, int | float) else None


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _same(left: float, right: float) -> bool:
    return abs(left - right) <= _TOLERANCE * max(abs(left), abs(right))
