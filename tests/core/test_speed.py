"""Speeds: never faster than physics, within the range of every public report, and the pass model's arithmetic."""

import importlib.util
import json
import math
import sys
from dataclasses import replace
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core import catalog, speed
from planner.core.attention.stores import TokenStore
from planner.core.hardware import Device, Node
from planner.core.model_shape import FeedForward, Layer, ModelShape
from planner.core.plan import Percentiles, Speed
from planner.core.weights import Weights
from planner.core.workload import workload
from tests.test_architecture import ROOT

ENGINES = ("llama-server", "ollama", "vllm")


def load_fit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fit_speed", ROOT / "scripts/fit_speed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fit_speed"] = module
    spec.loader.exec_module(module)
    return module


fit = load_fit()
REPORTS = fit.read_reports()


def weights(active: int, size: int | None = None, format_: str = "Q4_K_M") -> Weights:
    size = size or active
    return Weights(size, active, format_, "exact", "", size, size)


def shape(width: int = 1024, layers: int = 32, window: int | None = None) -> ModelShape:
    store = TokenStore("full" if window is None else "sliding", heads=8, key_dim=128, value_dim=128, window=window)
    return ModelShape("", "", (Layer("full", (store,)),) * layers, width, 0, 32, None, "bfloat16", FeedForward(0), head_dim=128)


def device(**facts: object) -> Device:
    plain = Device("x", "Card X", vendor="NVIDIA", device_class="consumer", memory_bytes=2**34, memory_grade="user")
    return replace(plain, **facts)


@pytest.mark.parametrize("report", [r for r in REPORTS if r.decode_rate], ids=lambda r: r.id)
def test_a_reported_decode_rate_lies_in_the_estimated_range(report):
    figure = speed.decode_rate(
        weights=report.weights,
        cache_bytes_at_context=report.cache_bytes,
        node=report.node,
        engine=report.engine,
        tensor_parallel=report.tensor_parallel,
    )
    assert figure.low <= report.decode_rate <= figure.high


@pytest.mark.parametrize("report", [r for r in REPORTS if r.prefill_rate and r.arithmetic], ids=lambda r: r.id)
def test_a_reported_prefill_rate_lies_in_the_estimated_range(report):
    figure = speed.prefill_rate(
        weights=report.weights,
        shape=report.shape,
        active_parameters=report.active_parameters,
        prompt_tokens=report.prompt_tokens,
        node=report.node,
        engine=report.engine,
        tensor_parallel=report.tensor_parallel,
    )
    assert figure.low <= report.prefill_rate <= figure.high


def test_the_ranges_are_those_of_the_reports():
    assert fit.decode_ranges(REPORTS) == speed.DECODE
    assert fit.prefill_ranges(REPORTS) == speed.PREFILL


@pytest.mark.skipif(not fit.CASES.exists(), reason="the folder with the measured cases is not beside the repository")
def test_every_measured_case_is_used_or_left_out_with_a_reason():
    cases = {case["id"] for case in map(json.loads, fit.CASES.read_text().splitlines()) if case["kind"] == "D"}
    assert cases <= {report.id for report in REPORTS} | fit.LEFT_OUT.keys()


# Steps of many streams against one: engine, sparse, streams, ITL alone in ms, ITL together in ms.
BATCHES = [
    ("llama-server", True, 2, 16.1, 20.3),  # D001: Qwen3.6-35B-A3B, Strix Halo
    ("llama-server", True, 8, 16.1, 47.4),  # D001
    ("llama-server", True, 16, 16.1, 92.9),  # D001
    ("llama-server", False, 2, 28.84, 31.49),  # D003: gemma-4-12b Q8_0, RTX 3090
    ("llama-server", False, 4, 28.84, 40.07),  # D003
    ("llama-server", False, 8, 28.84, 67.43),  # D003
    ("vllm", False, 8, 18.69, 20.4),  # D006: gemma-4-12b AWQ, RTX 3090
    ("vllm", False, 64, 18.69, 56.74),  # D006
    ("vllm", False, 128, 18.69, 104.26),  # D006
    ("vllm", False, 96, 25.06, 57.83),  # D008: Qwen3.6-27B FP8, 2 × RTX 3090
    ("vllm", False, 8, 16.25, 29.8),  # D009: the same on 4 × RTX 3090
    ("vllm", False, 96, 16.25, 139.42),  # D009
    ("llama-server", True, 8, 1000 / 68, 8000 / 149.3),  # D010: beyond its cliff: 10 to 16 clients, left out
    ("llama-server", True, 32, 1000 / 68, 32_000 / 160.4),  # D010
]


