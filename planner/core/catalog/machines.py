"""Devices by name: exact names only, so that nobody plans for another card than the one they have."""

import difflib
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from planner.core import units
from planner.core.catalog.hardware_file import HardwareFile
from planner.core.errors import InputError
from planner.core.hardware import Device

MAX_COUNT: Final = 64
MAX_NAME: Final = 120
MAX_CHOICES: Final = 12

# Words that vendors put before every name, and people leave out.
_FAMILY_WORDS: Final = frozenset({"nvidia", "geforce", "rtx", "tesla", "amd", "radeon", "rx", "instinct", "intel", "apple"})
_COUNT_FIRST: Final = re.compile(r"(\d+)\s*[x×*]\s*(.+)", re.ASCII | re.IGNORECASE)
# The x of “GTX 1080” is none: a letter stands before it.
_COUNT_LAST: Final = re.compile(r"(.+?)\s*(?:(?<![a-z])x|[×*])\s*(\d+)", re.ASCII | re.IGNORECASE)

# Commas and plus signs that one product's name has at most.
_MARKS_IN_A_NAME: Final = 3

_FILE: Final = HardwareFile.model_validate(
    tomllib.loads(files("planner.core.catalog").joinpath("hardware.toml").read_text(encoding="utf-8"))
)
VERSION: Final = _FILE.version
_Listed = tuple[tuple[Device, tuple[str, ...]], ...]
# The catalogue's own file and its devices, and the operator's beside it.
_FILES: Final[list[tuple[HardwareFile, _Listed]]] = [(_FILE, tuple(_FILE.devices()))]


def hardware_files() -> tuple[HardwareFile, ...]:
    """The files that the devices come from."""
    return tuple(file for file, _ in _FILES)


def set_additions(added: HardwareFile | None) -> None:
    """Devices of the operator's own beside the catalogue's (None: no more): once, at the start, before anything is planned.

    Raises InputError where a slug, name or alias belongs to another device already.
    """
    kept = _FILES[1:]
    _FILES[1:] = [(added, tuple(added.devices()))] if added else []
    try:
        _forget()
    except InputError:
        _FILES[1:] = kept
        _forget()
        raise


def _forget() -> None:
    for cached in (devices, _slugs_by_key, parse_machines):
        cached.cache_clear()
    _slugs_by_key()


def _all_devices() -> Iterator[tuple[Device, tuple[str, ...]]]:
    return itertools.chain.from_iterable(listed for _, listed in _FILES)


@cache
def devices() -> Mapping[str, Device]:
    """Every device of the catalogue by slug. CPU platforms have no memory yet, see `cpu_device`."""
    return MappingProxyType({each.slug: each for each, _ in _all_devices()})


def device(name: str) -> Device:
    """The device of exactly this slug or product name; case, spaces, dashes and “NVIDIA GeForce RTX” do not matter.

    Raises InputError for everything else: a name that several products share is answered with their slugs, an unknown
    one with the closest slugs. A device is never guessed.
    """
    slug = _exact(name)
    if slug is not None:
        return devices()[slug]
    shown = name.strip()[:40]
    if not shown:
        raise InputError("Name a device, such as rtx-4090, or give its memory by hand.", field="device")
    choices = _sharing(name)
    if len(choices) == 1:
        raise InputError(f"“{shown}” is not a whole product name. Did you mean {choices[0]}?", field="device")
    if choices:
        more = f" and {len(choices) - MAX_CHOICES} more" if len(choices) > MAX_CHOICES else ""
        raise InputError(f"Which “{shown}” is it: {', '.join(choices[:MAX_CHOICES])}{more}?", field="device")
    closest = difflib.get_close_matches("-".join(_words(name)), devices(), n=4, cutoff=0.4)
    hint = f" The closest names are {', '.join(closest)}." if closest else ""
    raise InputError(
        f"“{shown}” is not in the catalogue.{hint} For any other card leave the device out and give its GPU memory by hand.", field="device"
    )


def parse_machine(text: str) -> tuple[str, int]:
    """Slug and number of devices in `rtx-4090`, `2x3090`, `2 x RTX 3090` or `rtx-3090 x2`.

    Raises InputError for a name that is not exact (see `device`) and for a count outside 1 to 64.
    """
    count, name = _counted(text.strip()[: MAX_NAME + 10])
    slug = device(name).slug
    if len(count) > 3 or not 1 <= int(count) <= MAX_COUNT:
        raise InputError(f"A machine has 1 to {MAX_COUNT} devices, not {count[:10]}.", field="count")
    return slug, int(count)


