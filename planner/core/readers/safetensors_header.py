"""The table of contents of a safetensors file: bytes in, tensors and their exact sizes out.

Layout: 8 bytes little-endian length of the header, the header as JSON (name → dtype, shape, data_offsets from the end of
the header), then the tensors' bytes without gaps. Source: safetensors 0.6 safetensors/src/tensor.rs, Metadata::validate.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeGuard

from planner.core import units
from planner.core.errors import InputError

LENGTH_BYTES: Final = 8
# The library itself refuses headers above 100 MB; the largest published ones (models of thousands of experts) take 20 MB.
MAX_HEADER_BYTES: Final = 32 * 2**20
MAX_TENSORS: Final = 400_000
MAX_RANK: Final = 16
MAX_FILE_BYTES: Final = 2**50

BITS: Final = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32,
    "U64": 64, "I64": 64, "F64": 64, "C64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's place: its bytes lie in [start, end) after the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class SafetensorsTable:
    """The tensors of one file. `header_bytes` is where their bytes begin."""

    tensors: Mapping[str, Tensor]
    header_bytes: int

    @property
    def tensor_bytes(self) -> int:
        return sum(tensor.size_bytes for tensor in self.tensors.values())

    @property
    def file_bytes(self) -> int:
        return self.header_bytes + self.tensor_bytes


def header_length(head: bytes, *, name: str = "This safetensors file") -> int:
    """Bytes from the start of the file to its first tensor, from its first 8 bytes. Raises InputError for an impossible length."""
    if len(head) < LENGTH_BYTES:
        raise _broken(name, "it ends before its header")
    length = int.from_bytes(head[:LENGTH_BYTES], "little")
    if length < 2:
        raise _broken(name, "its header is empty")
    if length > MAX_HEADER_BYTES:
        raise _broken(name, f"its header claims {units.size(min(length, 2**60))}, more than {units.size(MAX_HEADER_BYTES)}")
    return LENGTH_BYTES + length


def read_header(head: bytes, *, file_bytes: int | None = None, name: str = "This safetensors file") -> SafetensorsTable:
    """The table in `head`, which must hold the whole header; what follows it is not looked at.

    `file_bytes` is the size of the file where it is known: the tensors must fill it exactly. Raises InputError in one sentence
    for a header that is cut short, is not what the format allows, or whose ranges overlap, leave holes or belie the shapes.
    """
    end = header_length(head, name=name)
    if len(head) < end:
        raise _broken(name, f"only {len(head):,} of its header's {end:,} bytes are there")
    table = SafetensorsTable(_tensors(_object(head[LENGTH_BYTES:end], name), name), end)
    if file_bytes is not None and file_bytes != table.file_bytes:
        raise _broken(name, f"its header describes {table.file_bytes:,} bytes and the file has {file_bytes:,}")
    return table


def table_of(header: Mapping[str, object], *, header_bytes: int, name: str) -> SafetensorsTable:
    """The table of a header that was parsed elsewhere. Raises InputError as `read_header` does."""
    return SafetensorsTable(_tensors(header, name), header_bytes)


def _broken(name: str, why: str) -> InputError:
    return InputError(f"{name} cannot be used: {why}. Give the size of the weights instead.", field="weights_size")


def _object(text: bytes, name: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _broken(name, "its header is not JSON") from None
    if not isinstance(value, dict):
        raise _broken(name, "its header is not a JSON object")
    return value


def _tensors(header: Mapping[str, object], name: str) -> dict[str, Tensor]:
    entries = {key: value for key, value in header.items() if key != "__metadata__"}
    if len(entries) > MAX_TENSORS:
        raise _broken(name, f"it lists more than {MAX_TENSORS:,} tensors")
    tensors = {key: _tensor(key, value, name) for key, value in entries.items()}
    position = 0
    for key, tensor in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].end)):
        if tensor.start != position:
            what = "overlaps the one before it" if tensor.start < position else "leaves a hole before it"
            raise _broken(name, f"tensor {_short(key)} {what}")
        position = tensor.end
    return tensors


def _tensor(key: str, value: object, name: str) -> Tensor:
    entry = value if isinstance(value, dict) else {}
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in BITS:
        raise _broken(name, f"tensor {_short(key)} has the unknown type {_short(dtype)}")
    if not _whole_numbers(shape) or len(shape) > MAX_RANK:
        raise _broken(name, f"tensor {_short(key)} has no proper shape")
    if not _whole_numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _broken(name, f"tensor {_short(key)} has no proper range of bytes")
    start, end = offsets
    bits = math.prod(shape) * BITS[dtype]
    if bits % 8 or bits // 8 != end - start:
        raise _broken(name, f"tensor {_short(key)} takes {end - start:,} bytes where its shape and type need {min(bits // 8, 2**63):,}")
    return Tensor(dtype, tuple(shape), start, end)


def _whole_numbers(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and 0 <= item <= MAX_FILE_BYTES for item in value)


def _short(value: object) -> str:
    return f"“{' '.join(str(value).split())[:60]}”"
