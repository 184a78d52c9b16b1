"""A /metrics snapshot as it is read: figures of vLLM and llama-server, quantiles with their bounds, hostile text."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InputError
from planner.core.logs.metrics import MAX_LINES, Histogram, Metrics, read_metrics

REAL = Path(__file__).resolve().parent.parent.parent.parent / "shared/truth/logs/own/vllm"

# Written after what vLLM 0.32 served with two engines.
VLLM = """\
# HELP vllm:num_preemptions Cumulative number of preemption from the engine.
# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{engine="0",model_name="tiny"} 28.0
vllm:num_preemptions_total{engine="1",model_name="tiny"} 2.0
vllm:num_requests_running{engine="0",model_name="tiny"} 3.0
vllm:num_requests_running{engine="1",model_name="tiny"} 4.0
vllm:num_requests_waiting{engine="0",model_name="tiny"} 1.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="tiny",reason="capacity"} 1.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="tiny",reason="deferred"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="tiny"} 0.75
vllm:prefix_cache_queries_total{engine="0",model_name="tiny"} 4000.0
vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 1000.0
vllm:prompt_tokens_total{engine="0",model_name="tiny"} 4820.0
vllm:generation_tokens_total{engine="0",model_name="tiny"} 9.608e+03
vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny"} 5.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny"} 20.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny"} 1.0
vllm:admission_rejections_total{model_name="tiny",reason="max_num_queued_reqs"} 7.0
vllm:admission_rejections_total{model_name="tiny",reason="max_num_queued_tokens"} 1.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="1.0",model_name="tiny"} 5.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="2.5",model_name="tiny"} 10.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="5.0",model_name="tiny"} 18.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="tiny"} 20.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="tiny"} 20.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="tiny"} 64.0
vllm:cache_config_info{block_size="32",cache_dtype="auto",enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.92",kv_cache_max_concurrency="2.5",kv_cache_size_tokens="2560",num_gpu_blocks="80",sliding_window="None"} 1.0
"""
# As llama-server b11434 serves it.
LLAMA = """\
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 512
llamacpp:prompt_seconds_total 2.56
llamacpp:tokens_predicted_total 39080
llamacpp:tokens_predicted_seconds_total 1235.5
llamacpp:n_decode_total 39303
llamacpp:predicted_tokens_seconds nan
llamacpp:requests_processing 4
llamacpp:requests_deferred 46
llamacpp:n_busy_slots_per_decode 3.87
"""


def snapshot(text: str) -> Metrics:
    return read_metrics(text.splitlines())


def test_what_vllm_counts_is_read_and_added_up_over_its_engines() -> None:
    found = snapshot(VLLM)
    assert (found.engine, found.preemptions, found.running, found.waiting) == ("vllm", 30, 7, 1)
    assert (found.finished, found.rejections, found.prompt_tokens, found.output_tokens) == (26, 8, 4_820, 9_608)
    assert found.parts["vllm:request_success_total"] == {"stop": 5, "length": 20, "abort": 1}
    assert found.parts["vllm:num_requests_waiting_by_reason"] == {"capacity": 1, "deferred": 0}
    assert found.prefix_hit_share == 0.25
    assert found.cache_share == 0.75  # a share is not added up: the fuller engine's
    assert found.skipped == 0


def test_the_configuration_is_read_as_the_facts_of_a_start() -> None:
    assert snapshot(VLLM).facts == {
        "block_size": 32, "num_blocks": 80, "kv_cache_tokens": 2_560, "max_concurrency": 2.5, "gpu_memory_utilization": 0.92,
        "enable_prefix_caching": True, "kv_cache_dtype": "auto",
    }  # fmt: skip


def test_quantiles_lie_between_their_bounds_and_have_none_above_the_last() -> None:
    ttft = snapshot(VLLM).ttft
    assert ttft is not None
    assert (ttft.count, ttft.mean) == (20, 3.2)
    assert (ttft.between(0.5), ttft.quantile(0.5)) == ((1.0, 2.5), 2.5)
    assert (ttft.between(0.7), ttft.quantile(0.7)) == ((2.5, 5.0), pytest.approx(3.75))  # 14th of 11th to 18th
    assert (ttft.between(0.99), ttft.quantile(0.99)) == ((5.0, None), 5.0)
    assert (ttft.above(2.5), ttft.above(9.0)) == (10, 0)


def test_what_llama_server_counts_is_read() -> None:
    found = snapshot(LLAMA)
    assert (found.engine, found.running, found.waiting) == ("llama-server", 4, 46)
    assert (found.prefill_rate, found.decode_rate) == (pytest.approx(200), pytest.approx(31.63, rel=1e-3))
    assert (found.preemptions, found.ttft, found.finished, found.facts) == (None, None, None, {})
    assert found.skipped == 1  # nan before the first answer


@pytest.mark.parametrize(
    "line",
    [
        "vllm:num_preemptions_total -3",
        "vllm:num_preemptions_total NaN",
        "vllm:num_preemptions_total +Inf",
        "vllm:num_preemptions_total 1e999",
        "vllm:num_preemptions_total",
        'vllm:num_preemptions_total{engine="0" 3',
        'vllm:num_preemptions_total{engine="0"} three',
        "{} 3",
        "vllm:num_preemptions_total 3 4 5",
        'vllm:num_preemptions_total{a="' + "x" * 70_000 + '"} 3',
    ],
    ids=lambda line: line[:48],
)
def test_what_is_no_metric_is_skipped_and_counted(line: str) -> None:
    found = snapshot("x 1\n" + line)
    assert (found.preemptions, found.skipped) == (None, 1)


@pytest.mark.parametrize("text", ["", "# HELP only\n", "no metric here\n", "\x00\x01\n"])
def test_a_text_without_metrics_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="No metric was found"):
        snapshot(text)


def test_far_too_many_lines_are_refused() -> None:
    with pytest.raises(InputError, match="one scrape"):
        read_metrics("x 1" for _ in range(MAX_LINES + 1))


@pytest.mark.parametrize(
    "buckets",
    [
        'h_bucket{le="1"} 5\nh_bucket{le="2"} 3\nh_bucket{le="+Inf"} 5\n',  # falls
        'h_bucket{le="1"} 5\n',  # no last bound
        'h_bucket{le="nan"} 5\nh_bucket 5\n',
    ],
)
def test_buckets_that_are_no_histogram_are_left_out(buckets: str) -> None:
    assert snapshot("x 1\n" + buckets).histograms == {}


def test_labels_may_hold_anything() -> None:
    found = snapshot('vllm:num_requests_running{model_name="a \\"quoted\\", {name} = \\\\ x",engine="0"} 2 1700000000000\n')
    assert found.running == 2


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=60), st.floats(0.01, 1))
def test_the_true_quantile_lies_between_the_bounds(times: list[float], share: float) -> None:
    tops = [0.01, 0.1, 1.0, 10.0, math.inf]
    histogram = Histogram(tuple((top, float(sum(time <= top for time in times))) for top in tops), sum(times))
    true = sorted(times)[max(0, math.ceil(share * len(times) - 1e-9) - 1)]
    bounds, estimate = histogram.between(share), histogram.quantile(share)
    assert bounds is not None
    assert estimate is not None
    assert bounds[0] <= true <= (bounds[1] or math.inf)
    assert bounds[0] <= estimate <= (bounds[1] or math.inf)


NEAR_MISSES = [
    "a{" + 'b="' * 30_000,
    "a{" + 'b="c",' * 16_000,
    "a" * 65_000 + " 1",
    "a " * 32_000,
    'a{b="' + "\\" * 60_000,
    "a{" + "}" * 60_000 + " 1",
]


@pytest.mark.parametrize("line", NEAR_MISSES, ids=[line[:12] for line in NEAR_MISSES])
def test_near_misses_cost_no_more_than_reading_them(line: str) -> None:
    assert read_metrics(["x 1", *[line] * 50]).skipped == 50


@pytest.mark.skipif(not REAL.exists(), reason="the real server's snapshots are not here")
@pytest.mark.parametrize("path", sorted(REAL.glob("*.metrics.txt")), ids=lambda path: path.name)
def test_snapshots_of_a_real_server_agree_with_what_its_clients_saw(path: Path) -> None:
    found = read_metrics(path.read_text().splitlines())
    summary = json.loads(path.with_name(path.name.replace("metrics.txt", "json")).read_text())
    assert (found.engine, found.skipped) == ("vllm", 0)
    assert found.preemptions == (28 if path.name.startswith("preempt") else 0)
    assert found.ttft is not None
    assert found.finished == found.ttft.count
    assert summary
