"""The settings each engine gets for real requests: what is written when, and what is said where nothing can be written."""

import re
from typing import Any

import pytest

from planner.core.engines import engines, version_of
from planner.core.engines.vllm.model_parts import needs_whole_experts
from planner.core.errors import InputError
from planner.core.model_shape import FeedForward
from planner.core.plan import Plan
from planner.core.planning import make_plan
from planner.core.request import read_request
from planner.core.units import GIB
from planner.sources import find_model
from tests.by_hand import QWEN3_8B, replace

CARD = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090"}
EYES = {"model": "Qwen/Qwen2.5-VL-7B-Instruct", "device": "rtx-4090"}
HYBRID = {"model": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "device": "h100-sxm"}
MOE = {"model": "Qwen/Qwen3-30B-A3B", "device": "rtx-3060-12gb", "ram": "64GiB", "users": 5}


def planned(engine: str, **asked: Any) -> tuple[Plan, dict[str, str | None], dict[str, str], dict[str, str]]:
    """(plan, values, reasons, remarks by code) of a request."""
    request = read_request({**CARD, "engine": engine, **asked})
    plan, done = make_plan(request, find_model(request, None))
    names = [setting.flag or setting.env or "" for setting in done.settings]
    values = dict(zip(names, [setting.value for setting in done.settings], strict=True))
    reasons = dict(zip(names, [f"{setting.why} {setting.breaks}" for setting in done.settings], strict=True))
    return plan, values, reasons, {remark.code: remark.message for remark in plan.remarks}


def values(engine: str, **asked: Any) -> dict[str, str | None]:
    return planned(engine, **asked)[1]


def reasons(engine: str, **asked: Any) -> dict[str, str]:
    return planned(engine, **asked)[2]


def remarks(engine: str, **asked: Any) -> dict[str, str]:
    return planned(engine, **asked)[3]


@pytest.mark.parametrize(
    ("engine", "text", "version"),
    [
        ("llama-server", "version: 11434 (0c1e570)\nbuilt with cc (Debian 12.2.0) 12.2.0 for x86_64-linux-gnu", "b11434"),
        ("llama-server", "b9873", "b9873"),
        ("llama-server", " 10603 ", "b10603"),
        ("vllm", "0.33.0", "0.33.0"),
        ("vllm", "v0.32", "0.32"),
        ("vllm", "vLLM 0.11.2.post2", "0.11.2.post2"),
        ("vllm", "INFO 11-29 13:53:31 [__init__.py:216] Automatically detected platform cuda.\n0.28.0+cu129\n", "0.28.0"),
        ("ollama", "ollama version is 0.30.1", "0.30.1"),
        ("ollama", "Warning: could not connect to a running Ollama instance\nWarning: client version is 0.32.5", "0.32.5"),
        ("ollama", "ollama version is 0.32.5\nWarning: client version is 0.33.0", "0.32.5"),
        ("ollama", "0.33.0-rc2", "0.33.0"),
    ],
)
def test_a_version_is_read_from_what_people_type_or_paste(engine: str, text: str, version: str) -> None:
    assert version_of(engines()[engine], text) == version


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize(
    "text", ["latest", "newest please", "-", "1", "\x00", "0" * 4000, "1.2.3.4.5.6", "0.32.0 and 0.33.0 and b9873 b9360"]
)
def test_a_version_is_never_guessed(engine: str, text: str) -> None:
    with pytest.raises(InputError, match="not known here") as refused:
        values(engine, engine_version=text)
    assert refused.value.field == "engine_version"
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("engine", "text"), [("llama-server", "b9000"), ("llama-server", "version: 99999 (x)"), ("vllm", "0.8.5"), ("ollama", "0.12.3")]
)
def test_a_version_outside_the_tables_is_not_known_here(engine: str, text: str) -> None:
    with pytest.raises(InputError, match="not known here"):
        values(engine, engine_version=text)


def test_a_version_without_an_engine_is_asked_back() -> None:
    with pytest.raises(InputError, match="belongs to one engine"):
        values("auto", engine_version="0.33.0")


