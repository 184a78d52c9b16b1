"""Attention kinds: facts of real models, and the contract that every kind found in the package keeps."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.attention import KINDS, HfConfig, kinds_of
from planner.core.attention.config import ConfigError, UnknownLayerError
from planner.core.attention.kind import AttentionKind
from planner.core.attention.schedule import layer_words
from planner.core.attention.stores import StateStore, TokenStore
from planner.core.model_shape import ModelShape
from planner.core.readers.hf_config import read_shape
from tests.core.model_facts import FACTS, Fact, every, latent, plain

by_name = {"argvalues": FACTS, "ids": lambda fact: fact.name}
by_kind = {"argvalues": KINDS, "ids": lambda kind: kind.name}


def token_bytes(shape: ModelShape) -> Fraction:
    return sum((Fraction(2 * store.elements_per_row, store.tokens_per_row) for store in shape.growing), Fraction(0))


def fixed_elements(shape: ModelShape) -> int:
    total = 0
    for store in shape.bounded:
        if isinstance(store, StateStore):
            total += store.conv_elements + store.state_elements
        else:
            total += store.elements_per_row * (store.window or shape.encoder_tokens or 0)
    return total


@pytest.mark.parametrize("fact", **by_name)
def test_a_model_caches_what_the_engines_measured(fact: Fact) -> None:
    shape = read_shape(fact.config)
    assert token_bytes(shape) == fact.token_bytes
    assert fixed_elements(shape) == fact.fixed_elements
    assert not fact.kinds or Counter(layer.kind for layer in shape.layers) == fact.kinds


@pytest.mark.parametrize("fact", **by_name)
def test_every_layer_is_claimed_by_exactly_one_kind(fact: Fact) -> None:
    config = HfConfig.of(fact.config)
    claims = Counter(layer for kind in KINDS for layer in kind.layers_in(config))
    assert claims == Counter(range(config.layers))


@pytest.mark.parametrize("kind", **by_kind)
def test_a_kind_is_met_by_a_fact_and_stores_whole_rows(kind: AttentionKind) -> None:
    met = [(config, layer) for fact in FACTS for config in (HfConfig.of(fact.config),) for layer in kind.layers_in(config)]
    assert met, f"no record of tests/core/model_facts.py has a layer of kind {kind.name}: add one"
    for config, layer in met:
        for store in kind.stores(config, layer):
            if isinstance(store, TokenStore):
                assert store.heads >= 1
                assert store.elements_per_row >= 1
                assert store.window is None or store.window >= 1
                assert not store.per_rank or store.heads == 1
            else:
                assert store.conv_elements + store.state_elements >= 1


def test_kinds_have_names_of_their_own() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 20


def test_a_layer_that_nothing_claims_is_refused_by_name() -> None:
    config = plain("llama", 2, 64, 2, 1, layer_types=["full_attention", "quantum_attention"])
    with pytest.raises(UnknownLayerError, match=r"Layer 1 .*model type llama.*quantum_attention.*bytes per token by hand"):
        read_shape(config)


def test_a_layer_claimed_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.core.attention.KINDS", (KINDS[0], *KINDS))
    with pytest.raises(UnknownLayerError, match="claimed by"):
        kinds_of(HfConfig.of({**next(fact.config for fact in FACTS if KINDS[0].layers_in(HfConfig.of(fact.config)))}))


SPELLINGS: list[tuple[dict[str, Any], str]] = [
    ({"layer_types": ["full_attention", "sliding_attention"] * 2, "sliding_window": 8}, "FSFS"),
    ({"layer_types": "alternating sliding_attention/full_attention", "sliding_window": 8}, "SFSF"),
    ({"layer_types": "1 full_attention : 2 sliding_attention", "sliding_window": 8}, "FSSF"),
    ({"layer_types": "full_attention at 1,3; sliding_attention elsewhere", "sliding_window": 8}, "SFSF"),
    ({"sliding_window": 8, "sliding_window_pattern": 3}, "SSFS"),
    ({"sliding_window": 8, "sliding_window_pattern": "LLLG"}, "SSSF"),
    ({"sliding_window": 8, "sliding_window_pattern": 1}, "FFFF"),
    ({"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 3}, "FFFS"),
    ({"sliding_window": 8, "use_sliding_window": False}, "FFFF"),
    ({"sliding_window": 8}, "SSSS"),
    ({"sliding_window": None}, "FFFF"),
    ({"sliding_window_size": 8, "sliding_window_layout": [0, 1, 1, 0]}, "FSSF"),
    ({"layers_block_type": ["attention", "moe", "mlp", "attention"]}, "FNNF"),
    ({"hybrid_override_pattern": "*-E*"}, "FNNF"),
    ({"attn_type_list": [1, 1, 1, 1]}, "FFFF"),
    ({"use_cla": True, "cla_share_factor": 2}, "F-F-"),
    ({"num_kv_shared_layers": 2}, "FF--"),
    ({"attention_chunk_size": 8, "no_rope_layers": [1, 1, 1, 0]}, "CCCF"),
    ({"attention_chunk_size": 8, "no_rope_layers": [], "no_rope_layer_interval": 2}, "CFCF"),
]
LETTERS = {"full_attention": "F", "sliding_attention": "S", "chunked_attention": "C", "no_attention": "N", "shared_attention": "-"}


@pytest.mark.parametrize(("keys", "expected"), SPELLINGS, ids=str)
def test_every_spelling_of_the_order_of_layers_is_read(keys: dict[str, Any], expected: str) -> None:
    words = layer_words(HfConfig.of(plain("some_model", 4, 64, 4, 2, **keys)))
    assert "".join(LETTERS[word] for word in words) == expected


@given(st.integers(1, 80), st.integers(1, 12))
def test_shorthand_and_list_mean_the_same(layers: int, period: int) -> None:
    listed = plain("m", layers, 64, 4, 2, sliding_window=8, layer_types=every(period, layers, "full_attention", "sliding_attention"))
    by_period = plain("m", layers, 64, 4, 2, sliding_window=8, sliding_window_pattern=period)
    assert layer_words(HfConfig.of(listed)) == layer_words(HfConfig.of(by_period))


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"layer_types": ["full_attention"] * 3}, "lists 3 layer types for num_hidden_layers 4"),
        ({"layer_types": [1, 2, 3, 4]}, "layer_types is a list of 4"),
        ({"layer_types": "some of these, some of those"}, "must be a list with one layer type per layer"),
        ({"mamba_d_state": 16}, "has mamba_d_state but does not say which layers"),
        ({"block_configs": [{}]}, "block_configs must be a list with one entry for each"),
        ({"sliding_window": -1}, "sliding_window is “-1”"),
        ({"num_kv_shared_layers": 4}, "num_kv_shared_layers is “4”"),
        ({"attn_type_list": [0, 1, 2, 3]}, "attn_type_list is “2”"),
    ],
)
def test_a_contradiction_about_layers_is_named(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        read_shape(plain("some_model", 4, 64, 4, 2, **keys))


def test_latent_vectors_and_index_keys_lie_whole_on_every_rank() -> None:
    shape = read_shape(latent("deepseek_v32", 2, 256, 4, index_head_dim=128))
    assert all(store.per_rank for store in shape.growing)


def test_the_state_type_is_what_the_file_asks_for() -> None:
    hybrid = next(fact.config for fact in FACTS if fact.name == "Qwen3-Next-80B-A3B")
    asked = read_shape({**hybrid, "mamba_ssm_dtype": "float32"}).bounded[0]
    silent = read_shape(hybrid).bounded[0]
    assert isinstance(asked, StateStore)
    assert isinstance(silent, StateStore)
    assert (asked.state_dtype, silent.state_dtype) == ("float32", None)
