"""Laws of llama.cpp's memory policy: asking for more never needs less, whatever the model, and nothing breaks it."""

import string
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.contract import Job
from planner.core.engines.llama_server import ENGINE
from planner.core.engines.llama_server.cache_types import CACHE_TYPES
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.model_shape import FeedForward, Layer, ModelShape
from tests.core.llama_models import QWEN3_8B, card, job

dims = st.sampled_from([32, 64, 96, 128, 256])
growing = st.builds(TokenStore, kind=st.just("full"), heads=st.integers(1, 16), key_dim=dims, value_dim=dims)
windowed = st.builds(
    TokenStore,
    kind=st.just("sliding"),
    heads=st.integers(1, 16),
    key_dim=dims,
    value_dim=dims,
    window=st.sampled_from([128, 512, 1024, 4096]),
)
states = st.builds(
    StateStore, kind=st.just("mamba2"), conv_rows=st.integers(0, 4), inner=st.integers(1, 4096), groups=st.integers(0, 8),
    group_width=st.integers(1, 128), heads=st.integers(1, 64), head_rows=st.integers(1, 128), head_columns=st.integers(1, 128),
)  # fmt: skip
layers = st.lists(st.one_of(growing, windowed, states).map(lambda store: Layer(store.kind, (store,))), min_size=1, max_size=12)
shapes = st.builds(
    ModelShape,
    model_type=st.sampled_from(["llama", "gemma3", "gpt_oss", "qwen3next", "deepseek4", "unheard_of"]),
    architecture=st.just(""),
    layers=layers.map(tuple),
    hidden_size=st.integers(64, 8192),
    vocab_size=st.integers(1000, 300_000),
    attention_heads=st.integers(1, 128),
    max_context=st.none() | st.sampled_from([4096, 131_072]),
    dtype=st.just("bfloat16"),
    feed_forward=st.builds(FeedForward, intermediate_size=st.integers(0, 30_000)),
)
jobs = st.builds(job, shapes, node=st.just(Node((card(24),))), context=st.integers(1, 200_000), gib=st.sampled_from([0.5, 4.0, 30.0]))
few = settings(max_examples=60, deadline=None)


@given(jobs, st.integers(1, 40), st.integers(0, 40))
@few
def test_more_slots_never_need_less(asked: Job, slots: int, more: int) -> None:
    assert ENGINE.reserved_bytes(asked, slots + more) >= ENGINE.reserved_bytes(asked, slots)


@given(jobs, st.integers(1, 40), st.integers(0, 100_000))
@few
def test_more_tokens_never_need_less(asked: Job, slots: int, more: int) -> None:
    longer = replace(asked, context_tokens=asked.context_tokens + more)
    assert ENGINE.reserved_bytes(longer, slots) >= ENGINE.reserved_bytes(asked, slots)
    assert ENGINE.capacity(longer).slots <= ENGINE.capacity(asked).slots


@given(jobs, st.sampled_from(sorted(CACHE_TYPES)), st.sampled_from(sorted(CACHE_TYPES)))
@few
def test_wider_elements_never_need_less(asked: Job, one: str, other: str) -> None:
    narrow, wide = sorted((CACHE_TYPES[one], CACHE_TYPES[other]), key=lambda kind: kind.block_bytes / kind.block)
    sizes = [ENGINE.reserved_bytes(replace(asked, cache_type_k=kind.name, cache_type_v=kind.name), 2) for kind in (narrow, wide)]
    assert sizes[0] <= sizes[1]


@given(jobs)
@few
def test_the_slots_that_fit_do_fit_and_one_more_does_not(asked: Job) -> None:
    slots = ENGINE.capacity(asked).slots
    if slots:
        assert ENGINE.budget(asked, slots).size_of("free") >= 0
    if slots < 256:
        assert ENGINE.budget(asked, slots + 1).size_of("free") < 0


@given(jobs, st.integers(1, 8))
@few
def test_a_request_alone_needs_no_more_than_its_share(asked: Job, slots: int) -> None:
    assert ENGINE.request_bytes(asked) * slots == ENGINE.reserved_bytes(asked, slots)


words = st.one_of(
    st.sampled_from(
        [
            "-c",
            "-np",
            "-kvu",
            "-ctk",
            "-ctv",
            "-fa",
            "-ub",
            "-b",
            "--swa-full",
            "-ngl",
            "-ts",
            "-sm",
            "-fit",
            "-cram",
            "--kv-unified-per-slot",
        ]
    ),
    st.integers(-5, 10**19).map(str),
    st.text(string.printable, max_size=12),
)


@given(st.lists(words, max_size=12))
@settings(max_examples=150, deadline=None)
def test_any_command_line_is_planned_or_refused_in_a_sentence(line: list[str]) -> None:
    asked = replace(job(QWEN3_8B, node=Node((card(24),))), engine_args=tuple(line))
    try:
        ENGINE.check(asked)
    except InputError:
        return
    ENGINE.capacity(asked)
    budget = ENGINE.budget(asked, 2)
    assert sum(line.size_bytes for line in budget.lines) == budget.total_bytes


@pytest.mark.parametrize("version", ["b9093", "b11434"])
def test_every_question_has_an_answer_in_every_build(version: str) -> None:
    asked = job(QWEN3_8B, version=version)
    ENGINE.check(asked)
    assert ENGINE.cache_types(asked) == ("f16", "f16")
    assert ENGINE.default_batch_tokens(asked) == 2048
    store = asked.shape.growing[0]
    assert ENGINE.stored(asked) == (((store, 4096),),) * 36
    assert ENGINE.expect(asked, 1).lines