@pytest.mark.parametrize(
    ("engine", "version", "line", "written", "said"),
    [
        ("llama-server", "b11434", "--mlock", {"--load-mode": "mmap+mlock"}, "--mlock of your command line became --load-mode mmap+mlock"),
        ("llama-server", "b9873", "--load-mode none", {}, "--load-mode of your command line is left out"),
        (
            "llama-server",
            "b11434",
            "--draft-max 8",
            {"--spec-draft-n-max": "8"},
            "--draft-max of your command line became --spec-draft-n-max 8",
        ),
        ("vllm", "0.33.0", "--swap-space 4", {}, "--swap-space of your command line is left out: vLLM 0.33.0 does not know it"),
        ("vllm", "0.33.0", "--disable-log-requests", {}, "nothing is needed in its place"),
        ("vllm", "0.33.0", "--rope-theta 1e6", {"--hf-overrides": '{"rope_theta": 1e6}'}, "--rope-theta of your command line became"),
        ("vllm", "0.33.0", "--guided-decoding-backend xgrammar", {"--structured-outputs-config": '{"backend": "xgrammar"}'}, "became"),
        ("vllm", "0.33.0", "--api-key secret", {}, "keys belong in the environment file"),
        ("ollama", "0.33.0", "OLLAMA_NOT_THERE=1", {}, "OLLAMA_NOT_THERE of your command line is left out"),
    ],
)
def test_a_removed_option_becomes_its_replacement_or_a_note(
    engine: str, version: str, line: str, written: dict[str, str], said: str
) -> None:
    _, found, _, notes = planned(engine, engine_version=version, engine_args=line)
    assert written.items() <= found.items()
    assert said in " ".join(notes.values())
    assert "secret" not in " ".join(notes.values())


def test_options_that_decide_no_capacity_are_kept_as_they_were_pasted() -> None:
    found = values("llama-server", engine_args="--temp 0.2 --chat-template-file /srv/t.jinja --no-log-timestamps")
    assert {"--temp": "0.2", "--chat-template-file": "/srv/t.jinja", "--no-log-timestamps": None}.items() <= found.items()
    line = "--tool-call-parser hermes --enable-auto-tool-choice --lora-modules a=/srv/a b=/srv/b --enable-lora --max-log-len 5"
    request = read_request({**CARD, "engine": "vllm", "engine_args": line})
    command = make_plan(request, find_model(request, None))[1].command
    for part in ("--tool-call-parser hermes", "--enable-auto-tool-choice", "--lora-modules a=/srv/a b=/srv/b", "--max-log-len 5"):
        assert part in command


def test_speculative_decoding_is_only_taken_from_the_user_and_says_what_it_costs() -> None:
    assert not [name for name in values("llama-server") if "spec" in name]
    said = reasons("llama-server", engine_args="--spec-draft-model /srv/draft.gguf --spec-draft-n-max 4")["--spec-draft-model"]
    assert "weights and a cache of its own" in said


def test_experts_that_the_card_cannot_hold_stay_in_ram() -> None:
    plan, found, said, _ = planned("llama-server", **MOE)
    layers = len(plan.model.shape.layers)
    assert 0 < int(found["--n-cpu-moe"] or "") < layers
    assert found["--gpu-layers"] == "all"
    assert f"of {layers} layers" in said["--n-cpu-moe"]
    assert "--n-cpu-moe" not in values("llama-server")


def test_layers_that_the_card_cannot_hold_stay_in_ram() -> None:
    plan, found, _, _ = planned("llama-server", model="Qwen/Qwen3-32B", device="rtx-3060-12gb", ram="64GiB", users=2)
    assert 0 < int(found["--gpu-layers"] or "") < len(plan.model.shape.layers)


def test_several_cards_get_their_shares_of_the_layers() -> None:
    found = values("llama-server", device="2x rtx-4090")
    assert (found["--split-mode"], found["--tensor-split"]) == ("layer", "1,1")
    assert "--tensor-split" not in values("llama-server")


def test_snapshots_of_windows_do_not_fill_the_host_s_ram() -> None:
    many = {"model": "google/gemma-3-27b-it", "device": "rtx-pro-6000-blackwell", "slots": 8, "context": 32_768}
    said = reasons("llama-server", **many, engine_version="b9360")["--ctx-checkpoints"]
    shown = re.search(r"take ([\d.]+) GiB, 8 × 32 would take ([\d.]+) GiB", said)
    assert shown
    assert float(shown[1]) <= 4 < float(shown[2])
    # From b9873 on a snapshot is 8,192 tokens apart from the next: at most five of them in this context.
    assert "8 × 5" in reasons("llama-server", **many)["--ctx-checkpoints"]
    assert "--ctx-checkpoints" not in values("llama-server")


def test_the_log_s_verbosity_has_the_variable_of_its_build() -> None:
    for version, name in (("b9093", "LLAMA_LOG_VERBOSITY"), ("b9360", "LLAMA_ARG_LOG_VERBOSITY")):
        request = read_request({**CARD, "engine": "llama-server", "engine_version": version})
        done = make_plan(request, find_model(request, None))[1]
        assert name in {setting.env for setting in done.settings}


