"""Weight bytes through the Hub: headers in few requests, GGUF listings, and faults of the files."""

import json
import struct
from typing import Any

import pytest

from planner.core.errors import InputError
from planner.core.readers.hf_config import read_shape
from planner.core.weights import WeightLine
from planner.hub import Hub, HubError
from tests.hub import stand_in
from tests.hub.stand_in import Fault, Repo, StandIn

SHAPE = read_shape(
    {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 16,
        "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 32, "max_position_embeddings": 64, "torch_dtype": "bfloat16",
    }
)  # fmt: skip


def safetensors(*sizes: int, pad: int = 0) -> tuple[bytes, dict[str, Any]]:
    """A file of tensors of so many bytes, and its header as JSON."""
    header: dict[str, Any] = {"__metadata__": {"pad": "x" * pad}}
    position = 0
    for index, size in enumerate(sizes):
        name = f"model.layers.0.t{index}.weight"
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [position, position + size]}
        position += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"\0" * position, header


def put(server: StandIn, **files: bytes) -> Repo:
    repo = Repo(files=files)
    server.repos["team/model"] = repo
    return repo


def sharded(server: StandIn, count: int = 3) -> Repo:
    names = [f"model-{index:05d}-of-{count:05d}.safetensors" for index in range(1, count + 1)]
    files = {name: safetensors(100, 10 * index) for index, name in enumerate(names)}
    repo = put(server, **{"model.safetensors.index.json": b"{}", **{name: content for name, (content, _) in files.items()}})
    repo.headers = {name: header for name, (_, header) in files.items()}
    return repo


def test_a_single_file_takes_one_ranged_read(server: StandIn, hub: Hub) -> None:
    put(server, **{"model.safetensors": safetensors(1000, 24)[0]})
    (weights,) = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert (weights.size_bytes, weights.grade, weights.format) == (1024, "exact", "BF16")
    assert weights.source == "tensor headers of 1 safetensors file on the Hub"
    assert [request.path.rpartition("/")[2] for request in server.requests] == ["model?blobs=true", "model.safetensors"]
    assert server.requests[1].headers["range"].startswith("bytes=0-")


def test_a_long_header_takes_a_second_read_of_just_the_rest(server: StandIn, hub: Hub) -> None:
    put(server, **{"model.safetensors": safetensors(1000, pad=200_000)[0]})
    (weights,) = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert weights.size_bytes == 1000
    assert [request.headers.get("range", "")[:13] for request in server.requests[1:]] == ["bytes=0-13107", "bytes=131072-"]


def test_all_headers_of_a_sharded_model_come_in_one_request(server: StandIn, hub: Hub) -> None:
    sharded(server)
    (weights,) = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert weights.size_bytes == 300 + 10 + 20
    assert len(server.requests) == 2
    hub.weights("team/model", shape=SHAPE, parameters=None)
    assert len(server.requests) == 2


def test_a_mirror_without_that_route_is_read_file_by_file(server: StandIn, hub: Hub) -> None:
    sharded(server).headers = None
    (weights,) = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert (weights.size_bytes, weights.grade) == (330, "exact")


@pytest.mark.parametrize(
    "headers",
    [
        {}, [], "x", {"model-00001-of-00003.safetensors": {}},
        # Headers of another commit: one tensor is larger than its file here.
        {f"model-{i:05d}-of-00003.safetensors": safetensors(10_000)[1] for i in (1, 2, 3)},
        {f"model-{i:05d}-of-00003.safetensors": {"t": {"dtype": "U8", "shape": [5], "data_offsets": [0, 4]}} for i in (1, 2, 3)},
        {f"model-{i:05d}-of-00003.safetensors": None for i in (1, 2, 3)},
    ],
)  # fmt: skip
def test_collected_headers_that_do_not_fit_the_files_are_not_used(server: StandIn, hub: Hub, headers: Any) -> None:
    sharded(server).headers = headers
    (weights,) = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert weights.size_bytes == 330


def test_a_hundred_files_without_that_route_go_by_their_sizes(server: StandIn, hub: Hub) -> None:
    repo = sharded(server, 100)
    repo.headers = None
    (weights,) = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert weights.grade == "measured"
    assert weights.size_bytes == sum(len(content) for name, content in repo.files.items() if name.startswith("model-"))
    assert len(server.requests) == 2


def test_what_lies_beside_the_model_is_not_counted(server: StandIn, hub: Hub) -> None:
    other = safetensors(5000)[0]
    put(
        server,
        **{
            "model.safetensors": safetensors(64)[0], "consolidated.safetensors": other, "adapter_model.safetensors": other,
            "original/model.safetensors": other,
        },
    )  # fmt: skip
    (weights,) = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert weights.size_bytes == 64


def test_a_server_that_knows_no_ranges_is_not_read_to_its_end(server: StandIn, hub: Hub) -> None:
    server.ranges = False
    put(server, **{"model.safetensors": safetensors(5_000_000)[0]})
    (weights,) = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert weights.size_bytes == 5_000_000


