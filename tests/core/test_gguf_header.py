"""The head of a GGUF file: what the `gguf` package writes comes back, and what lies is refused in bounded memory and time."""

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.precision import GGML_BLOCKS
from planner.core.readers.gguf_header import (
    FIRST_BYTES,
    MAX_HEAD_BYTES,
    TENSOR_TYPES,
    GgufHeader,
    Incomplete,
    PassedOver,
    parse_gguf,
    read_gguf,
)
from planner.core.readers.gguf_metadata import GgufError
from planner.core.readers.gguf_shape import read_gguf_shape
from planner.core.units import MIB

VOCABULARY = 150_000


def written(path: Path, *, vocabulary: int = 8, merges: int = 4) -> bytes:
    writer = gguf.GGUFWriter(path, "qwen3moe")
    writer.add_block_count(2)
    writer.add_context_length(40_960)
    writer.add_embedding_length(256)
    writer.add_head_count(4)
    writer.add_head_count_kv([2, 2])
    writer.add_key_length(64)
    writer.add_value_length(64)
    writer.add_expert_count(4)
    writer.add_expert_used_count(2)
    writer.add_rope_freq_base(1e6)
    writer.add_file_type(15)
    writer.add_token_list([f"token {number}" for number in range(vocabulary)])
    writer.add_token_scores([0.5] * vocabulary)
    writer.add_token_merges([f"a {number}" for number in range(merges)])
    writer.add_add_bos_token(value=True)
    writer.add_tensor("token_embd.weight", np.zeros((8, 256), dtype=np.float16))
    writer.add_tensor("blk.0.ffn_up_exps.weight", np.zeros((4, 32, 256), dtype=np.float32))
    writer.add_tensor("blk.0.attn_k.weight", np.zeros((2, 144), dtype=np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


class Parts:
    """A file of which only parts are read, and how far."""

    def __init__(self, file: bytes) -> None:
        self.file = file
        self.read_to = 0

    def __call__(self, start: int, size: int) -> bytes:
        self.read_to = max(self.read_to, start + size)
        return self.file[start : start + size]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("gguf") / "small.gguf")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A vocabulary as real models have it, and 40 MB of weights behind it."""
    return written(tmp_path_factory.mktemp("gguf") / "large.gguf", vocabulary=VOCABULARY, merges=2 * VOCABULARY) + bytes(40 * MIB)


def header(file: bytes) -> GgufHeader:
    found = parse_gguf(file)
    assert isinstance(found, GgufHeader)
    return found


def test_what_the_gguf_package_writes_comes_back(small: bytes) -> None:
    found = header(small)
    assert found.version == 3
    assert found.format == "Q4_K_M"
    assert found.parts == 1
    assert found.metadata["general.architecture"] == "qwen3moe"
    assert found.metadata["qwen3moe.attention.head_count_kv"] == [2, 2]
    assert found.metadata["qwen3moe.rope.freq_base"] == 1e6
    assert found.metadata["tokenizer.ggml.add_bos_token"] is True
    assert found.metadata["tokenizer.ggml.tokens"] == PassedOver(8)
    assert [(tensor.name, tensor.dimensions, tensor.type, tensor.size_bytes) for tensor in found.tensors] == [
        ("token_embd.weight", (256, 8), "f16", 4096),
        ("blk.0.ffn_up_exps.weight", (256, 32, 4), "f32", 131_072),
        ("blk.0.attn_k.weight", (256, 2), "q4_k", 288),
    ]
    assert (found.tensor_bytes, found.expert_bytes) == (4096 + 131_072 + 288, 131_072)
    shape = read_gguf_shape(found.metadata)
    assert (shape.model_type, len(shape.layers), shape.vocab_size, shape.layers[0].stores[0].heads) == ("qwen3moe", 2, 8, 2)


def test_a_real_vocabulary_is_passed_over_and_the_weights_are_never_read(large: bytes) -> None:
    parts = Parts(large)
    found = read_gguf(parts, file_bytes=len(large))
    assert found.metadata["tokenizer.ggml.tokens"] == PassedOver(VOCABULARY)
    assert found.metadata["tokenizer.ggml.scores"] == PassedOver(VOCABULARY)
    assert read_gguf_shape(found.metadata).vocab_size == VOCABULARY
    assert found.head_bytes <= parts.read_to <= 2 * found.head_bytes + FIRST_BYTES < len(large)


def test_a_short_head_says_how_much_of_the_file_it_wants(large: bytes) -> None:
    assert parse_gguf(b"") == Incomplete(FIRST_BYTES)
    assert parse_gguf(large[:100]) == Incomplete(FIRST_BYTES)
    assert parse_gguf(large[:FIRST_BYTES]) == Incomplete(2 * FIRST_BYTES)


def test_every_truncation_of_a_file_is_incomplete_or_ends_early(small: bytes) -> None:
    end = header(small).head_bytes
    for size in range(0, end, 7):
        assert isinstance(parse_gguf(small[:size]), Incomplete)
        with pytest.raises(GgufError, match="ends in the middle"):
            parse_gguf(small[:size], file_bytes=size)
        with pytest.raises(GgufError, match="ends in the middle"):
            read_gguf(Parts(small[:size]))


def string(text: bytes, size: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if size is None else size) + text


def head(*values: bytes, tensors: bytes = b"", tensor_count: int = 0, value_count: int | None = None, version: int = 3) -> bytes:
    return (
        b"GGUF"
        + struct.pack("<IQQ", version, tensor_count, len(values) if value_count is None else value_count)
        + b"".join(values)
        + tensors
    )


def value(kind: int, content: bytes, key: bytes = b"llama.block_count") -> bytes:
    return string(key) + struct.pack("<I", kind) + content


def array(kind: int, count: int, content: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + content


def tensor(*sizes: int, kind: int = 0, rank: int | None = None, name: bytes = b"token_embd.weight") -> bytes:
    dimensions = b"".join(struct.pack("<Q", size) for size in sizes)
    return string(name) + struct.pack("<I", len(sizes) if rank is None else rank) + dimensions + struct.pack("<IQ", kind, 0)


LIES = {
    "another file": (b"PK\x03\x04" + bytes(100), "not a GGUF file"),
    "a page of HTML": (b"<!DOCTYPE html><html>", "not a GGUF file"),
    "the first version": (b"GGUF" + struct.pack("<III", 1, 1, 1), "no longer read by llama.cpp"),
    "a version to come": (head(version=4), "Version 4"),
    "the other byte order": (b"GGUF" + struct.pack(">IQQ", 3, 1, 1), "big-endian"),
    "2^60 values": (head(value_count=2**60), "claims"),
    "2^60 tensors": (head(tensor_count=2**60), "claims"),
    "a key of 2^60 bytes": (head(string(b"x", 2**60)), "claims 1,152,921,504,606,846,976 bytes"),
    "an empty key": (head(string(b"") + struct.pack("<II", 4, 1)), "claims 0 bytes"),
    "a text of 2^60 bytes": (head(value(8, string(b"x", 2**60))), "more than 64 MiB"),
    "an array of 2^60 numbers": (head(value(9, array(4, 2**60))), "entries"),
    "an array of 2^60 texts": (head(value(9, array(8, 2**60))), "entries"),
    "a text in an array of 2^63 bytes": (head(value(9, array(8, 2, string(b"", 2**63)))), "more than 64 MiB"),
    "arrays within arrays": (head(value(9, array(9, 1, array(4, 1, bytes(4))))), "arrays within arrays"),
    "a value of no known type": (head(value(13, b"")), "type 13"),
    "an array of no known type": (head(value(9, array(99, 1))), "type 99"),
    "the same key twice": (head(value(4, bytes(4)), value(4, bytes(4))), "twice"),
    "a tensor of a million dimensions": (head(tensors=tensor(rank=10**6), tensor_count=1), "1,000,000 dimensions"),
    "a tensor of 2^256 elements": (head(tensors=tensor(*[2**64 - 1] * 4), tensor_count=1), "does not allow"),
    "a tensor of no elements": (head(tensors=tensor(0, 8), tensor_count=1), "does not allow"),
    "a row that is no multiple of its block": (head(tensors=tensor(100, 8, kind=12), tensor_count=1), "does not allow"),
    "a tensor of no known type": (head(tensors=tensor(32, kind=4), tensor_count=1), "type 4"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_head_is_refused_in_a_sentence(lie: str) -> None:
    file, sentence = LIES[lie]
    with pytest.raises(GgufError, match=sentence) as refused:
        read_gguf(Parts(file + bytes(64)))
    assert refused.value.field == "gguf"
    assert str(refused.value).isprintable()


def test_the_second_version_reads_like_the_third(small: bytes) -> None:
    second = header(small[:4] + struct.pack("<I", 2) + small[8:])
    assert second.metadata == header(small).metadata


def test_a_head_without_end_stops_at_its_limit() -> None:
    beginning = head(value(9, array(8, 2**21)))
    endless = Parts(beginning + struct.pack("<Q", 56).ljust(64, b"x") * (MAX_HEAD_BYTES // 64 + 1))
    with pytest.raises(GgufError, match="more than 64 MiB"):
        read_gguf(endless)
    assert endless.read_to == MAX_HEAD_BYTES


def test_long_texts_and_numbers_that_are_none_are_not_kept() -> None:
    found = header(head(
        value(8, string(b"x" * 70_000), b"tokenizer.chat_template"), value(6, struct.pack("<f", float("nan")), b"a"),
        value(12, struct.pack("<d", float("inf")), b"b"), value(8, string(b"\xff\xfe"), b"c"),
    ))  # fmt: skip
    assert found.metadata == {"tokenizer.chat_template": PassedOver(70_000), "a": None, "b": None, "c": "\ufffd\ufffd"}


def test_a_part_of_a_split_model_says_of_how_many() -> None:
    assert header(head(value(2, struct.pack("<H", 5), b"split.count"))).parts == 5
    assert header(head(value(2, struct.pack("<H", 0), b"split.count"))).parts == 1


def test_every_tensor_type_of_the_gguf_package_has_the_same_size_here() -> None:
    theirs = {kind.value: (kind.name.lower(), gguf.GGML_QUANT_SIZES[kind]) for kind in gguf.GGMLQuantizationType}
    assert {number: (name, GGML_BLOCKS[name]) for number, name in TENSOR_TYPES.items()} == theirs


@given(st.binary(max_size=400), st.integers(0, 400))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_header_or_a_refusal(noise: bytes, cut: int) -> None:
    for file in (noise, head(value_count=3) + noise, head(value(9, noise), tensors=noise, tensor_count=2)[: cut or None]):
        try:
            found = read_gguf(Parts(file))
        except GgufError:
            continue
        assert found.head_bytes <= len(file)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_flipped_byte_never_breaks_the_reader(small: bytes, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, header(small).head_bytes - 1))
    damaged = small[:position] + bytes([data.draw(st.integers(0, 255))]) + small[position + 1 :]
    try:
        read_gguf_shape(read_gguf(Parts(damaged)).metadata)
    except GgufError as refusal:
        assert str(refusal).isprintable()  # noqa: PT017 - most damages are harmless, so no refusal is expected
