"""Where the layers go, what every line of a budget says, and how many slots that leaves."""

from dataclasses import replace

import pytest

from planner.answer import answer
from planner.core import catalog
from planner.core.engines.contract import Job
from planner.core.engines.llama_server import ENGINE
from planner.core.engines.llama_server.buffers import Buffer, compute_buffer
from planner.core.engines.llama_server.fit_context import held
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.model_shape import ModelShape
from planner.core.readers.hf_config import read_shape
from planner.core.request import read_request
from planner.core.units import GIB, MIB
from tests.core.llama_models import (
    DEEPSEEK_V3,
    GEMMA_3_4B,
    GPT_OSS_20B,
    LLAMA_8B,
    QWEN3_8B,
    QWEN35_35B,
    card,
    cpu,
    gguf,
    heads,
    job,
)

LLAMA_70B = gguf("llama", 80, 8192, 64, 8, feed_forward_length=28_672, vocab_size=128_256)
QWEN3_30B = gguf(
    "qwen3moe", 48, 2048, 32, 4, vocab_size=151_936, feed_forward_length=6144,
    expert_count=128, expert_used_count=8, expert_feed_forward_length=768, **heads(128),
)  # fmt: skip

MACHINES = [
    job(QWEN3_8B, node=Node((card(24),)), gib=4.7),
    job(QWEN3_8B, node=cpu(16), gib=4.7),
    job(QWEN3_8B, "-c 8192", node=Node((card(24),)), gib=4.7),
    job(LLAMA_70B, node=Node((card(24, "A"), card(16, "B"))), gib=28),
    job(LLAMA_70B, node=Node((card(24),), 64 * GIB), gib=39.6),
    job(LLAMA_70B, node=Node((card(24),)), gib=39.6),
    job(LLAMA_70B, "-sm row", node=Node((card(24),) * 2), gib=30),
    job(LLAMA_70B, "-sm tensor", node=Node((card(24),) * 2), gib=30),
    job(LLAMA_70B, "-ngl 20", node=Node((card(24),), 64 * GIB), gib=39.6),
    job(QWEN3_30B, node=Node((card(12),), 32 * GIB), gib=17.3, active=2),
    job(QWEN3_30B, "-cmoe", node=Node((card(12),), 32 * GIB), gib=17.3, active=2),
    job(QWEN35_35B, "-nkvo", node=Node((card(24),), 32 * GIB), gib=20, active=2),
    job(GEMMA_3_4B, node=Node((replace(card(64), device_class="unified", available_bytes=48 * GIB),)), gib=3),
]


@pytest.mark.parametrize("asked", MACHINES)
@pytest.mark.parametrize("slots", [1, 3])
def test_the_lines_of_a_budget_sum_up_to_the_device(asked: Job, slots: int) -> None:
    budget = ENGINE.budget(asked, slots)
    assert sum(line.size_bytes for line in budget.lines) == budget.total_bytes
    assert all(line.why and line.source for line in (*budget.lines, *budget.ram_lines) if line.kind != "free")
    assert all(
        (line.low_bytes or 0) <= line.size_bytes <= (line.high_bytes or line.size_bytes) for line in budget.lines if line.kind != "free"
    )


@pytest.mark.parametrize("asked", MACHINES)
def test_weights_and_cache_are_somewhere_exactly_once(asked: Job) -> None:
    placed = ENGINE.placement(asked, 2)
    loads = [*placed.cards, *([placed.ram] if placed.ram else [])]
    size = asked.weights.size_bytes
    assert sum(load.weights_bytes for load in loads) == pytest.approx(size, abs=len(loads))
    assert sum(load.cache_bytes for load in loads) == pytest.approx(ENGINE.reserved_bytes(asked, 2), abs=len(loads))


def test_qwen3_8b_on_a_24_gib_card_has_room_for_sixteen_slots() -> None:
    capacity = ENGINE.capacity(job(QWEN3_8B, node=Node((card(24),)), gib=4.7))
    assert (capacity.slots, capacity.limit) == (16, "memory")
    assert capacity.inequality.startswith("17 × 1.125 GiB = 19.12 GiB of cache for 17 slots of 8,192 tokens")


def test_layers_are_split_in_proportion_to_the_memory_of_unequal_cards() -> None:
    placed = ENGINE.placement(job(LLAMA_70B, node=Node((card(25, "A"), card(13, "B"))), gib=28), 1)
    # 81 with the output, over 24 and 12 GiB beyond the margin.
    assert [len(load.layers) for load in placed.cards] == [54, 26]