@pytest.mark.parametrize(("engine", "sparse", "streams", "alone_ms", "together_ms"), BATCHES)
def test_the_step_of_many_streams_lies_in_the_range_from_the_step_of_one(*, engine, sparse, streams, alone_ms, together_ms):
    figure = speed.step_seconds(
        batch=streams,
        weights=weights(10**9, 10**10 if sparse else None),
        cache_bytes_at_context=0,
        node=Node((device(bandwidth_bytes_per_s=1e12),)),
        engine=engine,
        tensor_parallel=1,
        measured_rate=1000 / alone_ms,
    )
    assert figure.low <= together_ms / 1000 <= figure.high


@given(
    active=st.integers(1, 2**42),
    more=st.integers(0, 2**42),
    cache=st.integers(0, 2**40),
    rate=st.floats(1e9, 1e14),
    batch=st.integers(1, 4096),
    engine=st.sampled_from(ENGINES),
    group=st.sampled_from(("consumer", "workstation", "datacenter", "unified", "cpu", "custom")),
    vendor=st.sampled_from(("NVIDIA", "AMD", "Apple", "CPU")),
    cards=st.integers(1, 8),
)
def test_no_step_is_faster_than_reading_its_bytes(*, active, more, cache, rate, batch, engine, group, vendor, cards):
    tensor = cards if engine == "vllm" else 1
    node = Node((device(bandwidth_bytes_per_s=rate, device_class=group, vendor=vendor),) * cards)
    figure = speed.batch_decode_rate(
        batch=batch, weights=weights(active, active + more), cache_bytes_at_context=cache, node=node, engine=engine, tensor_parallel=tensor
    )
    ceiling = batch * rate * tensor / (active + batch * cache)
    assert 0 < figure.low <= figure.value <= figure.high <= ceiling


@given(
    parameters=st.floats(1e6, 1e13),
    prompt=st.integers(1, 2**20),
    half=st.floats(1e11, 1e16),
    int8=st.none() | st.floats(1e11, 1e16),
    fp8=st.none() | st.floats(1e11, 1e16),
    engine=st.sampled_from(ENGINES),
    format_=st.sampled_from(("Q4_K_M", "F16", "BF16", "FP8", "AWQ", "NVFP4", "W8A8")),
    share=st.floats(0.01, 1),
)
def test_no_prompt_is_read_faster_than_its_operations_take(*, parameters, prompt, half, int8, fp8, engine, format_, share):
    node = Node((device(fp16_flops=half, int8_ops=int8, fp8_flops=fp8, compute_capability="12.0"),))
    figure = speed.prefill_rate(
        weights=weights(max(1, int(share * 10**9)), 10**9, format_),
        shape=shape(),
        active_parameters=parameters,
        prompt_tokens=prompt,
        node=node,
        engine=engine,
        tensor_parallel=1,
    )
    fastest = max(half, int8 or 0, fp8 or 0)
    assert 0 < figure.low <= figure.value <= figure.high <= fastest / (2 * parameters)


def test_nothing_is_estimated_where_the_device_is_not_known():
    node = Node((device(),))
    rates = speed.speed(
        measured_prefill=None,
        measured_decode=None,
        weights=weights(10**9),
        shape=shape(),
        active_parameters=8e9,
        cache_bytes_at_context=0,
        prompt_tokens=512,
        node=node,
        engine="llama-server",
        tensor_parallel=1,
    )
    assert (rates.prefill_rate, rates.decode_rate) == (None, None)
    said = speed.remarks(rates, node=node, active_parameters=8e9)
    assert [remark.code for remark in said] == ["decode_rate_unknown", "prefill_rate_unknown"]
    assert all("Card X" in remark.message and "Measure it" in remark.message for remark in said)


