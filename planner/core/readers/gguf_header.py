"""The head of a GGUF file: its metadata and tensor table, from the first bytes alone, whatever those bytes are.

Layout: magic, version, counts of tensors and values; then the values (key, type, value) and the tensors (name, sizes, type,
offset), all little-endian. Source: ggml docs/gguf.md (version 3); llama.cpp b11434 ggml/src/gguf.cpp.
"""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from planner.core.precision import GGML_BLOCKS
from planner.core.readers.gguf_metadata import GgufError, shown
from planner.core.units import KIB, MIB

FIRST_BYTES: Final = 2 * MIB
MAX_HEAD_BYTES: Final = 64 * MIB

MAX_VALUES: Final = 65_536
MAX_TENSORS: Final = 262_144
MAX_ARRAY_ENTRIES: Final = 4 * 2**20
MAX_KEY_BYTES: Final = 65_535
MAX_TEXT_BYTES: Final = 64 * KIB
KEPT_ARRAY_ENTRIES: Final = 4_096
MAX_DIMENSIONS: Final = 4
MAX_ELEMENTS: Final = 2**50

_STRING: Final = 8
_ARRAY: Final = 9
_BOOLEAN: Final = 7
_NUMBERS: Final = {
    kind: struct.Struct(f"<{letter}")
    for kind, letter in {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOLEAN: "B", 10: "Q", 11: "q", 12: "d"}.items()
}
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")

# Source: ggml/include/ggml.h, enum ggml_type.
TENSOR_TYPES: Final = {
    0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 9: "q8_1",
    10: "q2_k", 11: "q3_k", 12: "q4_k", 13: "q5_k", 14: "q6_k", 15: "q8_k", 16: "iq2_xxs", 17: "iq2_xs", 18: "iq3_xxs", 19: "iq1_s",
    20: "iq4_nl", 21: "iq3_s", 22: "iq2_s", 23: "iq4_xs", 24: "i8", 25: "i16", 26: "i32", 27: "i64", 28: "f64", 29: "iq1_m",
    30: "bf16", 34: "tq1_0", 35: "tq2_0", 39: "mxfp4", 40: "nvfp4", 41: "q1_0",
}  # fmt: skip
# Source: llama.cpp b11434 include/llama.h, enum llama_ftype.
FILE_FORMATS: Final = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L",
    14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16",
    36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4_MOE", 39: "NVFP4", 40: "Q1_0",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A value that was not kept: a long array (a vocabulary) or text (a chat template), known by its length alone."""

    skipped: int

    def __len__(self) -> int:
        return self.skipped


@dataclass(frozen=True, slots=True)
class Tensor:
    """One entry of the table. `dimensions` in the file's order: the first is the row."""

    name: str
    dimensions: tuple[int, ...]
    type: str
    size_bytes: int

    @property
    def elements(self) -> int:
        return math.prod(self.dimensions)


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """`head_bytes` is where the table ends. Of a split file, `tensors` are those of this part, and `parts` says of how many."""

    version: int
    metadata: Mapping[str, object]
    tensors: tuple[Tensor, ...]
    head_bytes: int

    @property
    def tensor_bytes(self) -> int:
        return sum(tensor.size_bytes for tensor in self.tensors)

    @property
    def parameters(self) -> int:
        return sum(tensor.elements for tensor in self.tensors)

    @property
    def expert_bytes(self) -> int:
        """Bytes of the routed experts, of which a token reads a part. Source: src/llama-arch.cpp, the names ending in `_exps`."""
        return sum(tensor.size_bytes for tensor in self.tensors if "_exps." in tensor.name)

    @property
    def parts(self) -> int:
        count = self.metadata.get("split.count")
        return count if isinstance(count, int) and 1 < count <= 10_000 else 1

    @property
    def format(self) -> str | None:
        """What the file calls its format, `Q4_K_M` or the like; None when it does not say."""
        kind = self.metadata.get("general.file_type")
        return FILE_FORMATS.get(kind) if isinstance(kind, int) else None


