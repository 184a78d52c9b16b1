"""Real configurations against what the engines planned for them. Runs where the collection lies beside the repository."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.core.attention.config import ConfigError
from planner.core.attention.stores import StateStore, TokenStore
from planner.core.model_shape import ModelShape
from planner.core.precision import row_bytes
from planner.core.readers.hf_config import compact_config, expand_config, read_shape

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
pytestmark = pytest.mark.skipif(not (SHARED / "truth").is_dir(), reason="the collection of real configurations is not here")

# vLLM plans these beside the caches a configuration describes: DeepSeek-V4's compressor states, (heads, window).
COMPRESSOR_STATES = {(512, 8), (2048, 8), (1024, 128)}
WINDOWS_LLAMA_CPP_IGNORES = {"mistral", "phi3"}


def rows(name: str) -> Iterator[dict[str, Any]]:
    path = SHARED / "truth" / name
    if path.is_file():
        with path.open() as lines:
            yield from (json.loads(line) for line in lines)


def configurations(folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((SHARED / "data" / folder).glob("*.json")):
        yield path.stem, json.loads(path.read_text())


def planned(spec: dict[str, Any]) -> tuple[Any, ...] | None:
    """What one of vLLM's specs says of a layer on one GPU, in the terms of a store."""
    window = spec.get("sliding_window") or spec.get("attention_chunk_size")
    match spec["type"]:
        case "MambaSpec":
            return ("state", *map(tuple, spec["shapes"]))
        case "MLAAttentionSpec" | "SlidingWindowMLASpec":
            blob = (spec["head_size"], window)
            return None if blob in COMPRESSOR_STATES else ("latent", *blob, int(spec.get("tokens_per_state") or 1))
        case _:
            return "tokens", spec["num_kv_heads"], spec["head_size"], spec["head_size_v"], window


def described(store: TokenStore | StateStore, shape: ModelShape, ranks: int) -> tuple[Any, ...]:
    """The same of one of our stores. vLLM keeps an index key as 8-bit elements with a 4-byte scale, except MiniMax-M3's."""
    if isinstance(store, StateStore):
        channels = (store.inner + 2 * store.groups * store.group_width) // ranks
        conv = [(store.conv_rows, channels)] if store.conv_rows else []
        return ("state", *conv, *([(store.heads // ranks, store.head_rows, store.head_columns)] if store.heads else []))
    if store.per_rank:
        scaled = store.kind == "indexer" and not any(s.kind == "full" for s in shape.growing)
        return "latent", store.key_dim + 4 * scaled, store.window, store.tokens_per_row
    return "tokens", max(1, store.heads // ranks), store.key_dim, store.value_dim, store.window


def test_every_store_is_what_vllm_planned() -> None:
    checked = 0
    for row in rows("vllm.jsonl"):
        if (row["extra_args"] or {}).get("speculative_config"):
            continue  # drafting lengthens the convolutions: the engine's business
        shape = read_shape(row["hf_config"])
        expected: Counter[tuple[Any, ...]] = Counter()
        for spec in row["layer_specs"]:
            if (one := planned(spec)) is not None:
                expected[one] += spec["count"]
        assert Counter(described(store, shape, row["tp"]) for store in shape.stores()) == expected, row["label"]
        assert row["max_model_len"] <= (shape.max_context or row["max_model_len"]), row["label"]
        checked += 1
    assert checked > 300


def test_every_cache_has_the_layers_and_bytes_that_llama_server_printed() -> None:
    checked = 0
    for row in rows("llama_cpp.jsonl"):
        if row["hf_config"] is None or not row["loaded"]:
            continue
        shape = read_shape(row["hf_config"])
        stores = [store for store in shape.stores() if isinstance(store, TokenStore)]
        local = shape.model_type not in WINDOWS_LLAMA_CPP_IGNORES
        for cache in row["kv_caches"]:
            fitting = [
                group
                for chosen in ("windowed", "indexer", "rest")
                if (
                    group := [
                        s for s in stores if ("windowed" if s.window and local else "indexer" if s.kind == "indexer" else "rest") == chosen
                    ]
                )
                and len(group) == cache["layers"]
                and key_mib(group, cache) == pytest.approx(cache["k_mib"], abs=0.01)
            ]
            assert fitting, (row["id"], cache)
        states = sum(s.conv_elements + s.state_elements for s in shape.stores() if isinstance(s, StateStore)) * 4
        for buffer in row["rs"]:
            assert buffer["mib"] == pytest.approx(states * buffer["cells"] * (1 + buffer["n_rs_seq"]) / 2**20, abs=0.02), row["id"]
        checked += 1
    assert checked > 100


def key_mib(stores: list[TokenStore], cache: dict[str, Any]) -> float:
    return sum(row_bytes(cache["type_k"], s.heads * s.key_dim) for s in stores) * cache["cells"] * cache["n_stream"] / 2**20


def test_real_files_give_a_shape_or_say_what_kind_of_model_they_are() -> None:
    refused = {}
    for name, config in configurations("configs"):
        try:
            shape = read_shape(config)
        except ConfigError as refusal:
            refused[name] = str(refusal)
            continue
        assert read_shape(expand_config(compact_config(config))) == shape, name
        assert shape.growing or shape.bounded, name
    unexplained = {name: sentence for name, sentence in refused.items() if "plans for models that generate text" not in sentence}
    assert len(unexplained) <= 3, unexplained
    assert len(refused) < 12


def test_class_defaults_and_transcribed_files_give_a_shape_or_a_question() -> None:
    refused = [
        name
        for folder in ("configs_from_defaults", "configs_transcribed")
        for name, config in configurations(folder)
        if not readable(config)
    ]
    assert refused == ["ibm-ai-platform__Bamba-9B-v2"]  # its class default names no attention layers at all


def readable(config: dict[str, Any]) -> bool:
    try:
        read_shape(config)
    except ConfigError:
        return False
    return True


def test_the_figures_of_the_index_come_out() -> None:
    with (SHARED / "data" / "configs_index.csv").open() as table:
        entries = list(csv.DictReader(table))
    compared = 0
    for entry in entries:
        config = json.loads((SHARED / "data" / "configs" / entry["file"]).read_text())
        if not readable(config):
            continue
        shape = read_shape(config)
        for column, value in (
            ("num_layers", len(shape.layers)),
            ("num_attention_heads", shape.attention_heads),
            ("hidden_size", shape.hidden_size),
            ("vocab_size", shape.vocab_size),
            ("num_experts", shape.feed_forward.experts),
        ):
            if entry[column].isdigit() and int(entry[column]):
                assert value == int(entry[column]), (entry["file"], column)
                compared += 1
    assert compared > 1000