def test_a_measured_rate_wins_and_the_other_stays_an_estimate():
    rates = speed.speed(
        measured_prefill=800,
        measured_decode=None,
        weights=weights(5 * 10**9),
        shape=shape(),
        active_parameters=8e9,
        cache_bytes_at_context=0,
        prompt_tokens=512,
        node=Node((catalog.device("rtx-3090"),)),
        engine="llama-server",
        tensor_parallel=1,
    )
    assert (rates.prefill_rate.value, rates.prefill_rate.grade) == (800, "measured")
    assert rates.decode_rate.grade == "estimated"
    assert not rates.measured


# format, engine, device, arithmetic, rate in 10^12/s
ARITHMETIC = [
    ("Q4_K_M", "llama-server", "rtx-3090", "INT8", 284.7),  # MMQ
    ("F16", "llama-server", "rtx-3090", "16-bit", 142.35),  # 16-bit accumulation, twice the FP32-accumulate rate
    ("F16", "ollama", "h100-sxm", "16-bit", 989.5),
    ("Q4_K_M", "llama-server", "rx-7900-xtx", "16-bit", 122.8),  # INT8 is no faster
    ("AWQ", "vllm", "rtx-3090", "16-bit", 71.2),  # Marlin expands
    ("FP8", "vllm", "rtx-3090", "16-bit", 71.2),  # no FP8 units
    ("FP8", "vllm", "rtx-4090", "FP8", 330.3),
    ("NVFP4", "vllm", "rtx-5090", "FP8", 419.0),  # stands in for the FP4 rate
    ("NVFP4", "vllm", "h100-sxm", "16-bit", 989.0),
    ("BF16", "vllm", "h100-sxm", "16-bit", 989.0),
]


@pytest.mark.parametrize(("format_", "engine", "slug", "name", "tera"), ARITHMETIC)
def test_prefill_computes_in_the_arithmetic_the_engine_uses(format_, engine, slug, name, tera):
    rate, arithmetic = speed.dense_rate(catalog.device(slug), engine=engine, weight_format=format_)
    assert arithmetic == name
    assert rate / 1e12 == pytest.approx(tera, rel=1e-3)


def test_a_cpu_has_a_decode_estimate_and_no_prefill_estimate():
    node = Node((catalog.device("cpu-epyc-9004"),))
    common = {"weights": weights(5 * 10**9), "node": node, "engine": "llama-server", "tensor_parallel": 1}
    assert speed.decode_rate(cache_bytes_at_context=0, **common).value > 0
    assert speed.prefill_rate(shape=shape(), active_parameters=8e9, prompt_tokens=512, **common) is None


def test_tensor_parallel_cards_add_bandwidth_and_split_layers_do_not():
    card = device(bandwidth_bytes_per_s=1e12)
    assert speed.bandwidth(Node((card,) * 4), 4) == 4e12
    assert speed.bandwidth(Node((card,) * 4), 1) == 1e12


def test_unequal_cards_are_read_one_after_another_each_with_its_share():
    # 24 GiB at 1,000 GB/s and 8 GiB at 500 GB/s: 24/1000 + 8/500 = 0.04, so 32 / 0.04 = 800.
    node = Node((device(memory_bytes=24 * 2**30, bandwidth_bytes_per_s=1e12), device(memory_bytes=8 * 2**30, bandwidth_bytes_per_s=5e11)))
    assert speed.bandwidth(node, 1) == pytest.approx(8e11)
    assert speed.bandwidth(node, 2) == 1e12