@dataclass(frozen=True, slots=True)
class Incomplete:
    """The head goes on: read the file's first `wanted_bytes` bytes and try again."""

    wanted_bytes: int


class _TooShortError(Exception):
    """The bytes end before what was asked for; it ends at `wanted`."""

    def __init__(self, wanted: int) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class _Cursor:
    """Reads on through the bytes. Every length is checked before it is used; entries of arrays are counted over the whole head."""

    def __init__(self, head: bytes) -> None:
        self.head = head
        self.position = 0
        self.entries = 0

    def skip(self, size: int) -> int:
        """Moves past `size` bytes and returns where they began."""
        start = self.position
        if start + size > MAX_HEAD_BYTES:
            raise GgufError(f"The head of this GGUF file claims more than {MAX_HEAD_BYTES // MIB} MiB: it is damaged, or no model.")
        if start + size > len(self.head):
            raise _TooShortError(start + size)
        self.position = start + size
        return start

    def u32(self) -> int:
        return int(_U32.unpack_from(self.head, self.skip(4))[0])

    def u64(self) -> int:
        return int(_U64.unpack_from(self.head, self.skip(8))[0])

    def number(self, kind: int) -> int | float | bool | None:
        reader = _NUMBERS[kind]
        value: int | float = reader.unpack_from(self.head, self.skip(reader.size))[0]
        if kind == _BOOLEAN:
            return bool(value)
        return value if isinstance(value, int) or math.isfinite(value) else None

    def key(self) -> str:
        size = self.u64()
        if not 1 <= size <= MAX_KEY_BYTES:
            raise GgufError(f"A name in this GGUF file claims {size:,} bytes: it is damaged.")
        start = self.skip(size)
        return self.head[start : start + size].decode("utf-8", "replace")

    def text(self) -> str | PassedOver:
        size = self.u64()
        start = self.skip(size)
        return PassedOver(size) if size > MAX_TEXT_BYTES else self.head[start : start + size].decode("utf-8", "replace")

    def array(self) -> list[object] | PassedOver:
        """Numbers of short arrays; longer ones and all texts are passed over."""
        kind, count = self.u32(), self.u64()
        self.entries += count
        if self.entries > MAX_ARRAY_ENTRIES:
            raise GgufError(f"The arrays of this GGUF file claim {self.entries:,} entries: it is damaged.")
        if kind == _ARRAY:
            raise GgufError("This GGUF file has arrays within arrays, which llama.cpp does not read either.")
        if kind == _STRING:
            self._skip_texts(count)
            return PassedOver(count)
        _require_known(kind)
        if count > KEPT_ARRAY_ENTRIES:
            self.skip(count * _NUMBERS[kind].size)
            return PassedOver(count)
        return [self.number(kind) for _ in range(count)]

    def _skip_texts(self, count: int) -> None:
        """Past `count` texts. Written out because a vocabulary has hundreds of thousands."""
        unpack, head, position, end = _U64.unpack_from, self.head, self.position, len(self.head) - 8
        for _ in range(count):
            if position > end:
                self.position = position
                self.skip(8)
            position += 8 + unpack(head, position)[0]
        self.skip(position - self.position)

    def value(self) -> object:
        kind = self.u32()
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self.array()
        _require_known(kind)
        return self.number(kind)


def _require_known(kind: int) -> None:
    if kind not in _NUMBERS:
        raise GgufError(
            f"This GGUF file has a value of type {kind:,}, which the format does not have: it is damaged or newer than this reader."
        )


