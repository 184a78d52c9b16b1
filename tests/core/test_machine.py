"""Machines as they really are: unequal cards, memory that others keep, RAM and its speed; and what each engine makes of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answer import answer
from planner.core import catalog, speed
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.machine import machine
from planner.core.plan import MemoryLine, Plan
from planner.core.report import plan_json
from planner.core.report_text import plan_text
from planner.core.request import read_request
from planner.core.spill import Bandwidth, Spill, ram_bandwidth
from planner.core.units import GIB
from planner.core.weights import Weights

GPUS = [device for device in catalog.devices().values() if device.is_gpu]


def node(**asked: Any) -> Node:
    return machine(read_request(asked))


def plan(model: str = "Qwen/Qwen3-8B", **asked: Any) -> Plan:
    return answer(read_request({"model": model, "engine": "llama-server", **asked}), hub=None).plan


def line(made: Plan, name: str) -> MemoryLine:
    return next(line for line in made.memory.lines if line.name == name)


def codes(made: Plan) -> set[str]:
    return {remark.code for remark in made.remarks}


def message(made: Plan, code: str) -> str:
    return next(remark.message for remark in made.remarks if remark.code == code)


NAMED = [
    ("rtx-3090", (("rtx-3090", 1),)),
    ("2x3090", (("rtx-3090", 2),)),
    ("rtx-3090,rtx-4090", (("rtx-3090", 1), ("rtx-4090", 1))),
    ("2x3090+1x4090", (("rtx-3090", 2), ("rtx-4090", 1))),
    ("2 x RTX 3090 + RTX 4090 x1", (("rtx-3090", 2), ("rtx-4090", 1))),
    ("rtx-4090, rtx-3090,", (("rtx-4090", 1), ("rtx-3090", 1))),
    # A plus sign in a product's own name.
    ("Ryzen AI Max+ 395 128GB", (("strix-halo-395", 1),)),
    ("rtx-4090 + 2x Ryzen AI Max+ 395 128GB", (("rtx-4090", 1), ("strix-halo-395", 2))),
]


@pytest.mark.parametrize(("typed", "found"), NAMED)
def test_a_list_of_devices_is_read_in_its_order(typed: str, found: tuple[tuple[str, int], ...]) -> None:
    assert catalog.parse_machines(typed) == found


@given(st.lists(st.tuples(st.sampled_from(GPUS), st.integers(1, 9)), min_size=1, max_size=7), st.sampled_from([",", "+", " + ", ", "]))
def test_any_list_that_is_written_down_is_read_back(kinds: list[tuple[Any, int]], between: str) -> None:
    typed = between.join(f"{count}x{device.name}" for device, count in kinds)
    assert catalog.parse_machines(typed) == tuple((device.slug, count) for device, count in kinds)


@given(st.text(max_size=5000))
def test_any_other_text_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match=r"[.?]$"):
        catalog.parse_machines(f"no such card {text}")


def test_unequal_cards_are_one_machine() -> None:
    found = node(device="2x3090+1x4090", ram="64GiB")
    assert [device.slug for device in found.devices] == ["rtx-3090", "rtx-3090", "rtx-4090"]
    assert found.title == "2 × GeForce RTX 3090 + GeForce RTX 4090"
    assert found.device.slug == "rtx-4090"  # 24,564 MiB against 24,576


def test_a_cpu_platform_beside_cards_says_how_fast_the_ram_is() -> None:
    found = node(device="rtx-4090,cpu-epyc-9004", count=2, ram="256GiB")
    assert [device.slug for device in found.devices] == ["rtx-4090", "rtx-4090"]
    assert found.ram_bandwidth_bytes_per_s == 460.8e9
    assert not node(device="cpu-epyc-9004", ram="256GiB").has_gpu


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"device": "rtx-3090,rtx-4090", "count": 2}, "count"),
    ({"device": "2x3090", "count": 3}, "count"),
    ({"device": "rtx-3090,rtx-4090", "gpu_memory": "24GiB"}, "gpu_memory"),
    ({"device": "rtx-3090,a100"}, "device"),
    ({"device": "cpu-epyc-9004"}, "ram"),
    ({"device": "cpu-epyc-9004,cpu-ddr5-2ch-5600", "ram": "64GiB"}, "device"),
    ({"device": "40x3090,40x4090"}, "count"),
    ({"device": "rtx-4090", "reserved_memory": "24GiB"}, "reserved_memory"),
    ({"ram": "4GiB", "reserved_memory": "4GiB"}, "reserved_memory"),
    ({}, "device"),
]


@pytest.mark.parametrize(("asked", "field"), REFUSED)
def test_what_is_no_machine_is_refused_at_its_field(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        node(**asked)
    assert refused.value.field == field


def test_layers_go_to_unequal_cards_by_the_memory_that_is_free_there() -> None:
    made = plan("meta-llama/Llama-3.3-70B-Instruct", device="rtx-5090,rtx-3090", users=1)
    assert [each.name for each in made.memory.per_device] == ["GeForce RTX 5090", "GeForce RTX 3090"]
    large, small = (each.used_bytes - GIB for each in made.memory.per_device)
    # 81 parts over 31,583 and 23,552 MiB beyond the margins: 47 and 34, and a compute buffer on each.
    assert large / small == pytest.approx(47 / 34, rel=0.02)
    assert made.memory.size_of("free") == min(each.free_bytes for each in made.memory.per_device)


def test_a_card_with_a_desktop_gets_fewer_layers() -> None:
    asked = {"weights_size": "30GiB", "users": 1}
    bare, busy = plan(device="2x4090", **asked).memory, plan(device="2x4090", reserved_memory="4GiB", **asked).memory
    kept = 5 * GIB  # 4 GiB and the margin of 1 GiB
    assert busy.per_device[0].used_bytes - kept < bare.per_device[0].used_bytes - GIB
    assert busy.per_device[1].used_bytes > bare.per_device[1].used_bytes
    assert busy.size_of("free") == min(each.free_bytes for each in busy.per_device)


def test_devices_stand_in_json_and_text() -> None:
    made = answer(read_request({"model": "Qwen/Qwen3-8B", "engine": "vllm", "device": "rtx-3090,rtx-4090"}), hub=None)
    devices = plan_json(made.plan, made.hand_over)["memory"]["devices"]
    assert [each["name"] for each in devices] == ["GeForce RTX 3090", "GeForce RTX 4090"]
    assert all(each["used"] + each["free"] == each["total"] for each in devices)
    assert "Free on each device" in plan_text(made.plan, made.hand_over)


def test_under_vllm_the_smallest_card_decides_and_the_rest_of_the_larger_is_named() -> None:
    made = plan("Qwen/Qwen3-14B", engine="vllm", device="rtx-5090,rtx-3090")
    small = plan("Qwen/Qwen3-14B", engine="vllm", device="2x3090")
    assert made.fit.slots_that_fit == small.fit.slots_that_fit
    # (32,607 − 24,576) MiB × 0.92.
    assert "7.215 GiB on each GeForce RTX 5090 stay unused" in message(made, "unequal_cards")
    assert "8.6" in message(made, "mixed_generations")
    assert "12.0" in message(made, "mixed_generations")


def test_each_pipeline_stage_has_its_own_cards() -> None:
    # 40 layers on two stages: the larger card first, so that the second decides.
    made = plan("Qwen/Qwen3-14B", engine="vllm", device="rtx-5090,rtx-3090", tensor_parallel=1, pipeline_parallel=2)
    assert made.memory.total_bytes == catalog.device("rtx-3090").memory_bytes
    assert "GeForce RTX 3090 decides" in message(made, "unequal_cards")


def test_one_vllm_is_for_cards_of_one_maker() -> None:
    with pytest.raises(InputError, match="NVIDIA and AMD") as refused:
        plan(engine="vllm", device="rtx-4090,rx-7900-xtx")
    assert refused.value.field == "device"
    assert plan(engine="auto", device="rtx-4090,rx-7900-xtx").engine.name == "llama-server"


ARRANGED = [
    # Cards, (tensor, pipeline): 32 heads and 8 KV heads; 40 and 10; 28 and 4.
    ("Qwen/Qwen3-8B", 4, (4, 1), 0),
    ("Qwen/Qwen3-8B", 3, (1, 3), 0),
    ("Qwen/Qwen3-8B", 6, (2, 3), 0),
    ("Qwen/Qwen3-8B", 7, (1, 7), 0),
    ("microsoft/phi-4", 4, (2, 2), 0),
    ("microsoft/phi-4", 5, (5, 1), 0),
    ("Qwen/Qwen2.5-7B-Instruct", 8, (4, 2), 0),
    # Layers that read another layer's cache cannot lie on another stage.
    ("google/gemma-4-E2B-it", 3, (2, 1), 1),
]


@pytest.mark.parametrize(("model", "cards", "sizes", "idle"), ARRANGED)
def test_where_nobody_chose_the_largest_arrangement_the_model_allows_is_taken(
    model: str, cards: int, sizes: tuple[int, int], idle: int
) -> None:
    made = plan(model, engine="vllm", device="h100-sxm", count=cards)
    assert (made.engine.tensor_parallel, made.engine.pipeline_parallel) == sizes
    assert cards - sizes[0] * sizes[1] == idle
    if sizes[0] < cards:
        assert "Possible: 1" in message(made, "parallel_sizes")
        assert (f"{idle} of {cards} GPUs are idle" in message(made, "parallel_sizes")) == bool(idle)


def test_sizes_that_fail_are_listed_with_their_reason() -> None:
    made = plan("microsoft/phi-4", engine="vllm", device="h100-sxm", count=8)
    assert message(made, "parallel_sizes").startswith(
        "8 GPUs cannot be one tensor-parallel group: 10 KV heads neither divide nor are divided by 8. Possible: 1, 2, 5 "
        "(40 attention heads cannot be divided by 3, 6 or 7; 10 KV heads neither divide nor are divided by 4 or 8)."
    )


def test_a_size_that_was_typed_is_refused_instead() -> None:
    with pytest.raises(InputError, match=r"32 attention heads cannot be divided by 3\. Possible: 1, 2, 4, 8, 16") as refused:
        plan(engine="vllm", device="3xh100-sxm", tensor_parallel=3)
    assert refused.value.field == "tensor_parallel"


def test_data_parallel_engines_share_the_cards_and_their_slots_add_up() -> None:
    one = plan(engine="vllm", device="rtx-4090")
    four = plan(engine="vllm", device="4x4090", engine_args="-dp 4")
    assert four.fit.slots_that_fit == 4 * one.fit.slots_that_fit
    assert (four.engine.tensor_parallel, four.engine.pipeline_parallel) == (1, 1)
    assert four.fit.warm_conversations == 4 * (one.fit.warm_conversations or 0)
    with pytest.raises(InputError, match="8 data-parallel engines of 1 × 1 GPUs are asked for and there are 4") as refused:
        plan(engine="vllm", device="4x4090", engine_args="-dp 8")
    assert refused.value.field == "count"
    # Engines on other machines are not this machine's business.
    assert plan(engine="vllm", device="4x4090", engine_args="-dp 8 --data-parallel-size-local 4")


def test_experts_lie_over_the_ranks_of_all_engines_and_the_rest_in_each() -> None:
    alone, sliced, whole = (
        line(plan("Qwen/Qwen3-30B-A3B", engine="vllm", device="4xh100-sxm", engine_args=args), "Weights").size_bytes
        for args in ("-tp 1 -pp 1", "-dp 4", "-dp 4 -ep")
    )
    assert sliced == whole  # 128 experts over 4 ranks
    assert alone / 4 < sliced < alone / 3


def test_what_others_keep_has_a_line_of_its_own_and_lowers_vllms_share() -> None:
    made = plan(engine="vllm", device="rtx-4090", reserved_memory="2GiB")
    assert line(made, "Left to the desktop and others").size_bytes == 2 * GIB
    # (24,564 − 2,048 − 625) MiB ÷ 24,564 MiB, rounded down.
    assert made.memory.usable_bytes == -(-made.memory.total_bytes * 89 // 100)
    assert made.memory.usable_bytes < plan(engine="vllm", device="rtx-4090").memory.usable_bytes


def test_a_share_that_others_hold_a_part_of_does_not_start() -> None:
    made = plan(engine="vllm", device="rtx-4090", reserved_memory="2GiB", memory_utilization="0.95")
    assert (made.fit.slots_that_fit, made.fit.verdict) == (0, "does_not_fit")
    assert "others keep 2.000 GiB of the card" in made.fit.inequality
    assert "share_not_free" in codes(made)


@pytest.mark.parametrize("engine", ["vllm", "llama-server", "ollama"])
def test_memory_shared_with_the_system_is_capped_in_every_engine(engine: str) -> None:
    made = plan(engine=engine, device="gb10-dgx-spark")
    assert made.memory.usable_bytes <= 101 * GIB
    assert any(line.name.lower() == "the system" and line.size_bytes > 18 * GIB for line in made.memory.lines)


def test_on_unified_memory_vllms_share_is_explained() -> None:
    # A public report of a Jetson: 46 GB in use at a share of 0.2, and 38 GB at 0.8.
    made = plan(engine="vllm", device="jetson-agx-orin-64gb")
    assert "page cache" in message(made, "unified_memory")


def test_unified_memory_has_no_ram_to_spill_to() -> None:
    made = plan("Qwen/Qwen3-32B", device="apple-m4-16gb", ram="64GiB", users=1)
    assert made.fit.verdict == "does_not_fit"
    assert "unified_memory_full" in codes(made)
    assert not any(each.name == "main memory" for each in made.memory.per_device)


def test_what_the_system_keeps_of_a_machine_without_a_gpu_is_an_estimate_until_it_is_typed() -> None:
    guessed, typed = plan(ram="16GiB"), plan(ram="16GiB", reserved_memory="3GiB")
    system = line(guessed, "The system")
    assert (system.grade, system.low_bytes, system.size_bytes, system.high_bytes) == ("estimated", GIB // 2, GIB, 2 * GIB)
    assert "Debian" in system.source
    assert line(typed, "Left to the desktop and others").size_bytes == 3 * GIB
    assert "the system" not in {each.name for each in typed.memory.lines}
    assert "left free" not in {each.name for each in guessed.memory.lines}


@pytest.mark.parametrize("ram", ["4GiB", "6GiB", "8GiB"])
def test_a_small_machine_without_a_gpu_is_told_of_a_smaller_model_first(ram: str) -> None:
    made = plan(engine="auto", ram=ram, users=3)
    first = made.alternatives[0]
    assert first.change.startswith("A smaller model: Qwen/")
    assert first.slots_that_fit >= made.fit.slots_needed
    assert f"At most {made.fit.max_queue} may wait" in message(made, "small_machine")
    if ram == "8GiB":
        assert "of context instead of 8,192" in made.alternatives[1].change
    assert plan(engine="auto", ram="16GiB", users=3).fit.verdict == "fits"


def test_vllm_on_a_cpu_is_refused_with_its_reason() -> None:
    with pytest.raises(InputError, match="llama-server for a machine without"):
        plan(engine="vllm", ram="64GiB")


def test_a_plan_that_would_swap_does_not_fit() -> None:
    made = plan("meta-llama/Llama-3.3-70B-Instruct", device="rtx-4090", ram="16GiB", users=1)
    assert made.fit.verdict == "does_not_fit"
    assert "swapped" in message(made, "spills_to_ram")


def test_a_spilled_plan_is_as_fast_as_its_ram() -> None:
    slow = plan("meta-llama/Llama-3.3-70B-Instruct", device="rtx-4090,cpu-ddr4-2ch-3200", ram="64GiB", users=1)
    fast = plan("meta-llama/Llama-3.3-70B-Instruct", device="rtx-4090,cpu-epyc-9004", ram="64GiB", users=1)
    unnamed = plan("meta-llama/Llama-3.3-70B-Instruct", device="rtx-4090", ram="64GiB", users=1)
    rates = [made.speed.decode_rate for made in (slow, unnamed, fast)]
    assert all(rates)
    lows, highs = [rate.low or 0 for rate in rates if rate], [rate.high or 0 for rate in rates if rate]
    assert lows[0] == lows[1] < lows[2]
    assert highs[0] < highs[1] < highs[2]
    assert "51 to 90 GB/s" in message(unnamed, "slowed_by_ram")
    assert unnamed.speed.prefill_rate is None
    assert "prefill_rate_unknown" in codes(unnamed)


def test_a_step_reads_one_memory_after_the_other() -> None:
    card = Node((catalog.device("rtx-4090"),), ram_bandwidth_bytes_per_s=50e9)
    weights = Weights(20 * 10**9, 20 * 10**9, "Q4_K_M", "exact", "", 20 * 10**9, 20 * 10**9)
    asked = {"batch": 1, "weights": weights, "cache_bytes_at_context": 10**9, "node": card, "engine": "llama-server", "tensor_parallel": 1}
    step = speed.step_seconds(**asked, spill=Spill(10 * 10**9, 0.5))  # type: ignore[arg-type]
    share = speed.DECODE["llama", "dense", "consumer"]
    floor = 10.5e9 / 1008e9 + 10.5e9 / 50e9
    assert step is not None
    assert step.low == pytest.approx(floor / share.high + speed.OVERHEAD_SECONDS[0])
    assert step.high == pytest.approx(floor / share.low + speed.OVERHEAD_SECONDS[1])


def test_what_a_card_fetches_itself_comes_through_its_link() -> None:
    # PCIe 4.0 x16: 16 lanes × 16 GT/s × 128/130 ÷ 8.
    over = ram_bandwidth(Node((catalog.device("rtx-4090"),)), over_bus=True)
    assert over.high == pytest.approx(31.508e9, rel=1e-4)
    assert ram_bandwidth(Node((catalog.device("rtx-4090"),))).high == 89.6e9
    assert Bandwidth(50e9, 50e9, "x").words == "50 GB/s (x)"
    offloaded = plan("Qwen/Qwen3-14B", engine="vllm", device="rtx-4090", engine_args="--cpu-offload-gb 8", ram="16GiB")
    assert [line.size_bytes for line in offloaded.memory.ram_lines] == [8 * GIB]
    assert "slowed_by_ram" in codes(offloaded)
    assert "offload_beyond_ram" in codes(
        plan("Qwen/Qwen3-32B", engine="vllm", device="rtx-4090", engine_args="--cpu-offload-gb 48", ram="32GiB")
    )


def test_shorter_requests_share_vllms_pool_and_not_llama_servers_slots() -> None:
    lengths = {"prompt_tokens": 1500, "output_tokens": 500, "think_seconds": 60}
    paged = plan(engine="vllm", device="rtx-4090", **lengths)
    # Four blocks of 8,192 tokens in 2,054 to 2,400 blocks of 16; a request of 2,000 takes 125.
    assert paged.fit.slots_at_p95_length == ((paged.memory.cache_tokens or 0) // 16 - 1) // 125 > paged.fit.slots_that_fit
    assert plan(device="rtx-4090", **lengths).fit.slots_at_p95_length is None
    assert plan(engine="vllm", device="rtx-4090").fit.slots_at_p95_length is None
    shared = plan(device="rtx-4090", engine_args="-c 32768", **lengths)
    # Four slots on one pool of 32,768 cells.
    assert shared.fit.slots_at_p95_length == 4


def test_warm_histories_are_those_of_the_pool_or_of_the_slots_and_the_saved_prompts() -> None:
    paged = plan(engine="vllm", device="rtx-4090")
    assert paged.fit.warm_conversations == ((paged.memory.cache_tokens or 0) // 16 - 1) // 512
    off = plan(engine="vllm", device="rtx-4090", engine_args="--no-enable-prefix-caching")
    assert off.fit.warm_conversations == 0
    # 8,192 tokens × 144 KiB = 1.125 GiB: seven in 8 GiB of saved prompts, and one in every slot.
    saved = plan(device="rtx-4090", slots=2)
    assert saved.fit.warm_conversations == 2 + 7
    assert plan(device="rtx-4090", slots=2, engine_args="--cache-ram 0").fit.warm_conversations == 2
    assert plan(device="rtx-4090", slots=2, engine_args="--cache-ram -1").fit.warm_conversations is None


# (inputs, bandwidth of main memory in GB/s)
MAIN_MEMORY = [
    ({"ram": "32GiB", "ram_bandwidth": "60"}, 60),
    ({"ram": "64GiB", "device": "cpu-ddr5-2ch-5600"}, 89.6),
    ({"ram": "64GiB", "device": "cpu-ddr5-2ch-5600", "ram_bandwidth": 72.5}, 72.5),  # measured, against the platform's peak
    ({"device": "rtx-4090", "ram": "64GiB", "ram_bandwidth": 80}, 80),
    ({"gpu_memory": "24GiB", "ram": "64GiB", "ram_bandwidth": 80}, 80),
    ({"ram": "32GiB"}, None),
]


@pytest.mark.parametrize(("inputs", "gb_s"), MAIN_MEMORY)
def test_the_bandwidth_of_main_memory_is_that_given_before_its_platforms(inputs: dict[str, object], gb_s: float | None) -> None:
    node = machine(read_request(inputs))
    assert node.ram_bandwidth_bytes_per_s == (None if gb_s is None else pytest.approx(gb_s * 1e9))
    if not node.has_gpu:
        assert node.device.bandwidth_bytes_per_s == node.ram_bandwidth_bytes_per_s