def test_attention_counts_half_the_prompt_or_the_window():
    # 32 layers × 2 × 32 heads × 256 × 1,000 tokens = 524,288,000 operations beside 2 × 8 billion.
    assert speed.flops_per_token(shape(), active_parameters=8e9, prompt_tokens=2000) == 16e9 + 524_288_000
    assert speed.flops_per_token(shape(window=100), active_parameters=8e9, prompt_tokens=2000) == 16e9 + 52_428_800


# Production: 800 tokens/s prefill; 2,048 tokens a pass leave 0.39 tokens/s to everyone else, 512 leave 1.56.
@pytest.mark.parametrize(("tokens", "seconds", "rate"), [(2048, 2.56, 0.39), (512, 0.64, 1.56), (256, 0.32, 3.125)])
def test_everyone_waits_for_a_pass(tokens, seconds, rate):
    assert speed.pass_pause_seconds(tokens, 800) == pytest.approx(seconds)
    assert 1 / speed.pass_pause_seconds(tokens, 800) == pytest.approx(rate, abs=0.005)


@pytest.mark.parametrize(
    ("target", "rate", "batch"),
    [(1.0, 800, 512), (0.64, 800, 512), (0.639, 800, 256), (3, 800, 2048), (0.01, 800, 256), (1, 1e9, 2048)],
)
def test_the_batch_is_the_largest_whose_pass_stays_within_the_target(target, rate, batch):
    assert speed.batch_tokens_for(target, rate, choices=(256, 512, 1024, 2048)) == batch


def felt(*, users=20, generate=12.0, turn=90.0, prompt=1000, batch=512, slots=None):
    rates = Speed(speed.measured(800), speed.measured(50), measured=True, ttft_seconds=None, itl_seconds=None, pause_seconds=None)
    load = workload(users=users, generate_seconds=generate, turn_seconds=turn)
    return speed.felt(rates, load=load, prompt_tokens=prompt, batch_tokens=batch, context_tokens=8192, step=0.02, slots=slots)


def test_a_person_alone_never_pauses():
    for alone in (felt(users=1), felt(slots=1)):
        assert alone.pause_seconds == alone.itl_seconds == Percentiles(0.02, 0.02, 0.02, 0.02)


def test_most_replies_of_a_busy_team_meet_someone_elses_prompt_and_few_gaps_do():
    # 19 others each start during 12 of 90 seconds: a share 1 − (78/90)^19 = 93.4 % of replies has a pause of one pass.
    # 19 × 12/90 × 2 passes of 600 gaps = 0.84 % of the gaps.
    team = felt()
    one_pass = 0.02 + 512 / 800
    assert team.pause_seconds == Percentiles(one_pass, one_pass, one_pass, one_pass)
    assert team.itl_seconds == Percentiles(0.02, 0.02, 0.02, one_pass)


def test_a_prompt_shorter_than_a_pass_pauses_others_for_its_own_length_and_a_full_context_for_a_whole_pass():
    pause = felt(prompt=80, batch=2048).pause_seconds
    assert pause.p50 == pytest.approx(0.02 + 0.1)
    assert pause.max == pytest.approx(0.02 + 2.56)


def test_agents_without_pauses_start_a_turn_during_every_reply():
    assert felt(users=2, generate=30, turn=30).pause_seconds.p50 == pytest.approx(0.66)


@given(
    users=st.integers(1, 10_000),
    generate=st.floats(0.01, 1e4),
    think=st.floats(0, 1e6),
    prompt=st.integers(1, 2**20),
    batch=st.integers(1, 2**14),
    slots=st.none() | st.integers(1, 256),
)
def test_percentiles_rise_and_no_gap_is_longer_than_the_longest_pause(*, users, generate, think, prompt, batch, slots):
    prompt = min(prompt, 8192)
    made = felt(users=users, generate=generate, turn=generate + think, prompt=prompt, batch=batch, slots=slots)
    for each in (made.itl_seconds, made.pause_seconds):
        assert 0.02 <= each.p50 <= each.p95 <= each.p99 <= each.max
        assert math.isfinite(each.max)
    assert made.itl_seconds.max == made.pause_seconds.max