def _counts(cursor: _Cursor) -> tuple[int, int, int]:
    """(version, tensors, values). Refuses what is no GGUF file, the first version, a newer one and the other byte order."""
    start = cursor.skip(4)
    if cursor.head[start : start + 4] != b"GGUF":
        raise GgufError("This is not a GGUF file: it does not begin with “GGUF”.")
    version = cursor.u32()
    if version and not version & 0xFFFF:
        raise GgufError("This GGUF file is big-endian: convert it to little-endian first, as llama.cpp needs on common machines.")
    if version not in {2, 3}:
        age = "is no longer read by llama.cpp: convert the model again" if version == 1 else "is not known here: versions 2 and 3 are"
        raise GgufError(f"Version {version:,} of GGUF {age}.")
    tensors, values = cursor.u64(), cursor.u64()
    if tensors > MAX_TENSORS or values > MAX_VALUES:
        raise GgufError(f"This GGUF file claims {tensors:,} tensors and {values:,} values: it is damaged.")
    return version, tensors, values


def _tensor(cursor: _Cursor) -> Tensor:
    name = cursor.key()
    rank = cursor.u32()
    if rank > MAX_DIMENSIONS:
        raise GgufError(f"A tensor of this GGUF file claims {rank:,} dimensions: there are at most {MAX_DIMENSIONS}.")
    dimensions = tuple(cursor.u64() for _ in range(rank))
    kind = cursor.u32()
    cursor.skip(8)
    if kind not in TENSOR_TYPES:
        raise GgufError(f"This GGUF file has tensors of type {kind:,}, whose size is not known here: give the size of the weights.")
    elements = math.prod(dimensions)
    block, block_bytes = GGML_BLOCKS[TENSOR_TYPES[kind]]
    if not 0 < elements <= MAX_ELEMENTS or (dimensions[:1] and dimensions[0] % block):
        raise GgufError(
            f"A tensor of this GGUF file has sizes that its type does not allow ({' × '.join(map(str, dimensions))}): it is damaged."
        )
    return Tensor(name, dimensions, TENSOR_TYPES[kind], elements // block * block_bytes)


def _header(head: bytes) -> GgufHeader:
    cursor = _Cursor(head)
    version, tensor_count, value_count = _counts(cursor)
    metadata: dict[str, object] = {}
    for _ in range(value_count):
        key = cursor.key()
        if key in metadata:
            raise GgufError(f"This GGUF file has the key {shown(key)} twice: it is damaged, and llama.cpp refuses it.")
        metadata[key] = cursor.value()
    tensors = tuple(_tensor(cursor) for _ in range(tensor_count))
    return GgufHeader(version, metadata, tensors, cursor.position)


def parse_gguf(head: bytes, *, file_bytes: int | None = None) -> GgufHeader | Incomplete:
    """The header in `head`, the first bytes of a file; or how many of them are needed: twice as many, or more where that is clear.

    `file_bytes` is the file's whole length where it is known. Raises GgufError for what is no GGUF file or a damaged one.
    """
    try:
        return _header(head)
    except _TooShortError as short:
        if file_bytes is not None and short.wanted > file_bytes:
            raise GgufError("This GGUF file ends in the middle of its own head: it was not downloaded or copied to its end.") from None
        wanted = min(max(FIRST_BYTES, 2 * len(head), short.wanted), MAX_HEAD_BYTES)
        return Incomplete(wanted if file_bytes is None else min(wanted, file_bytes))


def read_gguf(read: Callable[[int, int], bytes], *, file_bytes: int | None = None) -> GgufHeader:
    """The header of a file that `read(start, size)` gives parts of, never of more than the head: 2 MiB first, then as much again.

    Raises GgufError as `parse_gguf` does, and when the file ends early.
    """
    head = b""
    wanted = FIRST_BYTES if file_bytes is None else min(FIRST_BYTES, file_bytes)
    while True:
        head += read(len(head), wanted - len(head))[: wanted - len(head)]
        found = parse_gguf(head, file_bytes=len(head) if len(head) < wanted else file_bytes)
        if isinstance(found, GgufHeader):
            return found
        wanted = found.wanted_bytes
