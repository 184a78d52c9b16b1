"""Element sizes and rows of block-quantised types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InputError
from planner.core.precision import GGML_BLOCKS, row_bytes

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


def test_unknown_types_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"“q9_9” is not a type of llama\.cpp"):
        row_bytes("q9_9", 32)
