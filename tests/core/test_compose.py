"""The Compose file: keys of the specification only, and a parser reads back the values that were put in."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.engines import _compose, engines
from planner.core.engines._systemd import Argument
from planner.core.engines.contract import Setting
from planner.core.hardware import Node
from planner.core.units import GIB
from tests.by_hand import CPU, MI300X, RTX_4090
from tests.core.test_hand_over import handed

# The part of the specification that these files use, as (key → what it may hold). A tuple is a list of one kind, a set of types the choice.
# Source: compose-spec/compose-spec, schema/compose-spec.json, definitions `service`, `healthcheck`, `deployment`, `devices`; whole files
# were validated with that schema on 2026-11-04.
DEVICE = {"driver": str, "count": int, "capabilities": (str,)}
SERVICE: dict[str, Any] = {
    "image": str,
    "entrypoint": (str,),
    "command": (str,),
    "environment": {"*": str},
    "env_file": ({"path": str, "required": bool},),
    "ports": ({"target": int, "published": str, "host_ip": str},),
    "volumes": ({"type": str, "source": str, "target": str, "read_only": bool, "bind": {"create_host_path": bool}},),
    "deploy": {"resources": {"reservations": {"devices": (DEVICE,)}}},
    "devices": (str,),
    "shm_size": str,
    "ulimits": {"memlock": int},
    "security_opt": (str,),
    "restart": str,
    "stop_grace_period": str,
    "healthcheck": {"test": (str,), "interval": str, "timeout": str, "retries": int, "start_period": str},
}
FILE = {"name": str, "services": {"*": SERVICE}, "volumes": {"*": {}}}


def problems(value: Any, allowed: Any, where: str = "") -> list[str]:
    if isinstance(allowed, Mapping):
        if not isinstance(value, Mapping):
            return [f"{where} is no mapping"]
        return [
            problem
            for key, each in value.items()
            for problem in (
                problems(each, allowed.get(key, allowed.get("*")), f"{where}.{key}")
                if key in allowed or "*" in allowed
                else [f"{where}.{key} is no key"]
            )
        ]
    if isinstance(allowed, tuple):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [problem for number, each in enumerate(value) for problem in problems(each, allowed[0], f"{where}[{number}]")]
    return [] if type(value) is allowed else [f"{where} is a {type(value).__name__}"]


def file_of(name: str, **changes: Any) -> str | None:
    return next((file.content for file in handed(name, **changes).files if file.path.endswith("compose.yaml")), None)


def service_of(name: str, **changes: Any) -> dict[str, Any]:
    return yaml.safe_load(file_of(name, **changes) or "")["services"][name]


@pytest.mark.parametrize("name", sorted(engines()))
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"node": Node((RTX_4090, RTX_4090)), "tensor_parallel": 2, "host": "0.0.0.0", "port": 9000},  # noqa: S104 - what a user types
        {"node": Node((MI300X,))},
        {"node": Node((CPU,), 8 * GIB), "weight_format": "Q4_K_M"},
        {"model_path": "/srv/my models/50%$x.gguf", "host": "server.lan"},
        {"model": "Qwen/Qwen3-8B-GGUF"},
    ],
    ids=["one-card", "two-cards", "amd", "cpu", "own-file", "hub"],
)
def test_only_keys_of_the_specification_are_written(name: str, changes: dict[str, Any]) -> None:
    text = file_of(name, **changes)
    if text is None:
        assert name == "vllm"
        assert not changes["node"].has_gpu
        return
    assert problems(yaml.safe_load(text), FILE) == []
    assert "it was not run here" in text.replace("\n# ", " ")
    assert list(yaml.safe_load(text)["services"]) == [name]


def test_the_check_itself_sees_a_key_that_does_not_exist() -> None:
    assert problems({"services": {"a": {"imagee": "x", "ports": [{"target": "80"}]}}}, FILE) == [
        ".services.a.imagee is no key",
        ".services.a.ports[0].target is a str",
    ]


def unescaped(value: str) -> str:
    """What Compose hands on: `$$` is a dollar sign, anything else after one a variable, of which there must be none."""
    assert not re.search(r"(?<!\$)(\$\$)*\$(?!\$)", value), value
    return value.replace("$$", "$")


def test_a_path_with_a_dollar_sign_reaches_the_engine_as_it_is() -> None:
    service = service_of("llama-server", model_path="/srv/my models/50%$x.gguf")
    command = [unescaped(word) for word in service["command"]]
    assert command[command.index("--model") + 1] == "/srv/my models/50%$x.gguf"
    assert unescaped(service["volumes"][0]["source"]) == "/srv/my models/50%$x.gguf"
    assert service["volumes"][0]["read_only"] is True


def test_inside_the_container_it_listens_everywhere_and_outside_only_where_asked() -> None:
    for name, changes, host in (
        ("vllm", {}, "127.0.0.1"),
        ("llama-server", {"host": "192.0.2.7"}, "192.0.2.7"),
        ("ollama", {"host": "::"}, "::"),
    ):
        service = service_of(name, port=9000, **changes)
        assert service["ports"] == [{"target": 9000, "published": "9000", "host_ip": host}]
        if name == "ollama":
            assert service["environment"]["OLLAMA_HOST"] == "0.0.0.0:9000"
        else:
            assert service["command"][-2:] == ["--host", "0.0.0.0"]  # noqa: S104 - what is written
            assert service["command"].count("--host") == 1


def test_several_gpus_get_shared_memory_and_the_reservation() -> None:
    service = service_of("vllm", node=Node((RTX_4090, RTX_4090)), tensor_parallel=2)
    assert service["shm_size"] == "10gb"
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["count"] == 2
    assert "shm_size" not in service_of("vllm")


@pytest.mark.parametrize(
    ("name", "changes", "image"),
    [
        ("vllm", {}, "vllm/vllm-openai:v0.33.0"),
        ("vllm", {"version": "0.17"}, "vllm/vllm-openai:v0.17.0"),
        ("vllm", {"node": Node((MI300X,))}, "vllm/vllm-openai-rocm:v0.33.0"),
        ("llama-server", {"version": "b9873"}, "ghcr.io/ggml-org/llama.cpp:server-cuda-b9873"),
        ("llama-server", {"node": Node((MI300X,))}, "ghcr.io/ggml-org/llama.cpp:server-rocm-b11434"),
        ("llama-server", {"node": Node((CPU,), 8 * GIB)}, "ghcr.io/ggml-org/llama.cpp:server-b11434"),
        ("ollama", {"node": Node((MI300X,))}, "ollama/ollama:0.33.0-rocm"),
        ("ollama", {}, "ollama/ollama:0.33.0"),
    ],
)
def test_the_image_is_that_of_the_version_and_the_devices(name: str, changes: dict[str, Any], image: str) -> None:
    assert service_of(name, **changes)["image"] == image


TEXT = st.text(max_size=40)


@settings(max_examples=100)
@given(word=TEXT, why=TEXT, value=TEXT, path=TEXT)
def test_any_text_reads_back_as_it_was_or_is_refused(word: str, why: str, value: str, path: str) -> None:
    container = _compose.Container(
        image="i",
        image_why=why,
        entrypoint=("e",),
        arguments=(Argument((word, value), why),),
        variables=(_compose.Variable("NAME", value, why),),
        health=("h",),
        files=(path,),
    )
    try:
        text = _compose.compose(
            [why], "x", container, Node((CPU,)), published=_compose.Published(host="::1", port=1, why=why), secrets=None, start_seconds=1
        )
    except ValueError:
        return
    service = yaml.safe_load(text)["services"]["x"]
    assert problems(yaml.safe_load(text), FILE) == []
    assert [unescaped(each) for each in service["command"]] == [word, value]
    assert unescaped(service["environment"]["NAME"]) == value
    assert unescaped(service["volumes"][0]["source"]) == path


def test_every_file_that_an_option_names_is_there_in_the_container() -> None:
    settings = [
        Setting("--lora-modules", "a=/srv/a", "", more=("b=/srv/b",)),
        Setting("--lora", "/srv/c,/srv/d", ""),
        Setting("--alias", "Qwen/Qwen3-8B", ""),
        Setting(None, "/var/lib/x", "", env="HF_HOME"),
        Setting("--metrics", None, ""),
    ]
    assert _compose.files_in(settings) == ("/srv/a", "/srv/b", "/srv/c", "/srv/d")