def test_a_header_behind_a_server_without_ranges_is_refused(server: StandIn, hub: Hub) -> None:
    server.ranges = False
    put(server, **{"model.safetensors": safetensors(1000, pad=200_000)[0]})
    with pytest.raises(HubError, match="does not give parts of"):
        hub.weights("team/model", shape=SHAPE, parameters=None)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (stand_in.wrong_range, "another length"),
        (stand_in.short_range, "another length"),
        (stand_in.end_early, "ended early|another length"),
        (stand_in.status(404, "EntryNotFound"), "has no model.safetensors"),
        (stand_in.status(401, "GatedRepo"), "is gated"),
        (stand_in.status(416), "HTTP 416"),
        (stand_in.redirect("https://169.254.169.254/latest"), "169.254.169.254, which is not followed"),
        (stand_in.redirect("http://127.0.0.1:1/x"), "which is not followed"),
        (stand_in.body(b"\xff" * 300_000), "header claims"),
    ],
)
def test_a_file_that_cannot_be_read_gives_no_partial_sum(server: StandIn, hub: Hub, fault: Fault, sentence: str) -> None:
    put(server, **{"model.safetensors": safetensors(1000)[0]})
    server.faults["/resolve/"] = fault
    with pytest.raises(InputError, match=sentence):
        hub.weights("team/model", shape=SHAPE, parameters=None)


def test_a_stall_in_one_of_many_files_ends_at_the_deadline(server: StandIn) -> None:
    sharded(server).headers = None
    server.faults["00002-of"] = stand_in.stall
    with pytest.raises(HubError, match=r"within 0\.5 s"):
        Hub(endpoint=server.url, timeout_seconds=0.5).weights("team/model", shape=SHAPE, parameters=None)


@pytest.mark.parametrize("content", [b"", b"\0" * 4, b"\xff" * 8, struct.pack("<Q", 10) + b"{}"])
def test_a_file_that_is_no_safetensors_is_refused(server: StandIn, hub: Hub, content: bytes) -> None:
    put(server, **{"model.safetensors": content})
    with pytest.raises(InputError, match="cannot be used"):
        hub.weights("team/model", shape=SHAPE, parameters=None)


def test_a_file_that_was_cut_is_not_taken_for_whole(server: StandIn, hub: Hub) -> None:
    put(server, **{"model.safetensors": safetensors(1000)[0][:-1]})
    with pytest.raises(InputError, match="describes"):
        hub.weights("team/model", shape=SHAPE, parameters=None)


def test_gguf_formats_are_listed_by_size_with_the_image_encoder_as_a_line(server: StandIn, hub: Hub) -> None:
    put(
        server,
        **{
            "m-Q8_0.gguf": b"x" * 800, "m-UD-Q4_K_XL.gguf": b"x" * 450, "mmproj-F32.gguf": b"x" * 90, "mmproj-F16.gguf": b"x" * 45,
            "BF16/m-BF16-00001-of-00002.gguf": b"x" * 900, "BF16/m-BF16-00002-of-00002.gguf": b"x" * 700,
            "m-Q2_K-00001-of-00002.gguf": b"x" * 10, "imatrix.gguf": b"x", "README.md": b"x",
        },
    )  # fmt: skip
    found = hub.weights("team/model", shape=SHAPE, parameters=None)
    assert [(weights.format, weights.size_bytes) for weights in found] == [("UD-Q4_K_XL", 495), ("Q8_0", 845), ("BF16", 1645)]
    assert found[0].lines == (WeightLine("model", 450), WeightLine("image encoder (mmproj-F16.gguf)", 45))
    assert found[2].source == "size of BF16/m-BF16-00001-of-00002.gguf and 1 more on the Hub"
    assert len(server.requests) == 1


def gguf(padding: int) -> bytes:
    """A minimal GGUF head (version 3, no tensors, one text), as ggml docs/gguf.md lays it out."""
    text = b"general.architecture"
    value = b"llama"
    return (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(text)) + text + struct.pack("<IQ", 8, len(value)) + value
        + b"\0" * padding
    )  # fmt: skip


def test_of_a_gguf_file_only_the_head_is_read(server: StandIn, hub: Hub) -> None:
    put(server, **{"m-Q8_0.gguf": gguf(5_000_000)})
    assert hub.gguf(hub.repo("team/model"), "m-Q8_0.gguf").metadata["general.architecture"] == "llama"
    assert [request.headers.get("range") for request in server.requests[1:]] == ["bytes=0-2097151"]


def test_a_gguf_file_that_is_not_there_is_named(server: StandIn, hub: Hub) -> None:
    put(server, **{"m-Q8_0.gguf": b""})
    repo = hub.repo("team/model")
    with pytest.raises(HubError, match=r"has no file m-Q4_0\.gguf"):
        hub.gguf(repo, "m-Q4_0.gguf")