@pytest.mark.parametrize(("engine", "none"), [("vllm", "--limit-mm-per-prompt"), ("llama-server", "--no-mmproj")])
def test_a_model_that_could_see_is_served_text_only_unless_images_are_wanted(engine: str, none: str) -> None:
    where = {"model_path": "unsloth/Qwen2.5-VL-7B-Instruct-GGUF"} if engine == "llama-server" else {}
    assert none in values(engine, **EYES, **where)
    assert none not in values(engine, **EYES, **where, images=True)
    assert none not in values(engine)


def test_text_only_frees_the_memory_of_the_vision_encoder() -> None:
    without, with_images = (planned("vllm", **EYES, images=images)[0] for images in (False, True))
    assert without.memory.cache_pool_bytes > with_images.memory.cache_pool_bytes + GIB
    asked = planned("vllm", **EYES, engine_args="--limit-mm-per-prompt '{\"image\":2}'")[0]
    assert asked.memory.cache_pool_bytes == with_images.memory.cache_pool_bytes


def test_images_bring_their_projector_and_say_what_it_is_not_counted_in() -> None:
    _, found, _, notes = planned("llama-server", **EYES, images="yes")
    assert (found["--mmproj"] or "").endswith(".gguf")
    assert "projector_memory" in notes


@pytest.mark.parametrize(("text", "understood"), [("yes", True), ("no", False), ("true", True), (True, True)])
def test_images_are_asked_for_with_yes_or_no(text: object, understood: bool) -> None:  # noqa: FBT001
    assert read_request({"images": text}).images is understood
    with pytest.raises(InputError, match="images must be yes or no"):
        read_request({"images": "maybe"})


def test_adapters_share_a_server_in_each_engine_s_own_way() -> None:
    many = {"adapters": 4, "users": 40}
    found = values("llama-server", **many)
    assert (found["--lora"] or "").count(".gguf") == 4
    assert "--lora-init-without-apply" in found
    assert "--lora-init-without-apply" not in values("llama-server", adapters=1)
    _, found, _, notes = planned("vllm", **many, context=2048)
    assert found["--max-loras"] == "4"
    assert "--max-cpu-loras" not in found
    assert "adapter_memory" in notes
    assert "adapter_reloads" in remarks("ollama", **many)
    assert "adapter_memory" not in remarks("vllm")


def test_more_adapters_than_slots_wait_in_main_memory() -> None:
    plan, found, _, _ = planned("vllm", adapters=20)
    assert found["--max-loras"] == str(plan.fit.slots)
    assert found["--max-cpu-loras"] == "20"


def test_a_thousand_adapters_stay_off_the_command_line() -> None:
    for engine in ("vllm", "llama-server"):
        _, found, _, notes = planned(engine, adapters=1024)
        assert not {"--lora", "--lora-modules"} & set(found)
        assert "adapters_by_hand" in notes


def test_a_pool_that_is_known_is_written_instead_of_the_share() -> None:
    found = values("vllm", cache_memory="6GiB")
    assert found["--kv-cache-memory-bytes"] == str(6 * GIB)
    assert "--gpu-memory-utilization" not in found


def test_prefix_caching_is_written_as_the_plan_counts_it() -> None:
    assert "--enable-prefix-caching" in values("vllm", **HYBRID)
    assert "--no-enable-prefix-caching" in values("vllm", **HYBRID, engine_version="0.24.0")
    assert "--enable-prefix-caching" in values("vllm", engine_version="0.24.0")


def test_recurrent_models_get_no_more_requests_than_blocks() -> None:
    plan, found, said, _ = planned("vllm", **HYBRID, slots=4000)
    seqs = int(found["--max-num-seqs"] or "")
    assert seqs < plan.fit.slots
    assert f"There are {seqs:,} blocks for recurrent states" in said["--max-num-seqs"]


@pytest.mark.parametrize(
    ("asked", "written", "said"),
    [
        ({"users": 3}, False, "of head-room"),
        ({}, True, "and not one more"),
        ({"slots": 9}, True, "pushes the last one out"),
        ({"engine_version": "0.20.0"}, False, "and not one more"),
    ],
)
def test_head_room_against_preemption_is_said_and_kept_where_there_is_none(asked: dict[str, Any], written: bool, said: str) -> None:  # noqa: FBT001
    _, found, why, _ = planned("vllm", **asked)
    assert ("--watermark" in found) is written
    assert said in why["--max-num-seqs"]


