"""Bytes per row of llama.cpp's types, whole blocks of them."""

from typing import Final

from planner.core.errors import InputError

# ggml type: (elements per block, bytes per block).
# Source: ggml/src/ggml-common.h, the block structures; gguf 0.19.0 gguf/constants.py, GGML_QUANT_SIZES.
GGML_BLOCKS: Final = {
    "f64": (1, 8), "f32": (1, 4), "f16": (1, 2), "bf16": (1, 2), "i8": (1, 1), "i16": (1, 2), "i32": (1, 4), "i64": (1, 8),
    "q4_0": (32, 18), "q4_1": (32, 20), "q5_0": (32, 22), "q5_1": (32, 24), "q8_0": (32, 34), "q8_1": (32, 40), "iq4_nl": (32, 18), "mxfp4": (32, 17),
    "nvfp4": (64, 36), "q1_0": (128, 18),
    "q2_k": (256, 84), "q3_k": (256, 110), "q4_k": (256, 144), "q5_k": (256, 176), "q6_k": (256, 210), "q8_k": (256, 292),
    "iq1_s": (256, 50), "iq1_m": (256, 56), "iq2_xxs": (256, 66), "iq2_xs": (256, 74), "iq2_s": (256, 82),
    "iq3_xxs": (256, 98), "iq3_s": (256, 110), "iq4_xs": (256, 136), "tq1_0": (256, 54), "tq2_0": (256, 66),
}  # fmt: skip


def row_bytes(ggml_type: str, elements: int, *, field: str | None = "cache_type") -> int:
    """Bytes of a row of `elements` elements in a ggml type: elements / elements per block × bytes per block.

    Raises InputError for an unknown type, and for a row that is no multiple of the type's block, which llama.cpp refuses too.
    Source: llama.cpp b11434 ggml/src/ggml.c, ggml_row_size.
    """
    block = GGML_BLOCKS.get(ggml_type.lower())
    if block is None:
        raise InputError(f"“{ggml_type[:40]}” is not a type of llama.cpp: f16, q8_0, q4_0 and their like are.", field=field)
    block_elements, block_bytes = block
    if elements % block_elements:
        raise InputError(
            f"{ggml_type} packs {block_elements} elements in a block, and {elements:,} is no multiple of {block_elements}: use f16 for this model.",
            field=field,
        )
    return elements // block_elements * block_bytes