def test_the_user_s_own_split_is_kept() -> None:
    placed = ENGINE.placement(job(LLAMA_70B, "-ts 1,3", node=Node((card(80),) * 2), gib=28), 1)
    assert [len(load.layers) for load in placed.cards] == [21, 59]


def test_a_public_report_of_two_cards_splits_its_cache_alike() -> None:
    # Qwen3-30B-A3B on two equal 16 GB cards: 25 and 23 layers of 64 MiB.
    placed = ENGINE.placement(job(QWEN3_30B, "-c 32768 -np 1", node=Node((card(16),) * 2), gib=16.3), 1)
    assert [load.cache_bytes / MIB for load in placed.cards] == [1600, 1472]


def test_row_split_keeps_the_cache_on_the_first_card_and_tensor_split_divides_it() -> None:
    row, tensor = (ENGINE.placement(job(LLAMA_70B, f"-sm {mode}", node=Node((card(48),) * 2), gib=30), 1) for mode in ("row", "tensor"))
    assert [load.cache_bytes for load in row.cards] == [2.5 * GIB, 0]
    assert [load.cache_bytes for load in tensor.cards] == [1.25 * GIB, 1.25 * GIB]


def test_what_the_cards_do_not_hold_goes_to_ram_layer_by_layer() -> None:
    asked = job(LLAMA_70B, node=Node((card(24),), 64 * GIB), gib=39.6)
    placed = ENGINE.placement(asked, 1)
    assert placed.cards_hold
    assert 0 < placed.spilled_layers < 80
    assert placed.ram is not None
    assert placed.ram.layers == tuple(range(placed.spilled_layers))
    codes = [remark.code for remark in ENGINE.capacity(asked).remarks]
    assert codes == ["spills_to_ram"]


def test_experts_leave_the_cards_before_whole_layers_do() -> None:
    placed = ENGINE.placement(job(QWEN3_30B, node=Node((card(12),), 32 * GIB), gib=17.3, active=2), 1)
    assert (placed.spilled_layers, placed.spilled_experts > 0) == (0, True)


def test_without_known_ram_nothing_spills_and_the_plan_asks_for_it() -> None:
    asked = job(LLAMA_70B, node=Node((card(24),)), gib=39.6)
    capacity = ENGINE.capacity(asked)
    assert capacity.slots == 0
    assert [remark.code for remark in capacity.remarks] == ["ram_unknown"]
    assert ENGINE.budget(asked, 1).size_of("free") < 0


def test_too_little_ram_is_named_with_what_is_short() -> None:
    capacity = ENGINE.capacity(job(LLAMA_70B, node=Node((card(24),), 16 * GIB), gib=39.6))
    assert capacity.slots == 0
    assert "swapped" in capacity.remarks[0].message
    assert "main memory has 15.00 GiB" in capacity.inequality


def test_memory_shared_with_the_system_is_not_planned_with() -> None:
    shared = replace(card(64), device_class="unified", available_bytes=48 * GIB)
    budget = ENGINE.budget(job(GEMMA_3_4B, node=Node((shared,)), gib=3), 1)
    assert budget.usable_bytes == 47 * GIB
    assert budget.lines[0].size_bytes == 16 * GIB


def test_a_known_pool_skips_the_budget() -> None:
    asked = replace(job(QWEN3_8B, node=Node((card(8),)), gib=4.7), cache_memory_bytes=5 * GIB)
    assert ENGINE.capacity(asked).slots == 4  # 1.125 GiB each
    assert ENGINE.budget(asked, 4).cache_pool_bytes == 5 * GIB


STATED = [
    ("-c 32768 -np 4", 4, "memory of its own"),
    ("-c 8192 -np 4", 0, "2,048 tokens a slot"),
    ("-c 20000", 2, "one pool of 20,224 tokens"),
    ("-c 65536 --kv-unified-per-slot 4096 -np 4 -kvu", 0, "capped at 4,096"),
]


@pytest.mark.parametrize(("args", "slots", "why"), STATED)
def test_a_command_line_holds_the_conversations_it_has_room_for(args: str, slots: int, why: str) -> None:
    capacity = ENGINE.capacity(job(QWEN3_8B, args, node=Node((card(24),)), gib=4.7))
    assert (capacity.slots, capacity.limit) == (slots, "engine"), why


def test_a_command_line_that_does_not_fit_holds_none() -> None:
    capacity = ENGINE.capacity(job(QWEN3_8B, "-c 163840 -np 4", node=Node((card(24),)), gib=4.7))
    assert (capacity.slots, capacity.limit) == (0, "memory")