def test_an_endless_queue_is_said_where_the_version_has_no_limit() -> None:
    assert "queue_without_limit" in remarks("vllm", engine_version="0.28.0")
    assert "queue_without_limit" not in remarks("vllm")


def test_windows_say_what_two_passes_in_flight_reserve() -> None:
    gpt = {"model": "openai/gpt-oss-20b", "device": "h100-sxm"}
    assert "16,384 tokens on top of each sliding window" in reasons("vllm", **gpt)["--max-num-batched-tokens"]
    assert "sliding window" not in reasons("vllm")["--max-num-batched-tokens"]


@pytest.mark.parametrize(
    ("columns", "ranks", "whole"),
    # 1,536 ÷ 8 = 192 (Qwen3-235B-A22B-FP8), 2,048 ÷ 8 = 256 (DeepSeek-V3), and one GPU cuts nothing.
    [(1536, 8, True), (1536, 4, False), (2048, 8, False), (1536, 1, False), (768, 4, True)],
)
def test_fp8_experts_that_slices_would_cut_stay_whole(columns: int, ranks: int, whole: bool) -> None:  # noqa: FBT001
    feed = FeedForward(12_288, experts=128, experts_per_token=8, expert_intermediate_size=columns)
    shape = replace(QWEN3_8B, quantization="fp8", feed_forward=feed)
    assert needs_whole_experts(shape, ranks) is whole
    assert not needs_whole_experts(replace(shape, quantization=None), ranks)


def test_weights_in_another_format_are_converted_or_asked_for() -> None:
    assert values("vllm", weights_quant="fp8")["--quantization"] == "fp8"
    _, found, _, notes = planned("vllm", weights_quant="awq")
    assert "--quantization" not in found
    assert "name the repository or folder" in notes["weights_elsewhere"]
    assert "weights_elsewhere" not in remarks("vllm", weights_quant="awq", model_path="Qwen/Qwen3-8B-AWQ")
    assert "weights_elsewhere" not in remarks("vllm", model="Qwen/Qwen3-8B-FP8", weights_quant="fp8")


@pytest.mark.parametrize(
    ("device", "tokens"),
    [
        ("rtx-3060-12gb", "4,096"),
        ("rtx-4090", "32,768"),
        ("2x rtx-4090", "262,144"),
        ("2x rtx-3060-12gb", "32,768"),
        ("h100-sxm", "262,144"),
    ],
)
def test_ollama_s_own_context_follows_from_the_gpu_memory(device: str, tokens: str) -> None:
    assert f"gets {tokens} tokens here" in reasons("ollama", device=device, users=2)["OLLAMA_CONTEXT_LENGTH"]


def test_ollama_says_which_families_it_serves_one_at_a_time() -> None:
    _, found, said, notes = planned("ollama", model="Qwen/Qwen3.5-9B", slots=4)
    assert found["OLLAMA_NUM_PARALLEL"] == "1"
    assert "one request at a time, whatever stands here" in said["OLLAMA_NUM_PARALLEL"]
    assert "ollama_one_at_a_time" in notes


def test_ollama_s_variables_of_the_user_win_over_the_plan() -> None:
    found = values("ollama", engine_args="OLLAMA_NUM_PARALLEL=3 OLLAMA_DEBUG=1")
    assert (found["OLLAMA_NUM_PARALLEL"], found["OLLAMA_DEBUG"]) == ("3", "1")


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize(
    ("host", "said"),
    [("0.0.0.0", True), ("gpu.example.org", True), ("127.0.0.1", False), ("::1", False), ("localhost", False)],  # noqa: S104
)
def test_an_address_that_others_can_reach_is_said(engine: str, host: str, said: bool) -> None:  # noqa: FBT001
    assert ("reachable" in remarks(engine, host=host)) is said


def test_a_silent_connection_is_kept_for_longer_than_people_wait_and_generate() -> None:
    assert values("llama-server")["--timeout"] == "120"  # 30 s + 5 × 12 s, in whole minutes
    assert values("llama-server", patience=600, generate_seconds=100, turn_seconds=900)["--timeout"] == "1140"


def test_each_data_parallel_engine_takes_its_share_of_the_slots() -> None:
    plan, settings, why, _ = planned("vllm", device="2x3090", users=40, engine_args="-dp 2 -tp 1")
    assert settings["--max-num-seqs"] == str(-(-plan.fit.slots // 2))
    assert "Each of the 2 data-parallel engines" in why["--max-num-seqs"]