def _counted(typed: str) -> tuple[str, str]:
    """The count and the name in `typed`: where it can be read in several ways, the one that names a device."""
    first, last = _COUNT_FIRST.fullmatch(typed), _COUNT_LAST.fullmatch(typed)
    ways = [("1", typed), *([(first[1], first[2])] if first else []), *([(last[2], last[1])] if last else [])]
    return next(((count, name) for count, name in ways if _exact(name) is not None), ways[1] if ways[1:] else ways[0])


@lru_cache(maxsize=1024)
def parse_machines(text: str) -> tuple[tuple[str, int], ...]:
    """Slugs and numbers of all devices in `rtx-3090,rtx-4090` or `2x3090+1x4090`, in the order typed; one device is a list of one.

    Raises InputError as `parse_machine` does, and for more than 64 devices in all.
    """
    named = tuple(parse_machine(part) for part in _listed(text) or ("",))
    total = sum(count for _, count in named)
    if total > MAX_COUNT:
        raise InputError(f"A machine has 1 to {MAX_COUNT} devices, not {total}.", field="count")
    return named


def _listed(text: str) -> list[str]:
    """The parts between commas and plus signs; one that belongs to a product's name parts nothing.

    Far more parts than a machine has devices are cut off: those that are left are too many as well.
    """
    words = re.split(r"([,+])", text)[: 8 * MAX_COUNT]
    found, start = [], 0
    while start < len(words):
        ends = range(start + 1 + 2 * _MARKS_IN_A_NAME, start + 1, -2)
        end = next((end for end in ends if _is_machine("".join(words[start:end]))), start + 1)
        found.append("".join(words[start:end]).strip())
        start = end + 1
    return [part for part in found if part]


def _is_machine(text: str) -> bool:
    if len(text) > MAX_NAME:
        return False
    return _exact(_counted(text.strip())[1]) is not None


def custom_device(memory_bytes: int) -> Device:
    """A GPU known only by the memory its owner states."""
    return Device(
        slug="custom",
        name=f"GPU with {units.size(memory_bytes)}",
        vendor="other",
        device_class="custom",
        memory_bytes=memory_bytes,
        memory_grade="user",
        source="as entered",
    )


def cpu_device(ram_bytes: int, *, platform: Device | None = None, bandwidth_bytes_per_s: float | None = None) -> Device:
    """A machine without a GPU: its main memory, and the bandwidth given, else that of its CPU `platform` where it is known."""
    return Device(
        slug=platform.slug if platform else "cpu",
        name=platform.name if platform else f"CPU with {units.size(ram_bytes)}",
        vendor="CPU",
        device_class="cpu",
        memory_bytes=ram_bytes,
        memory_grade="user",
        bandwidth_bytes_per_s=bandwidth_bytes_per_s or (platform.bandwidth_bytes_per_s if platform else None),
        source=platform.source if platform else "as entered",
        checked=platform.checked if platform else "",
    )


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name[:MAX_NAME].lower())


def _keys(name: str) -> tuple[str, str]:
    """The name without separators, as it stands and without family words."""
    words = _words(name)
    return "".join(words), "".join(word for word in words if word not in _FAMILY_WORDS)


@cache
def _slugs_by_key() -> Mapping[str, str]:
    index: dict[str, str] = {}
    seen: set[str] = set()
    for each, aliases in _all_devices():
        if each.slug in seen:
            raise InputError(f"{each.slug} is in the catalogue already: choose another slug.", field="device")
        seen.add(each.slug)
        for name in (each.slug, each.name, *aliases):
            for key in _keys(name):
                if index.setdefault(key, each.slug) != each.slug:
                    raise InputError(f"“{name}” names both {index[key]} and {each.slug}: give each its own name.", field="device")
    return index


def _own_words(each: Device) -> set[str]:
    return {each.vendor.lower(), *_words(each.slug), *_words(each.name)}


def _exact(name: str) -> str | None:
    if len(name) > MAX_NAME:
        return None
    family = _FAMILY_WORDS.intersection(_words(name))
    for key in _keys(name):
        slug = _slugs_by_key().get(key)
        if slug is not None and family <= _own_words(devices()[slug]):
            return slug
    return None


def _sharing(name: str) -> list[str]:
    """Slugs of the devices whose names hold every word of `name`, or else hold it somewhere inside."""
    words = set(_words(name)) - _FAMILY_WORDS
    if not words or len(name) > MAX_NAME:
        return []
    by_words = [each.slug for each in devices().values() if words <= _own_words(each)]
    wanted = _keys(name)[1]
    inside = {slug for key, slug in _slugs_by_key().items() if wanted in key} if len(wanted) > 2 else set()
    return by_words or [slug for slug in devices() if slug in inside]