def test_fit_shortens_a_context_that_nobody_gave() -> None:
    free, fitted = (ENGINE.expect(job(QWEN3_8B, "-np 4", node=Node((card(size),)), gib=4.7), 1).values for size in (80, 24))
    assert free["n_ctx"] == 4 * 40_960
    assert fitted["n_ctx"] % (4 * 256) == 0
    assert 4 * 4096 <= fitted["n_ctx"] < free["n_ctx"]
    assert ENGINE.placement(job(QWEN3_8B, "-np 4", node=Node((card(24),)), gib=4.7), 1).on_cards


def test_no_more_than_256_slots_whatever_the_memory() -> None:
    capacity = ENGINE.capacity(job(QWEN3_8B, node=Node((card(2000),)), gib=4.7, context=256))
    assert (capacity.slots, capacity.limit) == (256, "engine")


# (model, command line, MiB): the compute buffer of a CPU, printed by llama.cpp b11434 for models of these sizes.
COMPUTE = [
    (LLAMA_8B, "-c 8192", 132.02),
    (LLAMA_8B, "-c 8192 -np 4", 126.02),
    (LLAMA_8B, "-c 8192 -np 1 -ub 2048", 528.07),
    (QWEN3_8B, "-c 4096 -np 1", 116.02),
    (QWEN3_8B, "-c 4096 -np 1 -ctk f32 -ctv f32", 124.02),
    (QWEN3_8B, "-c 49152 -np 1 -ctk q4_0 -ctv q4_0", 160.10),
    (QWEN3_30B, "-c 8192 -np 4", 90.02),
    (GEMMA_3_4B, "-c 16384 -np 1", 102.53),
    (gguf("gpt-oss", 24, 2880, 64, 8, attention__sliding_window=128, feed_forward_length=2880, expert_count=32,
          expert_used_count=4, expert_feed_forward_length=2880, **heads(64)), "-c 16384", 112.65),
]  # fmt: skip


@pytest.mark.parametrize(("model", "args", "mib"), COMPUTE)
def test_the_compute_buffer_is_within_a_mebibyte_on_a_cpu(model: dict[str, object], args: str, mib: float) -> None:
    assert ENGINE.expect(job(model, f"{args} -fit off", node=cpu(256)), 1).values["compute_bytes"] / MIB == pytest.approx(mib, abs=1)


def test_without_flash_attention_the_scores_of_all_heads_count() -> None:
    # A public report of Qwen3-32B on a CPU: 5,252 MiB at 40,960 tokens.
    model = gguf("qwen3", 64, 5120, 64, 8, feed_forward_length=25_600, **heads(128))
    compute = ENGINE.expect(job(model, "-c 40960 -np 1 -fa off -fit off", node=cpu(64)), 1).values["compute_bytes"]
    assert compute / MIB == pytest.approx(5252, rel=0.01)


@pytest.mark.parametrize(("model", "slots", "mib"), [(QWEN35_35B, 4, 501.0), (QWEN3_30B, 8, 304.75)])
def test_builds_before_b9672_keep_the_logits_of_a_whole_micro_batch(model: dict[str, object], slots: int, mib: float) -> None:
    # Public reports of b9010 on Vulkan.
    asked = job(model, f"-c {4096 * slots} -np {slots}", version="b9360")
    assert ENGINE.expect(asked, 1).values["compute_bytes"] / MIB == pytest.approx(mib, rel=0.02)
    newer = ENGINE.expect(replace(asked, version="b9672"), 1).values["compute_bytes"]
    assert newer / MIB < mib / 2


def test_an_estimated_buffer_has_a_range_and_an_exact_one_has_none() -> None:
    def buffer(model: dict[str, object], *, gpu: bool) -> Buffer:
        asked = job(model)
        settings = ENGINE.settings(asked, 1)
        return compute_buffer(asked.shape, settings, held(asked, settings), gpu=gpu)

    exact, on_gpu, unfitted = buffer(QWEN3_8B, gpu=False), buffer(QWEN3_8B, gpu=True), buffer(DEEPSEEK_V3, gpu=False)
    assert (exact.grade, exact.low_bytes) == ("computed", exact.high_bytes)
    for estimate in (on_gpu, unfitted):
        assert estimate.grade == "estimated"
        assert estimate.low_bytes < estimate.size_bytes < estimate.high_bytes


def test_outputs_lie_in_ram_one_row_per_slot_and_drafted_token() -> None:
    plain = ENGINE.expect(job(QWEN3_8B), 4).values["output_bytes"]
    assert plain == 4 * 151_936 * 4
    assert ENGINE.expect(job(QWEN3_8B, "-md draft.gguf --spec-draft-n-max 7"), 4).values["output_bytes"] == 8 * plain


