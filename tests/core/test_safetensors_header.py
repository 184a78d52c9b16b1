"""The safetensors table: exact sizes, and one sentence for every header that lies."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InputError
from planner.core.readers.safetensors_header import BITS, MAX_HEADER_BYTES, header_length, read_header


def file_of(header: Any) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text


def entry(start: int, end: int, shape: list[int] | None = None, dtype: str = "BF16") -> dict[str, Any]:
    return {"dtype": dtype, "shape": [(end - start) // 2] if shape is None else shape, "data_offsets": [start, end]}


TWO = {"__metadata__": {"format": "pt"}, "a": entry(0, 16, [2, 4]), "b": entry(16, 20)}


def test_the_table_gives_every_tensor_and_the_sum_of_the_ranges() -> None:
    head = file_of(TWO)
    table = read_header(head + b"\0" * 20, file_bytes=len(head) + 20)
    assert set(table.tensors) == {"a", "b"}
    assert table.tensors["a"].shape == (2, 4)
    assert table.tensor_bytes == 20
    assert (table.header_bytes, table.file_bytes) == (len(head), len(head) + 20)


def test_the_order_of_names_is_not_the_order_of_bytes() -> None:
    assert read_header(file_of({"z": entry(0, 4), "a": entry(4, 8)})).tensor_bytes == 8


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    # Packed types: four weights of 4 bits take two bytes; a scalar has an empty shape; an empty tensor takes nothing.
    [("F8_E4M3", [3, 5], 15), ("F4", [4], 2), ("F32", [], 4), ("BF16", [0, 7], 0), ("U8", [128, 2880, 16], 5_898_240)],
)
def test_sizes_follow_from_type_and_shape(dtype: str, shape: list[int], size: int) -> None:
    assert read_header(file_of({"t": entry(0, size, shape, dtype)})).tensor_bytes == size


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ({"a": entry(0, 8), "b": entry(4, 12)}, "overlaps"),
        ({"a": entry(0, 8), "b": entry(10, 12)}, "hole"),
        ({"a": entry(4, 8)}, "hole"),
        ({"a": entry(-4, 8)}, "proper range"),
        ({"a": entry(8, 4, [2])}, "proper range"),
        ({"a": {**entry(0, 8), "data_offsets": [0, 2**60]}}, "proper range"),
        ({"a": {**entry(0, 8), "data_offsets": [0]}}, "proper range"),
        ({"a": {**entry(0, 8), "data_offsets": [0, True]}}, "proper range"),
        ({"a": {**entry(0, 8), "data_offsets": [0.0, 8.0]}}, "proper range"),
        ({"a": entry(0, 8, [5])}, "takes 8 bytes where its shape and type need 10"),
        ({"a": entry(0, 8, [2**40, 2**40, 2**40])}, "its shape and type need"),
        ({"a": entry(0, 8, [-4])}, "no proper shape"),
        ({"a": entry(0, 8, [1] * 20)}, "no proper shape"),
        ({"a": entry(0, 1, [3], "F4")}, "takes 1 bytes"),
        ({"a": entry(0, 8, dtype="Q4_K")}, "unknown type “Q4_K”"),
        ({"a": entry(0, 8, dtype="x" * 10_000)}, "unknown type"),
        ({"a": "tensor"}, "unknown type"),
        ([], "not a JSON object"),
        (b'{"a":', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
    ],
)
def test_a_header_that_lies_is_refused_in_a_sentence(header: Any, sentence: str) -> None:
    with pytest.raises(InputError, match="Give the size of the weights instead") as refused:
        read_header(file_of(header))
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 300
    assert refused.value.field == "weights_size"


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (b"", "ends before its header"),
        (b"\x10\0\0", "ends before its header"),
        ((0).to_bytes(8, "little"), "header is empty"),
        ((100_000_001).to_bytes(8, "little"), "claims 95.37 MiB"),
        ((2**64 - 1).to_bytes(8, "little"), "more than 32 MiB"),
    ],
)
def test_the_length_is_bounded_before_anything_is_read(head: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        header_length(head)


def test_a_header_that_is_not_all_there_is_no_table() -> None:
    with pytest.raises(InputError, match=r"only 20 of its header's \d+ bytes"):
        read_header(file_of(TWO)[:20])


@pytest.mark.parametrize("extra", [-1, 1, 4096])
def test_a_file_that_is_cut_or_padded_is_not_taken_for_whole(extra: int) -> None:
    head = file_of(TWO)
    with pytest.raises(InputError, match=r"describes .* bytes and the file has"):
        read_header(head, file_bytes=len(head) + 20 + extra)


def test_the_largest_header_accepted_is_bounded() -> None:
    assert header_length(MAX_HEADER_BYTES.to_bytes(8, "little")) == MAX_HEADER_BYTES + 8
    with pytest.raises(InputError):
        header_length((MAX_HEADER_BYTES + 1).to_bytes(8, "little"))


@given(st.binary(max_size=400))
def test_any_bytes_are_a_table_or_a_refusal(head: bytes) -> None:
    try:
        table = read_header(head)
    except InputError:
        return
    assert table.tensor_bytes >= 0


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets", "a"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(_ANY)
def test_any_json_is_a_table_or_a_refusal(header: object) -> None:
    try:
        table = read_header(file_of(header))
    except InputError:
        return
    assert table.tensor_bytes >= 0


@given(st.lists(st.tuples(st.sampled_from(sorted(BITS)), st.lists(st.integers(0, 9), max_size=3)), max_size=8))
def test_what_was_written_is_what_is_read(tensors: list[tuple[str, list[int]]]) -> None:
    header, position = {}, 0
    for index, (dtype, shape) in enumerate(tensors):
        bits = BITS[dtype]
        for size in shape:
            bits *= size
        if bits % 8:
            continue
        header[f"t{index}"] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + bits // 8]}
        position += bits // 8
    table = read_header(file_of(header))
    assert table.tensor_bytes == position
    assert {name: list(tensor.shape) for name, tensor in table.tensors.items()} == {name: value["shape"] for name, value in header.items()}
