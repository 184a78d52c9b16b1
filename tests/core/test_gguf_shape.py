"""GGUF metadata read into the layers that llama.cpp's loader would make of it."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.attention.stores import TokenStore
from planner.core.readers.gguf_metadata import GgufError
from planner.core.readers.gguf_shape import NOT_GENERATIVE, read_gguf_shape
from tests.core.llama_models import DEEPSEEK_V3, GEMMA_3_4B, QWEN3_8B, QWEN35_35B, gguf, heads, latent, some

MAMBA = {"ssm__conv_kernel": 4, "ssm__inner_size": 8192, "ssm__state_size": 128, "ssm__group_count": 8, "ssm__time_step_rank": 128}

# (metadata, layers of every kind), by the loader of each architecture in llama.cpp b11434 src/models.
KINDS = [
    (QWEN3_8B, {"full": 36}),
    (GEMMA_3_4B, {"full": 5, "sliding": 29}),
    (gguf("gemma3", 26, 1152, 4, 1, **heads(256)), {"full": 26}),  # no window stated: none
    (gguf("gemma2", 26, 2304, 8, 4, **heads(256)), {"full": 13, "sliding": 13}),
    (gguf("cohere2", 32, 4096, 32, 8, attention__sliding_window=4096, **heads(128)), {"full": 8, "sliding": 24}),
    (gguf("olmo2", 32, 4096, 32, 32), {"full": 32}),
    (gguf("olmo2", 32, 4096, 32, 32, attention__sliding_window=4096), {"full": 8, "sliding": 24}),
    (gguf("exaone4", 64, 5120, 40, 8, attention__sliding_window=4096), {"full": 16, "sliding": 48}),
    (gguf("exaone4", 30, 2048, 32, 8, attention__sliding_window=4096), {"full": 30}),
    (gguf("llama4", 48, 5120, 40, 8), {"full": 12, "chunked": 36}),
    (gguf("llama4", 48, 5120, 40, 8, attention__sliding_window=0), {"full": 48}),
    (gguf("laguna", 48, 3072, 24, 8, attention__sliding_window=512), {"full": 12, "sliding": 36}),
    (gguf("laguna", 48, 3072, 24, 8, attention__sliding_window=512, attention__sliding_window_pattern=2), {"full": 24, "sliding": 24}),
    (gguf("gemma3n", 30, 2048, 8, 2, attention__sliding_window=512), {"full": 4, "sliding": 16, "none": 10}),
    (gguf("llama", 32, 4096, 32, 8, attention__sliding_window=4096), {"full": 32}),
    (QWEN35_35B, {"full": 10, "gated_delta": 30}),
    (gguf("qwen3next", 4, 2048, 16, 2, attention__recurrent_layers=[True, False, True, True], **MAMBA), {"full": 1, "gated_delta": 3}),
    (gguf("falcon-h1", 24, 2048, 8, 2, **MAMBA), {"full": 24}),
    (gguf("mamba2", 64, 4096, 0, 0, **MAMBA), {"mamba2": 64}),
    (gguf("rwkv7", 32, 2560, 0, 0, wkv__head_size=64), {"rwkv": 32}),
    (gguf("minimax-01", 80, 6144, 64, 8, **heads(128)), {"full": 10, "linear": 70}),
    (
        gguf("nemotron_h", 4, 4096, 32, [0, 0, 8, 0], feed_forward_length=[0, 21504, 0, 0], **MAMBA, **heads(128)),
        {"mamba2": 2, "none": 1, "full": 1},
    ),
    (gguf("deci", 4, 4096, 32, [8, 0, 8, 0]), {"full": 2, "none": 2}),
    (DEEPSEEK_V3, {"latent": 61}),
    (gguf("deepseek2", 27, 2048, 16, 16, **heads(192, 128)), {"full": 27}),
    # files that llama.cpp itself writes: every key of every architecture, with 0 for what a model has not, and lists where layers differ
    (gguf("llama", 2, 256, 2, 2, attention__key_length_mla=0, attention__value_length_mla=0, attention__indexer__kpool=0), {"full": 2}),
    (latent("deepseek32", 2, 256, 2, attention__indexer__key_length=128, attention__indexer__kpool=0), {"latent": 2}),
    (gguf("deci", 2, 4096, 32, [8, 0], attention__head_count=[32, 0]), {"full": 1, "none": 1}),
    (latent("kimi-linear", 27, 2304, 32, some(27, {3, 7, 11, 15, 19, 23, 26}, 1), kda__head_dim=128), {"latent": 7, "kda": 20}),
    (gguf("glm4moe", 47, 4096, 96, 8, nextn_predict_layers=1, **heads(128)), {"full": 46}),
]  # fmt: skip


@pytest.mark.parametrize(("metadata", "kinds"), KINDS)
def test_every_layer_has_the_kind_its_loader_gives_it(metadata: dict[str, object], kinds: dict[str, int]) -> None:
    assert Counter(layer.kind for layer in read_gguf_shape(metadata).layers) == kinds


def indexed(shape_of: dict[str, object]) -> list[int]:
    shape = read_gguf_shape(shape_of)
    return [
        number for number, layer in enumerate(shape.layers) if any(s.kind == "indexer" for s in layer.stores if isinstance(s, TokenStore))
    ]


def test_index_keys_are_where_the_file_or_the_loader_puts_them() -> None:
    index = {"attention__indexer__key_length": 128}
    assert indexed(latent("deepseek32", 61, 7168, 128, **index)) == list(range(61))
    assert indexed(latent("glm-dsa", 12, 6144, 64, **index)) == list(range(12))
    assert indexed(latent("glm-dsa", 12, 6144, 64, context_length=1_048_576, **index)) == [0, 1, 2, 6, 10]
    assert indexed(latent("glm-dsa", 4, 6144, 64, attention__indexer__types=[1, 0, 0, 1], **index)) == [0, 3]
    assert indexed(gguf("minimax-m3", 6, 6144, 48, 4, leading_dense_block_count=2, **index, **heads(128))) == [2, 3, 4, 5]


def test_draft_layers_stand_apart() -> None:
    shape = read_gguf_shape(gguf("glm4moe", 47, 4096, 96, 8, nextn_predict_layers=1, **heads(128)))
    assert (len(shape.layers), len(shape.draft_layers)) == (46, 1)


def test_sizes_the_file_leaves_out_follow_from_the_others() -> None:
    shape = read_gguf_shape(
        {"general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 4096, "llama.attention.head_count": 32}
    )
    assert shape.layers[0].stores == (TokenStore("full", heads=32, key_dim=128, value_dim=128),)
    assert (shape.max_context, shape.vocab_size, shape.head_dim) == (None, 0, 128)


def test_experts_are_counted() -> None:
    ff = read_gguf_shape(QWEN35_35B).feed_forward
    assert (ff.experts, ff.experts_per_token, ff.expert_intermediate_size) == (256, 8, 512)


REFUSED = [
    ({}, "general.architecture is missing"),
    ({"general.architecture": "llama"}, "llama.block_count is missing"),
    ({**QWEN3_8B, "qwen3.block_count": 0}, "from 1 to"),
    ({**QWEN3_8B, "qwen3.block_count": 10**12}, "from 1 to"),
    ({**QWEN3_8B, "qwen3.block_count": "36"}, "whole number"),
    ({**QWEN3_8B, "qwen3.embedding_length": 1.5}, "whole number"),
    ({**QWEN3_8B, "qwen3.attention.head_count_kv": [8] * 5}, "5 entries"),
    ({**QWEN3_8B, "qwen3.attention.head_count_kv": [8] * 35 + [-1]}, "whole number"),
    (gguf("gemma4", 4, 1024, 8, 2, attention__sliding_window=512), "says which layers have a window"),
    (gguf("qwen3", 2, 4096, 32, 8, nextn_predict_layers=2), "only draft layers"),
    (gguf("bert", 12, 768, 12, 12), "no generative text model"),
    (gguf("clip", 12, 768, 12, 12), "no generative text model"),
]


@pytest.mark.parametrize(("metadata", "reason"), REFUSED)
def test_metadata_that_cannot_be_planned_with_is_refused_in_words(metadata: dict[str, object], reason: str) -> None:
    with pytest.raises(GgufError, match=reason):
        read_gguf_shape(metadata)


keys = st.sampled_from(
    [
        key.partition(".")[2]
        for key in {**QWEN3_8B, **QWEN35_35B, **DEEPSEEK_V3, **GEMMA_3_4B}
        if not key.startswith("general") and not key.endswith("block_count")
    ]
)
numbers = st.one_of(st.integers(-(2**70), 2**70), st.integers(0, 64), st.floats(), st.booleans(), st.none(), st.text(max_size=5))
values = st.one_of(numbers, st.lists(numbers, max_size=70))
architectures = st.sampled_from(
    ["llama", "gemma3", "gemma4", "deepseek2", "deepseek4", "glm-dsa", "qwen35moe", "lfm2", "rwkv7", "nemotron_h", "\x00"]
)


@given(architectures, st.dictionaries(keys, values, max_size=12), st.integers(1, 64))
@settings(max_examples=300, deadline=None)
def test_any_metadata_is_a_shape_or_a_refusal(arch: str, facts: dict[str, object], layers: int) -> None:
    base = {"block_count": layers, "embedding_length": 64, "attention.head_count": 4}
    metadata = {"general.architecture": arch, **{f"{arch}.{key}": value for key, value in {**base, **facts}.items()}}
    try:
        shape = read_gguf_shape(metadata)
    except GgufError as refusal:
        assert str(refusal)  # noqa: PT017 - either outcome is right
    else:
        assert len(shape.layers) + len(shape.draft_layers) == metadata[f"{arch}.block_count"]


def test_what_generates_no_text_is_known() -> None:
    assert "bert" in NOT_GENERATIVE
    assert "llama" not in NOT_GENERATIVE
