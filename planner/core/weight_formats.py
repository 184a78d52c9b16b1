"""The formats weights come in: bits per weight of each part of a model, with the range seen in real files."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from planner.core.errors import InputError

Kind = Literal["gguf", "checkpoint"]
DEFAULT_GGUF_QUANT: Final = "Q4_K_M"


@dataclass(frozen=True, slots=True)
class Bits:
    """Bits per weight including scales and zero points: what most files have, and the range around it."""

    typical: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """How many bits the parts of a model take.

    `body` is everything in the layers but the routed experts, which take `experts`; `table` is the input embedding,
    `output` the lm_head, or the one table where the two are tied; `towers` are vision and audio encoders.
    """

    name: str
    kind: Kind
    body: Bits
    experts: Bits
    table: float
    output: float
    towers: float = 16.0

    @property
    def uniform(self) -> bool:
        """Whether every weight takes the same bits, so that parameters × bits is the size and no estimate."""
        return self.body == self.experts == Bits(self.table, self.table, self.table) and self.table == self.output == self.towers


def _plain(name: str, bits: float) -> WeightFormat:
    return WeightFormat(name, "checkpoint", Bits(bits, bits, bits), Bits(bits, bits, bits), bits, bits, bits)


def _packed(name: str, body: tuple[float, float, float], experts: tuple[float, float, float] | None = None) -> WeightFormat:
    """A quantised checkpoint: embedding and output tables and the towers stay at 16 bits."""
    return WeightFormat(name, "checkpoint", Bits(*body), Bits(*(experts or body)), 16.0, 16.0)


def _mlx(bits: int) -> WeightFormat:
    """MLX: a 16-bit scale and bias for 64 weights (32 to 128), in the tables as well."""
    body = Bits(bits + 0.5, bits + 0.25, bits + 1.0)
    return WeightFormat(f"MLX-{bits}bit", "checkpoint", body, body, body.typical, body.typical)


def _gguf(name: str, body: tuple[float, float, float], table: float, output: float) -> WeightFormat:
    return WeightFormat(name, "gguf", Bits(*body), Bits(*body), table, output)


# Scales and zero points per group: AWQ and GPTQ keep a 16-bit scale and a 4-bit zero for 128 weights (as few as 32, or a
# whole row); NVFP4 an 8-bit scale for 16 and MXFP4 for 32; block FP8 a 32-bit scale for 128 × 128; NF4 one for 64.
# The ranges allow for layers that publishers leave at 16 bits.
_CHECKPOINTS: Final = (
    _plain("BF16", 16.0),
    _plain("FP16", 16.0),
    _plain("FP32", 32.0),
    _packed("FP8", (8.003, 8.0, 8.6)),
    _packed("INT8", (8.01, 8.0, 8.6)),
    _packed("AWQ", (4.16, 4.0, 4.63)),
    _packed("GPTQ", (4.17, 4.0, 4.63)),
    _packed("GPTQ-8bit", (8.2, 8.0, 8.7)),
    _packed("GPTQ-3bit", (3.16, 3.0, 3.63)),
    _packed("GPTQ-2bit", (2.15, 2.0, 2.63)),
    _packed("W4A16", (4.16, 4.0, 4.63)),
    _packed("W4A16-experts", (16.0, 16.0, 16.0), experts=(4.5, 4.0, 4.63)),
    _packed("NF4", (4.13, 4.12, 4.51)),
    _packed("NVFP4", (4.5, 4.5, 8.6)),
    _packed("NVFP4-experts", (16.0, 4.5, 16.0), experts=(4.5, 4.5, 4.5)),
    _packed("MXFP4", (16.0, 8.0, 16.0), experts=(4.254, 4.25, 4.3)),
    _packed("FP8-FP4-experts", (8.003, 8.0, 8.6), experts=(4.26, 4.25, 4.5)),
    *(_mlx(bits) for bits in (2, 3, 4, 5, 6, 8)),
)

# Body: sizes of published GGUF files of models from 1 to 671 billion parameters, less their two tables, over the rest.
# Tables: the types that llama.cpp b11434 src/llama-quant.cpp chooses for token_embd.weight and output.weight, with the
# block sizes of gguf 0.19.0 GGML_QUANT_SIZES. _L and _XL files keep both at Q8_0.
_Q6: Final = 6.5625
_GGUF: Final = (
    _gguf("Q8_0", (8.504, 8.5, 8.56), 8.5, 8.5),
    _gguf("Q6_K_L", (6.57, 6.56, 6.67), 8.5, 8.5),
    _gguf("Q6_K", (6.566, 6.56, 6.62), _Q6, _Q6),
    _gguf("Q5_K_L", (5.66, 5.6, 5.77), 8.5, 8.5),
    _gguf("Q5_K_M", (5.66, 5.6, 5.88), 5.5, _Q6),
    _gguf("Q5_K_S", (5.506, 5.5, 5.55), 5.5, _Q6),
    _gguf("Q5_1", (6.01, 6.0, 6.1), 6.0, _Q6),
    _gguf("Q5_0", (5.51, 5.5, 5.6), 5.5, _Q6),
    _gguf("Q4_K_L", (4.81, 4.75, 4.9), 8.5, 8.5),
    _gguf("Q4_K_M", (4.805, 4.75, 4.9), 4.5, _Q6),
    _gguf("Q4_K_S", (4.542, 4.5, 4.65), 4.5, _Q6),
    _gguf("Q4_1", (5.01, 5.0, 5.1), 5.0, _Q6),
    _gguf("Q4_0", (4.52, 4.49, 4.59), 4.5, _Q6),
    _gguf("IQ4_NL", (4.54, 4.5, 4.6), 4.5, _Q6),
    _gguf("IQ4_XS", (4.29, 4.24, 4.33), 4.25, _Q6),
    _gguf("Q3_K_XL", (4.19, 4.14, 4.3), 8.5, 8.5),
    _gguf("Q3_K_L", (4.19, 4.14, 4.25), 3.4375, _Q6),
    _gguf("Q3_K_M", (3.85, 3.78, 3.95), 3.4375, _Q6),
    _gguf("Q3_K_S", (3.45, 3.43, 3.55), 3.4375, _Q6),
    _gguf("IQ3_M", (3.58, 3.5, 3.7), 3.4375, _Q6),
    _gguf("IQ3_S", (3.46, 3.43, 3.55), 3.4375, _Q6),
    _gguf("IQ3_XS", (3.27, 3.2, 3.4), 3.4375, _Q6),
    _gguf("IQ3_XXS", (3.07, 3.0, 3.2), 3.4375, 5.5),
    _gguf("Q2_K", (2.9, 2.69, 3.05), 2.625, _Q6),
    _gguf("Q2_K_S", (2.73, 2.6, 2.85), 2.625, _Q6),
    _gguf("IQ2_M", (2.7, 2.6, 2.85), 3.4375, 5.5),
    _gguf("IQ2_S", (2.48, 2.4, 2.6), 3.4375, 5.5),
    _gguf("IQ2_XS", (2.37, 2.3, 2.5), 2.625, 5.5),
    _gguf("IQ2_XXS", (2.13, 2.05, 2.3), 2.625, 5.5),
    _gguf("IQ1_M", (1.86, 1.75, 2.05), 2.625, 5.5),
    _gguf("IQ1_S", (1.69, 1.6, 1.9), 2.625, 5.5),
    WeightFormat("MXFP4_MOE", "gguf", Bits(8.6, 8.5, 16.0), Bits(4.25, 4.25, 4.25), 8.5, 8.5),
    _gguf("UD-Q8_K_XL", (9.8, 8.5, 10.9), 8.5, 16.0),
    _gguf("UD-Q6_K_XL", (7.0, 6.56, 7.4), 8.5, 8.5),
    _gguf("UD-Q5_K_XL", (5.7, 5.5, 5.95), 5.5, _Q6),
    _gguf("UD-Q4_K_XL", (4.8, 4.5, 5.0), 4.5, _Q6),
    _gguf("UD-Q3_K_XL", (3.95, 3.6, 4.3), 3.4375, _Q6),
    _gguf("UD-Q2_K_XL", (3.0, 2.7, 3.35), 2.625, _Q6),
)

CHECKPOINT_FORMATS: Final = {fmt.name: fmt for fmt in _CHECKPOINTS}
GGUF_FORMATS: Final = {fmt.name: fmt for fmt in _GGUF}

_OTHER_NAMES: Final = {
    "BFLOAT16": "BF16", "FLOAT16": "FP16", "F16": "FP16", "HALF": "FP16", "FLOAT32": "FP32", "F32": "FP32",
    "FBGEMM_FP8": "FP8", "W8A8_FP8": "FP8", "FP8_E4M3": "FP8", "MODELOPT": "FP8",
    "W8A8": "INT8", "W8A16": "GPTQ_8BIT", "GPTQ_INT8": "GPTQ_8BIT",
    "INT4": "W4A16", "4BIT": "W4A16", "AWQ_INT4": "AWQ", "AWQ_4BIT": "AWQ", "AWQ_MARLIN": "AWQ", "AUTO_ROUND": "GPTQ",
    "GPTQ_INT4": "GPTQ", "GPTQ_4BIT": "GPTQ", "GPTQ_MARLIN": "GPTQ",
    "BNB": "NF4", "BNB_4BIT": "NF4", "BITSANDBYTES": "NF4", "MODELOPT_FP4": "NVFP4", "FP4": "NVFP4", "MXFP4_GGUF": "MXFP4_MOE",
    "MLX": "MLX_4BIT",
}  # fmt: skip
_BY_NAME: Final = {name.upper().replace("-", "_"): fmt for name, fmt in (CHECKPOINT_FORMATS | GGUF_FORMATS).items()}


def find_format(name: str) -> WeightFormat | None:
    """The format called `name`, in any case and with - or _, None where there is none."""
    wanted = name.strip().upper()[:40].replace("-", "_").replace(" ", "_")
    wanted = _OTHER_NAMES.get(wanted, wanted)
    if wanted in _BY_NAME:
        return _BY_NAME[wanted]
    base = wanted.removeprefix("UD_")
    return _dynamic(GGUF_FORMATS[base]) if base != wanted and base in GGUF_FORMATS else None


def weight_format(name: str) -> WeightFormat:
    """The format called `name`. Raises InputError (field "weights_quant") listing the known ones."""
    found = find_format(name)
    if found is None:
        known = ", ".join([*CHECKPOINT_FORMATS, *GGUF_FORMATS])
        raise InputError(
            f"“{name.strip()[:40]}” is not a weight format known here: give the size of the weights, or one of {known}.",
            field="weights_quant",
        )
    return found


def _dynamic(base: WeightFormat) -> WeightFormat:
    """Unsloth's dynamic variant of a format: other layers at other bits, within 8 % of the plain one in published files."""
    body = Bits(base.body.typical, base.body.low * 0.92, base.body.high * 1.08)
    return replace(base, name=f"UD-{base.name}", body=body, experts=body)
