"""Element sizes: bytes per element of tensor types, and bytes per row of llama.cpp's block-quantised ones."""

from typing import Final

from planner.core.errors import InputError

# Bytes per element. Names of PyTorch (config.json, vLLM) and of the safetensors header.
DTYPE_BYTES: Final = {
    "float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e8m0fnu": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
    "F64": 8, "F32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
    "I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1,
}  # fmt: skip

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


def dtype_bytes(dtype: str) -> int:
    """Bytes per element of a tensor type. Raises InputError for a name that is none."""
    if dtype not in DTYPE_BYTES:
        raise InputError(f"“{dtype[:40]}” is not a tensor type known here: {', '.join(sorted(DTYPE_BYTES)[:12])} and their like are.")
    return DTYPE_BYTES[dtype]


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


def require_whole_blocks(ggml_type: str, head_dim: int, *, field: str | None = "cache_type") -> None:
    """Raises InputError when heads of `head_dim` elements cannot be cached in a block-quantised type.

    Source: llama.cpp b11434 src/llama-context.cpp, llama_init_from_model.
    """
    block_elements, _ = GGML_BLOCKS.get(ggml_type.lower(), (1, 0))
    if head_dim % block_elements:
        raise InputError(
            f"A cache in {ggml_type} needs a head dimension that is a multiple of {block_elements}; this model's is {head_dim}. Use f16 instead.",
            field=field,
        )
