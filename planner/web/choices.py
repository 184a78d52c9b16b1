"""What the model, device and weight fields may be picked from, one line of facts each."""

from dataclasses import dataclass

from planner.core import catalog, units
from planner.core.hardware import Device
from planner.core.plan import Plan
from planner.core.weights import CHOICES


@dataclass(frozen=True, slots=True)
class Suggestion:
    value: str
    label: str


def devices() -> list[Suggestion]:
    return [Suggestion(slug, _device(device)) for slug, device in catalog.devices().items()]


def _device(device: Device) -> str:
    parts = [device.name]
    if device.nominal_gb:
        parts.append(f"{units.trimmed(device.nominal_gb)} GB")
    if device.bandwidth_bytes_per_s:
        parts.append(f"{units.trimmed(device.bandwidth_bytes_per_s / 1e9, 0)} GB/s")
    return " · ".join(parts)


def models() -> list[Suggestion]:
    return [Suggestion(entry.id, _model(entry.parameters)) for entry in catalog.models().values()]


def _model(parameters: int | None) -> str:
    return f"{units.trimmed(parameters / 1e9)} B parameters" if parameters else "parameters not known"


def formats(plan: Plan | None) -> list[Suggestion]:
    """Weight formats: those the model is known to exist in, with their sizes, then the usual others."""
    known = {known.format: known.size_bytes for known in plan.model.known_weights} if plan else {}
    sized = [Suggestion(name, f"{units.gib(size)}, the size of its files") for name, size in known.items()]
    return [*sized, *(Suggestion(name, "estimated from the parameters") for name in CHOICES if name not in known)]
