"""Weight bytes by format, against the sizes of published files."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InputError
from planner.core.readers.hf_config import read_shape
from planner.core.readers.parameters import ParameterCount, parameter_count
from planner.core.readers.safetensors_header import SafetensorsTable, Tensor
from planner.core.readers.tensor_parts import TensorParts, tensor_parts
from planner.core.weight_formats import CHECKPOINT_FORMATS, GGUF_FORMATS, weight_format
from planner.core.weights import (
    CHOICES,
    DEFAULT_GGUF_QUANT,
    WeightLine,
    checkpoint_file_weights,
    checkpoint_format,
    checkpoint_weights,
    estimate_weights,
    measured_weights,
    smaller_formats,
    typed_weights,
)

ROWS = {
    row["model"]: row["config"]
    for row in map(json.loads, (Path(__file__).resolve().parents[1] / "truth/parameters.jsonl").read_text().splitlines())
}
QWEN3_8B = parameter_count(ROWS["Qwen/Qwen3-8B"])
GPT_OSS = parameter_count(ROWS["openai/gpt-oss-20b"])


def config(**changes: Any) -> dict[str, Any]:
    return {**ROWS["Qwen/Qwen3-8B"], "architectures": ["Qwen3ForCausalLM"], "torch_dtype": "bfloat16", **changes}


@pytest.mark.parametrize(
    ("model", "quant", "size_bytes", "tolerance"),
    [
        # GPT4All's metadata/models3.json gives file sizes to the byte.
        ("meta-llama/Meta-Llama-3.1-8B", "Q4_K_M", 4_920_733_888, 0.003),
        ("meta-llama/Meta-Llama-3.1-8B", "Q4_0", 4_661_724_384, 0.005),
        ("meta-llama/Llama-3.2-1B-Instruct", "Q4_0", 773_025_920, 0.012),
        ("google/gemma-2-9b", "Q4_K_M", 5_761_057_728, 0.003),
        ("mistralai/Mistral-7B-v0.1", "Q6_K", 5_942_064_480, 0.001),
        ("mistralai/Mistral-7B-v0.1", "Q4_K_S", 4_140_373_312, 0.003),
        # model.safetensors.index.json, metadata.total_size.
        ("openai/gpt-oss-20b", "MXFP4", 13_761_264_768, 0.0001),
        ("moonshotai/Kimi-K2.5", "W4A16-experts", 595_148_192_736, 0.0001),
        ("deepseek-ai/DeepSeek-R1", "BF16", 2 * 671_026_419_200, 0.0001),
    ],
)
def test_the_estimate_is_close_to_a_published_file_and_its_range_holds_it(
    model: str, quant: str, size_bytes: int, tolerance: float
) -> None:
    weights = estimate_weights(parameters=parameter_count(ROWS[model]), quant=quant)
    assert weights.size_bytes == pytest.approx(size_bytes, rel=tolerance)
    # The files' own metadata (the vocabulary) is some megabytes beside the weights.
    assert weights.low_bytes - 1 <= size_bytes <= weights.high_bytes + 12e6


def test_sixteen_bits_with_every_weight_counted_is_computed_and_has_no_range() -> None:
    weights = estimate_weights(parameters=QWEN3_8B, quant="bf16")
    assert (weights.format, weights.grade) == ("BF16", "computed")
    assert weights.low_bytes == weights.size_bytes == weights.high_bytes == 2 * 8_190_735_360
    assert weights.source == "8,190,735,360 parameters × 16 bits"


def test_an_input_table_that_is_only_looked_up_is_not_read_for_a_token() -> None:
    weights = estimate_weights(parameters=QWEN3_8B, quant="BF16")
    assert weights.size_bytes - weights.active_bytes == 2 * 151_936 * 4096


def test_a_tied_table_is_read_as_the_output() -> None:
    tied = parameter_count(ROWS["Qwen/Qwen3-0.6B"])
    weights = estimate_weights(parameters=tied, quant="BF16")
    assert weights.active_bytes == weights.size_bytes


def test_awq_keeps_both_tables_at_sixteen_bits() -> None:
    weights = estimate_weights(parameters=QWEN3_8B, quant="awq")
    tables = 2 * 2 * 151_936 * 4096
    assert weights.size_bytes - tables == pytest.approx(QWEN3_8B.body * 4.16 / 8)
    assert weights.grade == "estimated"
    assert weights.low_bytes < weights.size_bytes < weights.high_bytes


def test_mxfp4_packs_only_the_experts() -> None:
    weights = estimate_weights(parameters=GPT_OSS, quant="mxfp4")
    rest = GPT_OSS.total - GPT_OSS.experts
    assert weights.size_bytes == pytest.approx(rest * 2 + GPT_OSS.experts * 4.254 / 8, rel=1e-9)
    assert weights.active_bytes < weights.size_bytes / 3


def test_an_encoder_is_a_line_of_its_own_and_stays_at_sixteen_bits() -> None:
    count = parameter_count(ROWS["Qwen/Qwen3-VL-8B-Instruct"])
    weights = estimate_weights(parameters=count, quant="Q4_K_M")
    assert [line.name for line in weights.lines] == ["model", "vision and audio encoder"]
    assert weights.lines[1].size_bytes == 2 * count.towers
    assert sum(line.size_bytes for line in weights.lines) == weights.size_bytes


def test_an_estimated_count_widens_the_range_of_its_bytes() -> None:
    rough = replace(QWEN3_8B, exact=False, low=QWEN3_8B.total * 9 // 10, high=QWEN3_8B.total * 12 // 10)
    weights = estimate_weights(parameters=rough, quant="BF16")
    assert weights.grade == "estimated"
    assert weights.low_bytes == pytest.approx(0.9 * weights.size_bytes, rel=1e-6)
    assert weights.high_bytes == pytest.approx(1.2 * weights.size_bytes, rel=1e-6)


@pytest.mark.parametrize(
    ("written", "name"),
    [("q4_k_m", "Q4_K_M"), ("Q4-K-M", "Q4_K_M"), ("bfloat16", "BF16"), ("F16", "FP16"), ("int4", "W4A16"), ("w8a8", "INT8"), ("bnb-4bit", "NF4"),
     ("ud-q4_k_xl", "UD-Q4_K_XL"), ("UD-IQ2_XXS", "UD-IQ2_XXS"), ("gptq-int4", "GPTQ"), ("mlx-4bit", "MLX-4bit")],
)  # fmt: skip
def test_formats_are_known_as_people_write_them(written: str, name: str) -> None:
    assert weight_format(written).name == name


@pytest.mark.parametrize("unknown", ["", "Q9_K", "4.5bpw", "UD-", "x" * 5000])
def test_an_unknown_format_is_refused_with_the_known_ones(unknown: str) -> None:
    with pytest.raises(InputError, match="Q4_K_M") as refused:
        estimate_weights(parameters=QWEN3_8B, quant=unknown)
    assert refused.value.field == "weights_quant"
    assert len(str(refused.value)) < 900


def test_every_format_that_a_form_offers_is_known() -> None:
    assert DEFAULT_GGUF_QUANT in CHOICES
    assert all(weight_format(name).name == name for name in CHOICES)


@pytest.mark.parametrize("name", [*CHECKPOINT_FORMATS, *GGUF_FORMATS])
def test_every_format_has_its_typical_bits_inside_its_range(name: str) -> None:
    fmt = weight_format(name)
    assert fmt.body.low <= fmt.body.typical <= fmt.body.high
    assert fmt.experts.low <= fmt.experts.typical <= fmt.experts.high


@given(
    st.tuples(*(st.integers(0, 10**12) for _ in range(6))),
    st.sampled_from([*CHECKPOINT_FORMATS, *GGUF_FORMATS]),
)
def test_more_bits_or_parameters_never_take_fewer_bytes(parts: tuple[int, ...], quant: str) -> None:
    body, embedding, output, experts, active, towers = parts
    total = body + embedding + output + experts + towers
    count = ParameterCount(
        total, total, embedding, output, experts, min(active, experts), towers, exact=True, low=total, high=total, why=""
    )
    weights = estimate_weights(parameters=count, quant=quant)
    assert 0 <= weights.low_bytes <= weights.size_bytes <= weights.high_bytes
    assert weights.active_bytes <= weights.size_bytes
    more = replace(count, total=total + 1000, low=total + 1000, high=total + 1000)
    assert estimate_weights(parameters=more, quant=quant).size_bytes >= weights.size_bytes
    assert estimate_weights(parameters=count, quant="FP32").size_bytes >= weights.size_bytes - 1


@pytest.mark.parametrize(
    ("section", "name"),
    [
        (None, "BF16"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "FP8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "AWQ"),
        ({"quant_method": "gptq", "bits": 8}, "GPTQ-8bit"),
        ({"quant_method": "mxfp4"}, "MXFP4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "NF4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "INT8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "NVFP4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "FP8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["model.layers.0.self_attn*"]}, "NVFP4-experts"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}}, "FP8"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"}}}}, "INT8"),
        ({"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"g": {"weights": {"num_bits": 4}}}}, "W4A16"),
        ({"quant_method": "hqq"}, "hqq"),
    ],
)
def test_the_checkpoints_own_format_is_told_from_its_config(section: object, name: str) -> None:
    assert checkpoint_format(read_shape(config(quantization_config=section))) == name


def test_a_float32_checkpoint_is_loaded_in_sixteen_bits() -> None:
    assert checkpoint_format(read_shape(config(torch_dtype="float32"))) == "BF16"
    assert checkpoint_format(read_shape(config(torch_dtype="float16"))) == "FP16"


def test_a_quantisation_that_is_not_known_asks_for_the_size() -> None:
    with pytest.raises(InputError, match="give the size of the weights"):
        checkpoint_weights(shape=read_shape(config(quantization_config={"quant_method": "hqq"})), parameters=QWEN3_8B)


def test_a_size_that_was_typed_is_taken_as_it_is() -> None:
    weights = typed_weights(17_000_000_000, quant="q8_0", parameters=GPT_OSS)
    assert weights.low_bytes == weights.size_bytes == weights.high_bytes == 17_000_000_000
    assert (weights.grade, weights.format) == ("measured", "Q8_0")
    assert weights.active_bytes < weights.size_bytes / 4
    assert typed_weights(5).active_bytes == 5


def test_files_are_lines_that_add_up() -> None:
    weights = measured_weights((WeightLine("model", 100), WeightLine("image encoder", 20)), quant="Q4_K_M", source="files")
    assert (weights.size_bytes, weights.active_bytes, weights.grade) == (120, 120, "measured")


@pytest.mark.parametrize(
    ("name", "gguf", "smaller"), [("BF16", False, ["FP8", "AWQ"]), ("AWQ", False, []), ("Q4_K_M", True, ["IQ4_XS", "Q3_K_M"])]
)
def test_smaller_formats_are_smaller(name: str, gguf: bool, smaller: list[str]) -> None:  # noqa: FBT001
    assert list(smaller_formats(name, gguf=gguf)) == smaller


def tensors(**sizes: int) -> SafetensorsTable:
    table, position = {}, 0
    for name, size in sizes.items():
        table[name] = Tensor("U8", (size,), position, position + size)
        position += size
    return SafetensorsTable(table, 100)


def test_tensors_are_told_apart_by_their_names() -> None:
    first = tensors(**{
        "model.embed_tokens.weight": 1, "model.layers.0.self_attn.q_proj.weight": 10, "model.layers.0.mlp.experts.3.up_proj.weight": 100,
        "model.visual.blocks.0.attn.qkv.weight": 1_000, "mtp.layers.0.mlp.down_proj.weight": 10_000,
    })  # fmt: skip
    second = tensors(**{"lm_head.weight": 20, "model.layers.2.mlp.experts.0.up_proj.weight": 20_000, "model.layers.1.mlp.gate.weight": 30})
    assert tensor_parts([first, second], layers=2) == TensorParts(rest=60, experts=100, table=1, towers=1_000, draft=30_000)
    assert tensor_parts([first], layers=2).table == 0  # no lm_head: the table is the output


def test_header_bytes_become_weights_without_the_draft_layers() -> None:
    shape = read_shape({**ROWS["Qwen/Qwen3-30B-A3B"], "architectures": ["Qwen3MoeForCausalLM"]})
    weights = checkpoint_file_weights(TensorParts(600, 1_280, 50, 70, 999), quant="FP8", source="headers", shape=shape)
    assert (weights.size_bytes, weights.draft_bytes, weights.grade) == (2_000, 999, "exact")
    assert weights.active_bytes == 600 + 1_280 * 8 // 128
    assert weights.lines == (WeightLine("model", 1_930), WeightLine("vision and audio encoder", 70))
