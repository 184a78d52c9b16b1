"""Element sizes and rows of block-quantised types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InputError
from planner.core.precision import GGML_BLOCKS, dtype_bytes, require_whole_blocks, row_bytes

# bytes per 1,024 elements; llama.cpp, the table of cache types in its server's documentation
CACHE_TYPES = [
    ("f32", 4096), ("f16", 2048), ("bf16", 2048), ("q8_0", 1088), ("q5_1", 768), ("q5_0", 704), ("q4_1", 640), ("q4_0", 576), ("iq4_nl", 576),
]  # fmt: skip


@pytest.mark.parametrize(("ggml_type", "expected"), CACHE_TYPES)
def test_a_row_of_a_cache_type_has_the_size_of_its_blocks(ggml_type: str, expected: int) -> None:
    assert row_bytes(ggml_type, 1024) == expected
    assert row_bytes(ggml_type.upper(), 1024) == expected


@pytest.mark.parametrize(
    ("ggml_type", "bits"), [("q4_k", 4.5), ("q6_k", 6.5625), ("iq4_xs", 4.25), ("mxfp4", 4.25), ("nvfp4", 4.5), ("q2_k", 2.625)]
)
def test_weight_types_have_their_nominal_bits(ggml_type: str, bits: float) -> None:
    assert row_bytes(ggml_type, 4096) * 8 / 4096 == bits


@given(st.sampled_from(sorted(GGML_BLOCKS)), st.integers(1, 512), st.integers(1, 512))
def test_rows_add_up(ggml_type: str, first: int, second: int) -> None:
    block, _ = GGML_BLOCKS[ggml_type]
    assert row_bytes(ggml_type, (first + second) * block) == row_bytes(ggml_type, first * block) + row_bytes(ggml_type, second * block)


def test_a_row_that_is_no_multiple_of_the_block_is_refused() -> None:
    with pytest.raises(InputError, match=r"q8_0 packs 32 elements in a block, and 80 is no multiple of 32"):
        row_bytes("q8_0", 80)


@pytest.mark.parametrize(("head_dim", "fits"), [(128, True), (96, True), (80, False), (72, False)])
def test_a_head_dimension_must_be_whole_blocks(head_dim: int, *, fits: bool) -> None:
    if fits:
        require_whole_blocks("q4_0", head_dim)
        return
    with pytest.raises(InputError, match=f"multiple of 32; this model's is {head_dim}") as refused:
        require_whole_blocks("q4_0", head_dim)
    assert refused.value.field == "cache_type"


def test_unquantised_types_take_any_head_dimension() -> None:
    require_whole_blocks("f16", 71)


def test_unknown_types_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"“q9_9” is not a type of llama\.cpp"):
        row_bytes("q9_9", 32)
    with pytest.raises(InputError, match="“float3” is not a tensor type"):
        dtype_bytes("float3")


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("bfloat16", 2), ("float8_e4m3fn", 1), ("BF16", 2), ("F8_E4M3", 1), ("U8", 1)])
def test_tensor_types_have_whole_bytes(dtype: str, size: int) -> None:
    assert dtype_bytes(dtype) == size
