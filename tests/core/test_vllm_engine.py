"""The vLLM engine's answers beside its cache figures: budget, slots, lines by release, refusals and remarks; and their laws."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.attention.stores import StateStore, Store, TokenStore
from planner.core.engines.contract import Job
from planner.core.engines.vllm import ENGINE
from planner.core.engines.vllm.parallel import stages, valid_sizes
from planner.core.engines.vllm.serving import settle
from planner.core.errors import InputError
from planner.core.hardware import Device, Node
from planner.core.model_shape import FeedForward, Layer, ModelShape
from planner.core.weights import Weights

GIB = 2**30
QWEN3_8B_BYTES = 2 * 8_190_735_360


def device(mib: int = 24_564, name: str = "NVIDIA GeForce RTX 4090", capability: str = "8.9", available: int | None = None) -> Device:
    return Device(
        slug="gpu", name=name, vendor="NVIDIA", device_class="consumer", memory_bytes=mib * 2**20, memory_grade="measured",
        compute_capability=capability, available_bytes=available,
    )  # fmt: skip


def shape(*stores: Store, count: int = 36, heads: int = 32, feed: int = 12_288, model_type: str = "qwen3") -> ModelShape:
    return ModelShape(
        model_type=model_type, architecture="Qwen3ForCausalLM", layers=(Layer("full", stores or (TokenStore("full", 8, 128, 128),)),) * count,
        hidden_size=4096, vocab_size=151_936, attention_heads=heads, max_context=40_960, dtype="bfloat16", feed_forward=FeedForward(feed),
    )  # fmt: skip


def job(**changes: object) -> Job:
    base = Job(
        shape=shape(),
        weights=Weights(QWEN3_8B_BYTES, QWEN3_8B_BYTES, "BF16", "computed", "parameters", QWEN3_8B_BYTES, QWEN3_8B_BYTES),
        node=Node((device(),)),
        context_tokens=8192,
        version="0.33.0",
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def line_of(found: Job, name: str) -> int:
    return next(line.size_bytes for line in ENGINE.budget(found, 1).lines if line.name == name)


def test_a_24_gb_card_holds_four_or_five_conversations_of_qwen3_8b() -> None:
    capacity = ENGINE.capacity(job())
    budget = ENGINE.budget(job(), capacity.slots)
    assert capacity.slots in {4, 5}
    assert budget.usable_bytes == 23_696_643_195  # ⌈24,564 MiB × 0.92⌉
    assert 36_000 <= (budget.cache_tokens or 0) <= 41_000
    assert ENGINE.request_bytes(job()) == 1_207_959_552
    assert ENGINE.reserved_bytes(job(), 5) == 5 * 1_207_959_552
    assert "blocks, one of them unused; 4 × 8,192 tokens take 2,048" in capacity.inequality


@pytest.mark.parametrize("slots", [0, 1, 4, 40])
@pytest.mark.parametrize("pool", [None, 8 * GIB])
def test_the_lines_of_a_budget_sum_up_to_the_card_and_estimates_lie_within_their_range(slots: int, pool: int | None) -> None:
    budget = ENGINE.budget(job(cache_memory_bytes=pool), slots)
    assert sum(line.size_bytes for line in budget.lines) == budget.total_bytes
    assert all(line.why for line in budget.lines)
    for line in budget.lines:
        if line.grade == "estimated":
            assert line.low_bytes is not None
            assert line.high_bytes is not None
            assert line.low_bytes <= line.size_bytes <= line.high_bytes


def test_what_is_missing_stands_as_a_negative_free_line() -> None:
    tight = job(node=Node((device(12_288),)))
    assert ENGINE.capacity(tight).slots == 0
    assert ENGINE.budget(tight, 1).size_of("free") < 0
    assert ENGINE.expect(tight, 1).lines[-1].line.startswith("No available memory for the cache blocks.")


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        ("0.33.0", ["GPU KV cache size: 38,096 tokens, Maximum concurrency for 8,192 tokens per request: 4.65x"]),
        ("0.27.1", ["GPU KV cache size: 38,096 tokens", "Maximum concurrency for 8,192 tokens per request: 4.65x"]),
        # 0.90 until 0.19, with CUDA graphs beside the share.
        ("0.17.0", ["GPU KV cache size: 38,176 tokens", "Maximum concurrency for 8,192 tokens per request: 4.66x"]),
    ],
)
def test_start_up_lines_are_those_of_the_release(version: str, lines: list[str]) -> None:
    found = [line.line for line in ENGINE.expect(job(version=version), 4).lines]
    assert found[0].startswith("Available KV cache memory: ")
    assert found[1:] == lines


@pytest.mark.parametrize("version", ["0.11.2", "0.20.1rc1", "0.24", "v0.32.0", "0.33.0", "0.32.0+cu128"])
def test_releases_from_0_11_to_0_33_are_known(version: str) -> None:
    ENGINE.check(job(version=version))


@pytest.mark.parametrize("version", ["0.10.2", "0.34.0", "1.0", "latest", "", "0.32.0; rm", "9" * 5000])
def test_other_releases_are_refused(version: str) -> None:
    with pytest.raises(InputError, match="not known here") as refused:
        ENGINE.check(job(version=version))
    assert refused.value.field == "engine_version"


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"tensor_parallel": 3, "node": Node((device(),) * 3)}, "tensor_parallel", "32 attention heads cannot be divided by 3"),
        ({"shape": shape(TokenStore("full", 10, 128, 128), heads=40, feed=17_920), "tensor_parallel": 4, "node": Node((device(),) * 4)}, "tensor_parallel", "Possible: 1, 2, 5, 10"),
        ({"tensor_parallel": 2}, "count", "2 × 1 GPUs are asked for"),
        ({"pipeline_parallel": 40, "node": Node((device(),) * 40)}, "pipeline_parallel", "36 layers"),
        ({"cache_type_k": "q8_0", "cache_type_v": "q8_0"}, "cache_type", "no cache type"),
        ({"cache_type_k": "int4_per_token_head", "cache_type_v": "int4_per_token_head", "version": "0.24.0"}, "cache_type", "0.24.0 has no cache type"),
        ({"cache_type_k": "fp8"}, "cache_type_v", "same for both"),
        ({"cache_type_k": "fp8_ds_mla", "cache_type_v": "fp8_ds_mla"}, "cache_type", "latent attention"),
        ({"engine_args": ("--block-size", "17")}, "engine_args", "multiple of 16"),
        ({"engine_args": ("--dtype", "int8")}, "engine_args", "no --dtype int8"),
        ({"engine_args": ("--max-num-seqs", "256", "--max-num-batched-tokens", "128")}, "engine_args", "at least --max-num-seqs"),
        ({"engine_args": ("--no-enable-chunked-prefill", "--max-num-batched-tokens", "2048")}, "engine_args", "at least --max-model-len"),
        ({"engine_args": ("-sc", '{"method":"mtp","num_speculative_tokens":1e400}')}, "engine_args", "num_speculative_tokens"),
        ({"engine_args": ("--kv-cache-dtype-skip-layers", "sliding_window")}, "engine_args", "not computed here"),
        ({"shape": shape(TokenStore("sliding", 8, 128, 128, window=128)), "engine_args": ("-dcp", "2")}, "engine_args", "sliding windows"),
        ({"shape": shape(StateStore("rwkv", 1, 64, 0, 0, 1, 64, 64))}, "engine", "RWKV"),
        ({"shape": replace(shape(), layers=(Layer("none", ()),))}, "engine", "no cache"),
        (
            {"shape": shape(TokenStore("latent", 1, 576, 0, per_rank=True), TokenStore("sliding", 1, 1088, 0, window=512, per_rank=True))},
            "bytes_per_token",
            "not computed here",
        ),
    ],
)  # fmt: skip
def test_what_vllm_cannot_run_is_refused_at_its_field(changes: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        ENGINE.check(job(**changes))
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"engine_args": ("--max-model-len", "65536")}, "beyond_model"),
        ({"engine_args": ("--max-model-len", "4096")}, "context_above_max_model_len"),
        ({"engine_args": ("--config", "server.yaml")}, "config_file"),
        ({"engine_args": ("--spec-method", "eagle3")}, "draft_model"),
        ({"engine_args": ("--data-parallel-size", "2")}, "data_parallel"),
        ({"node": Node((device(),) * 2)}, "idle_devices"),
        ({"cache_type_k": "fp8", "cache_type_v": "fp8", "node": Node((device(name="A100", capability="8.0"),))}, "fp8_cache"),
        ({"node": Node((device(122_880, "GB10", "12.1", available=100 * GIB),))}, "unified_memory"),
        ({"shape": shape(TokenStore("sliding", 8, 128, 128, window=1024))}, "window_reserve"),
        ({"node": Node((device(8192),))}, "weights_too_large"),
    ],
)
def test_what_the_reader_must_know_is_said(changes: dict[str, object], code: str) -> None:
    assert code in {remark.code for remark in ENGINE.capacity(job(**changes)).remarks}


@pytest.mark.parametrize(
    ("mib", "name", "version", "expected"),
    [
        # engine/arg_utils.py, get_batch_defaults; measured with vLLM 0.32's parser.
        (81_559, "NVIDIA H100 80GB HBM3", "0.32.0", (1024, 8192)),
        (183_359, "NVIDIA B200", "0.32.0", (1024, 16_384)),
        (183_359, "NVIDIA B200", "0.24.0", (1024, 8192)),
        (81_920, "NVIDIA A100-SXM4-80GB", "0.32.0", (256, 2048)),
        (24_564, "NVIDIA GeForce RTX 4090", "0.32.0", (256, 2048)),
    ],
)
def test_batch_defaults_follow_the_card_and_the_release(mib: int, name: str, version: str, expected: tuple[int, int]) -> None:
    serving = settle(job(node=Node((device(mib, name),)), version=version))
    assert (serving.max_num_seqs, serving.max_num_batched_tokens) == expected
    assert ENGINE.default_batch_tokens(job(node=Node((device(mib, name),)), version=version)) == expected[1]


def test_stages_take_the_remainder_in_the_middle() -> None:
    # distributed/utils.py, get_pp_indices.
    assert [len(stage) for stage in stages(94, 0, 4)] == [23, 24, 24, 23]
    assert [len(stage) for stage in stages(7, 1, 3)] == [2, 3, 3]
    assert [len(stage) for stage in stages(36, 0, 1)] == [36]


def test_valid_tensor_parallel_sizes_divide_heads_and_share_or_replicate_kv_heads() -> None:
    assert valid_sizes(shape(), 16) == (1, 2, 4, 8, 16)
    assert valid_sizes(shape(TokenStore("full", 10, 128, 128), heads=40, feed=17_920), 16) == (1, 2, 5, 10)


def test_automatic_length_is_the_longest_that_fits() -> None:
    auto = job(cache_memory_bytes=GIB, engine_args=("--max-model-len", "auto"))
    # 455 blocks, one unused: 454 × 16 tokens.
    assert "for 7,264 tokens per request" in ENGINE.expect(auto, 1).lines[-1].line
    assert ENGINE.stated(auto) == (None, 7264)


def test_the_checkpoints_own_draft_layers_are_weighed_only_where_they_draft() -> None:
    weights = replace(job().weights, draft_bytes=GIB)
    drafting = ("-sc", '{"method":"mtp","num_speculative_tokens":2}')
    plain = line_of(job(weights=weights), "Weights")
    assert plain == QWEN3_8B_BYTES
    assert line_of(job(weights=weights, engine_args=drafting), "Weights") == plain + GIB
    two = job(weights=weights, engine_args=drafting, node=Node((device(),) * 2), tensor_parallel=2)
    assert line_of(two, "Weights") == plain // 2 + GIB // 2


def test_an_unquantised_draft_layer_or_a_dropped_window_changes_the_layers_that_are_cached() -> None:
    windowed = job(shape=shape(TokenStore("sliding", 8, 128, 128, window=1024)), engine_args=("--disable-sliding-window",))
    assert {store.window for layer in ENGINE.stored(windowed) for store, _ in layer if isinstance(store, TokenStore)} == {None}
    drafting = job(shape=replace(shape(), draft_layers=shape(count=1).layers), engine_args=("--spec-method", "mtp"))
    assert len(ENGINE.stored(drafting)) == 37


TOKEN = st.builds(
    lambda kind, heads, dim, window: TokenStore(kind, heads, dim, dim, window if kind in {"sliding", "chunked"} else None),
    st.sampled_from(["full", "sliding", "chunked"]), st.sampled_from([1, 2, 4, 8]), st.sampled_from([64, 128, 256]), st.sampled_from([16, 128, 4096]),
)  # fmt: skip
STATE = st.builds(
    lambda kind, heads, width: StateStore(kind, 3, heads * width, heads, width, heads, width, width, None),
    st.sampled_from(["mamba2", "gated_delta", "kda"]), st.sampled_from([8, 16]), st.sampled_from([64, 128]),
)  # fmt: skip
SHAPES = st.builds(
    lambda attention, states, repeats: replace(
        shape(), layers=(*(Layer("a", (store,)) for store in attention), *(Layer("s", (store,)) for store in states)) * repeats
    ),
    st.lists(TOKEN, min_size=1, max_size=3), st.lists(STATE, max_size=2), st.integers(1, 4),
)  # fmt: skip
TOKENS = st.integers(1, 200_000)


@given(SHAPES, TOKENS, TOKENS)
def test_more_tokens_never_need_less(model: ModelShape, one: int, other: int) -> None:
    less, more = sorted((one, other))
    small, large = (job(shape=model, context_tokens=tokens) for tokens in (less, more))
    assert ENGINE.request_bytes(small) <= ENGINE.request_bytes(large)
    pool = {"cache_memory_bytes": 4 * GIB}
    assert ENGINE.capacity(replace(small, **pool)).slots >= ENGINE.capacity(replace(large, **pool)).slots


@given(SHAPES, TOKENS, st.integers(0, 300), st.integers(0, 300))
def test_more_slots_never_need_less(model: ModelShape, tokens: int, one: int, other: int) -> None:
    less, more = sorted((one, other))
    found = job(shape=model, context_tokens=tokens)
    assert ENGINE.reserved_bytes(found, less) <= ENGINE.reserved_bytes(found, more)
    assert ENGINE.budget(found, less).size_of("cache") <= ENGINE.budget(found, more).size_of("cache")
    assert ENGINE.budget(found, less).size_of("free") >= ENGINE.budget(found, more).size_of("free")


@given(SHAPES, TOKENS)
def test_wider_elements_never_need_less(model: ModelShape, tokens: int) -> None:
    sizes = [
        ENGINE.request_bytes(job(shape=model, context_tokens=tokens, cache_type_k=name, cache_type_v=name, engine_args=("--dtype", dtype)))
        for name, dtype in (("fp8", "bfloat16"), ("auto", "bfloat16"), ("auto", "float32"))
    ]
    assert sizes == sorted(sizes)


@given(SHAPES, TOKENS, st.integers(1, 64 * GIB), st.integers(1, 64 * GIB))
def test_more_memory_never_holds_fewer_and_never_more_than_the_engine_has_blocks_for(
    model: ModelShape, tokens: int, one: int, other: int
) -> None:
    less, more = (ENGINE.capacity(job(shape=model, context_tokens=tokens, cache_memory_bytes=size)) for size in sorted((one, other)))
    assert less.slots <= more.slots
    blocks = ENGINE.expect(job(shape=model, context_tokens=tokens, cache_memory_bytes=max(one, other)), 1).values["num_blocks"]
    assert more.slots <= max(0, blocks - 1)


def test_weights_that_leave_nothing_for_the_cache_are_what_the_inequality_names() -> None:
    large = Weights(60 * GIB, 60 * GIB, "BF16", "computed", "parameters", 60 * GIB, 60 * GIB)
    capacity = ENGINE.capacity(job(weights=large))
    assert capacity.slots == 0
    assert capacity.inequality.startswith("60.00 GiB of weights and ")
    assert "vLLM may use 22.07 GiB" in capacity.inequality
    assert "blocks" not in capacity.inequality
