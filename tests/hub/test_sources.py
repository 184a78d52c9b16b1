"""Where a model comes from: its own config, the catalogue, a GGUF file here or on the Hub, a repository's config.json and weights."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFWriter

from planner.core.errors import InputError
from planner.core.request import PlanRequest
from planner.hub import Hub, HubError
from planner.sources import find_model, source_from_gguf_file
from tests.hub import stand_in
from tests.hub.stand_in import Repo, StandIn

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 512,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip


def checkpoint(size: int) -> bytes:
    header = json.dumps({"model.layers.0.mlp.up_proj.weight": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" * size


@pytest.fixture
def gguf_file(tmp_path: Path) -> Path:
    """A model of two layers with 2 KV heads of 64, its embedding in 16 bit as the only tensor."""
    path = tmp_path / "tiny-F16.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(256)
    writer.add_block_count(2)
    writer.add_feed_forward_length(512)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(1)
    writer.add_vocab_size(1000)
    writer.add_tensor("token_embd.weight", np.zeros((1000, 256), np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def request(**values: Any) -> PlanRequest:
    return PlanRequest(model=values.pop("model", "team/model"), **values)


def test_a_config_of_its_own_wins_and_the_model_is_only_its_name() -> None:
    source = find_model(request(model="team/fine-tune", config=json.dumps(CONFIG)), None)
    assert (source.id, len(source.shape.layers), source.where) == ("team/fine-tune", 2, "the config.json you gave")


def test_the_catalogue_answers_without_a_hub() -> None:
    source = find_model(request(model="qwen3-8b"), None)
    assert source.id == "Qwen/Qwen3-8B"
    assert source.where.startswith("the catalogue (")
    assert source.parameters is not None
    assert source.parameters.total == 8_190_735_360


def test_without_a_hub_an_unknown_model_asks_for_its_config() -> None:
    with pytest.raises(InputError, match=r"give its config\.json"):
        find_model(request(), None)


def test_a_slip_in_a_name_is_told_the_catalogues_own_where_the_hub_has_no_such_model(hub: Hub) -> None:
    with pytest.raises(
        HubError, match=r"^“Qwen/Qwen3-8” is not in the catalogue \(close to it: Qwen/Qwen3-8B.*\)\. Qwen/Qwen3-8 is not on the Hub"
    ):
        find_model(request(model="Qwen/Qwen3-8"), hub)


def test_a_repository_gives_its_config_and_the_exact_bytes_of_its_weights(server: StandIn, hub: Hub) -> None:
    server.repos["team/model"] = Repo(files={"config.json": json.dumps(CONFIG).encode(), "model.safetensors": checkpoint(4096)})
    source = find_model(request(), hub)
    assert [(weights.format, weights.size_bytes, weights.grade) for weights in source.weights_files] == [("BF16", 4096, "exact")]
    assert source.revision is not None
    assert source.where == f"config.json on the Hub at {source.revision[:12]}"


def test_weights_that_cannot_be_read_are_estimated_and_that_is_said(server: StandIn, hub: Hub) -> None:
    repo = Repo(files={"config.json": json.dumps(CONFIG).encode(), "model.safetensors": b"\xff" * 64})
    server.repos["team/model"] = repo
    source = find_model(request(), hub)
    assert source.weights_files == ()
    assert [remark.code for remark in source.remarks] == ["weights_not_read"]
    assert "so they are estimated" in source.remarks[0].message


def test_a_repository_of_gguf_files_is_read_from_the_wanted_one(server: StandIn, hub: Hub, gguf_file: Path) -> None:
    content = gguf_file.read_bytes()
    server.repos["team/model"] = Repo(files={"tiny-Q4_K_M.gguf": content, "tiny-F16.gguf": content + b"\0" * 32})
    wanted, usual = find_model(request(weights_quant="F16"), hub), find_model(request(), hub)
    assert wanted.where.startswith("the header of tiny-F16.gguf")
    assert usual.where.startswith("the header of tiny-Q4_K_M.gguf")
    assert len(usual.shape.layers) == 2


def test_a_repository_without_config_and_weights_keeps_its_own_refusal(server: StandIn, hub: Hub) -> None:
    server.repos["team/model"] = Repo(files={"README.md": b"nothing else"})
    with pytest.raises(HubError, match=r"has no config\.json"):
        find_model(request(), hub)


def test_the_address_of_a_gguf_file_names_that_file(server: StandIn, hub: Hub, gguf_file: Path) -> None:
    server.repos["team/model"] = Repo(files={"tiny-F16.gguf": gguf_file.read_bytes()})
    source = find_model(request(model=f"{server.url}/team/model/blob/main/tiny-F16.gguf"), hub)
    assert source.weights_files[0].size_bytes == 1000 * 256 * 2
    assert source.weights_format == "F16"


def test_a_gguf_file_on_this_machine_has_exact_weights_and_parameters(gguf_file: Path) -> None:
    source = source_from_gguf_file(gguf_file)
    (weights,) = source.weights_files
    assert (source.id, weights.size_bytes, weights.grade) == ("tiny-F16", 512_000, "exact")
    assert source.parameters is not None
    assert source.parameters.total == 256_000


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model at all", b"GGUF\x03\0\0\0" + b"\xff" * 16])
def test_what_is_no_gguf_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"\.$"):
        source_from_gguf_file(path)


def test_a_vocabulary_without_weights_is_no_model(tmp_path: Path, gguf_file: Path) -> None:
    content = bytearray(gguf_file.read_bytes())
    struct.pack_into("<Q", content, 8, 0)
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match="holds no tensors") as refused:
        source_from_gguf_file(path)
    assert refused.value.field == "gguf"


def test_bytes_per_token_by_hand_stand_for_layers_that_are_not_known() -> None:
    strange = {**CONFIG, "layer_types": ["quantum_attention"] * 2}
    with pytest.raises(InputError, match="quantum_attention"):
        find_model(request(config=json.dumps(strange)), None)
    source = find_model(request(config=json.dumps(strange), bytes_per_token=100_000), None)
    assert sum(store.elements_per_row for store in source.shape.growing) * 2 == 100_000
    assert source.where.endswith("bytes per token typed in")


def test_a_stalling_hub_is_given_up_with_a_sentence(server: StandIn) -> None:
    server.repos["team/model"] = Repo(files={"config.json": json.dumps(CONFIG).encode()})
    server.faults["config.json"] = stand_in.stall
    with pytest.raises(HubError, match="did not answer in full within"):
        find_model(request(), Hub(endpoint=server.url, timeout_seconds=0.5))
