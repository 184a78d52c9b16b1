"""The weights that a repository on the Hub holds: the checkpoint by its tensor headers, GGUF formats by their files."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from planner.core.errors import InputError
from planner.core.model_shape import ModelShape
from planner.core.readers.parameters import ParameterCount
from planner.core.readers.safetensors_header import MAX_HEADER_BYTES, SafetensorsTable, header_length, read_header, table_of
from planner.core.readers.tensor_parts import tensor_parts
from planner.core.readers.weight_files import FileGroup, gguf_groups, projectors
from planner.core.weights import WeightLine, Weights, checkpoint_file_weights, checkpoint_format, measured_weights

# Nearly every header fits in the first read; the rest takes a second.
HEAD_BYTES: Final = 128 * 2**10
HEADS_AT_ONCE: Final = 8
# Beyond this many files their headers are not read one by one: their sizes say the same to a few hundredths of a percent.
MAX_HEADS: Final = 96

# (file name, first byte, byte after the last) → those bytes
Read = Callable[[str, int, int], bytes]


def collected_tables(headers: object, sizes: Mapping[str, int]) -> tuple[SafetensorsTable, ...] | None:
    """The tables in headers that came in one answer, None where they do not fit the files of this commit.

    That answer is always about main, so each header must describe a file of the size that is wanted.
    """
    if not isinstance(headers, dict) or headers.keys() != sizes.keys() or not all(isinstance(header, dict) for header in headers.values()):
        return None
    try:
        tables = tuple(table_of(headers[name], header_bytes=0, name=name) for name in sizes)
    except InputError:
        return None
    before = [sizes[name] - table.tensor_bytes for name, table in zip(sizes, tables, strict=True)]
    return tables if all(8 < header <= MAX_HEADER_BYTES + 8 for header in before) else None


def file_tables(sizes: Mapping[str, int], read: Read) -> tuple[SafetensorsTable, ...] | None:
    """The tables of files, one or two ranged reads each; None where there are too many files for that."""
    if len(sizes) > MAX_HEADS:
        return None
    with ThreadPoolExecutor(HEADS_AT_ONCE) as pool:
        return tuple(pool.map(lambda name: _file_table(name, sizes[name], read), sizes))


def _file_table(name: str, size: int, read: Read) -> SafetensorsTable:
    head = read(name, 0, min(size, HEAD_BYTES)) if size else b""
    end = header_length(head, name=name)
    if len(head) < end <= size:
        head += read(name, len(head), end)
    return read_header(head, file_bytes=size, name=name)


def checkpoint(
    tables: tuple[SafetensorsTable, ...] | None, sizes: Mapping[str, int], *, shape: ModelShape, parameters: ParameterCount | None
) -> Weights:
    """The checkpoint's own weights: the sum of the byte ranges in its headers, or of its files where those were not read."""
    files = f"{len(sizes)} safetensors file{'s' if len(sizes) > 1 else ''} on the Hub"
    quant = checkpoint_format(shape)
    if tables is None:
        line = WeightLine("model", sum(sizes.values()))
        return measured_weights((line,), quant=quant, source=f"sizes of {files}", parameters=parameters)
    parts = tensor_parts(tables, layers=len(shape.layers))
    return checkpoint_file_weights(parts, quant=quant, source=f"tensor headers of {files}", shape=shape)


def gguf_weights(sizes: Mapping[str, int], *, parameters: ParameterCount | None) -> tuple[Weights, ...]:
    """The GGUF formats in a repository, smallest first, each with the repository's image encoder (mmproj) as a line of its own."""
    encoders = projectors(sizes)[:1]
    return tuple(_gguf(group, encoders, parameters) for group in gguf_groups(sizes) if group.quant)


def _gguf(group: FileGroup, encoders: tuple[FileGroup, ...], parameters: ParameterCount | None) -> Weights:
    lines = (WeightLine("model", group.size_bytes), *(WeightLine(f"image encoder ({file.names[0]})", file.size_bytes) for file in encoders))
    more = f" and {len(group.names) - 1} more" if len(group.names) > 1 else ""
    return measured_weights(lines, quant=group.quant, source=f"size of {group.names[0]}{more} on the Hub", parameters=parameters)