def test_saved_prompts_and_snapshots_stand_beside_the_device() -> None:
    names = {line.name: line for line in ENGINE.budget(job(GPT_OSS_20B, node=Node((card(24),), 64 * GIB), gib=11), 2).ram_lines}
    assert names["Saved prompts"].size_bytes == 8 * GIB
    # Two snapshots of 12 windows of 128 tokens for each of two slots.
    assert names["Snapshots"].size_bytes == 2 * 2 * 12 * 128 * 8 * 64 * 2 * 2
    off = ENGINE.budget(job(GPT_OSS_20B, "-cram 0 -ctxcp 0", node=Node((card(24),), 64 * GIB), gib=11), 2).ram_lines
    assert [line.name for line in off] == ["Outputs"]


REMARKED = [
    ("-c 8192 --mlock", "b11434", ["flag_not_in_version"]),
    ("-c 8192 --mlock", "b9873", []),
    ("-c 8192 --frobnicate 3 --twice", "b11434", ["unknown_flag"]),
    ("-c 163840", "b11434", ["context_above_training"]),
    ("-c 8192 -md draft.gguf", "b11434", ["draft_not_counted"]),
    ("-c 8192 --spec-type draft-mtp", "b11434", ["no_draft_layers"]),
    ("-c 8192 -np 4 -ctk q8_0 -ub 256 -ngl all --metrics", "b11434", []),
]


@pytest.mark.parametrize(("args", "version", "codes"), REMARKED)
def test_what_a_command_line_cannot_mean_is_said(args: str, version: str, codes: list[str]) -> None:
    assert [remark.code for remark in ENGINE.capacity(job(QWEN3_8B, args, version=version)).remarks] == codes


def test_the_cap_per_slot_is_refused_before_the_build_it_came_with() -> None:
    with pytest.raises(InputError, match="came with b11010"):
        ENGINE.check(job(QWEN3_8B, "--kv-unified-per-slot 4096 -np 4", version="b10603"))


def test_lines_are_spelled_as_their_build_prints_them() -> None:
    old, new = ([line.line for line in ENGINE.expect(job(QWEN35_35B, version=build), 4).lines] for build in ("b9672", "b11434"))
    assert old[0] == "initializing slots, n_slots = 4"
    assert new[0] == "initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'false'"
    # b9010 goes on with “), R (f32)”, b11434 with the snapshots.
    assert "llama_memory_recurrent: size =  251.25 MiB (     4 cells,  40 layers,  4 seqs" in old
    assert (
        "llama_memory_recurrent: size =  251.25 MiB (     4 cells,  40 layers,  4 seqs  0 rs_seq), "
        "R (f32):   11.25 MiB, S (f32):  240.00 MiB, P (f32):    0.00 MiB"
    ) in new


def test_a_class_that_llama_cpp_does_not_convert_is_named() -> None:
    shape: ModelShape = replace(job(QWEN3_8B).shape, model_type="jet_nemotron", architecture="JetNemotronForCausalLM")
    assert [remark.code for remark in ENGINE.capacity(job(shape)).remarks] == ["not_in_llama_cpp"]


def test_what_the_cards_do_not_hold_is_in_the_flags() -> None:
    def flags(**asked: object) -> dict[str | None, str | None]:
        request = read_request({"model": "Qwen/Qwen3-30B-A3B", "engine": "llama-server", "slots": 2, **asked})
        return {setting.flag: setting.value for setting in answer(request, None).hand_over.settings}

    whole, spilled = flags(gpu_memory="48GiB"), flags(gpu_memory="12GiB", ram="32GiB")
    assert (whole["--gpu-layers"], "--n-cpu-moe" in whole) == ("all", False)
    assert (spilled["--gpu-layers"], 0 < int(spilled["--n-cpu-moe"] or 0) <= 48) == ("all", True)
    assert int(flags(model="Qwen/Qwen3-8B", gpu_memory="4GiB", ram="32GiB")["--gpu-layers"] or 0) <= 36


@pytest.mark.parametrize("cells", [8192, 131_072])
def test_a_sparse_indexer_scores_every_cell_beside_the_mask(cells: int) -> None:
    """DeepSeek-V3.2 at 512 tokens and 8,192 cells printed 666.08 MiB, of which 12 B × 512 × cells grow with the context."""
    shape = read_shape(catalog.models()["deepseek-ai/DeepSeek-V3.2"].config)
    found = ENGINE.expect(job(shape, f"-c {cells} -np 1 -fit off", node=cpu(256)), 1).values["compute_bytes"] / MIB
    assert found == pytest.approx(666.08 + 12 * 512 * (cells - 8192) / MIB, rel=0.001)
