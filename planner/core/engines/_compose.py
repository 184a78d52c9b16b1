"""A Docker Compose file: one service, every option below its reason, what it may touch and how its health is asked.

Source: the Compose specification (compose-spec/compose-spec, schema/compose-spec.json), `services`, `volumes`; interpolation of `$`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.core.engines import _arguments, _yaml
from planner.core.engines._systemd import Argument
from planner.core.engines._yaml import Noted, Value
from planner.core.engines.contract import Setting
from planner.core.hardware import Node

# What NCCL takes per GPU pair is far below; PyTorch's loaders and vLLM's own workers share the rest. Suggested in vllm-project/vllm#1710.
SHARED_MEMORY: Final = "10gb"


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    value: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container: `files` are paths of the machine that it reads, `volumes` what it keeps, as (name, path inside).

    `workers` says that processes share memory, `locks` that weights are locked in RAM.
    """

    image: str
    image_why: str
    entrypoint: tuple[str, ...]
    arguments: tuple[Argument, ...]
    variables: tuple[Variable, ...]
    health: tuple[str, ...]
    files: tuple[str, ...] = ()
    volumes: tuple[tuple[str, str], ...] = ()
    workers: bool = False
    locks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Where the container's port is reachable. `host` is an IP address of the machine."""

    host: str
    port: int
    why: str = field(default="")


def literal(text: str) -> str:
    """`text` as Compose hands it on: a dollar sign stands for a variable unless doubled."""
    return text.replace("$", "$$")


def files_in(settings: Iterable[Setting]) -> tuple[str, ...]:
    """The absolute paths among the options' values, `name=/path` and comma-separated ones included: what the container must see."""
    found = [
        part.rsplit("=", 1)[-1]
        for setting in settings
        if setting.flag
        for word in _arguments.words(setting)[1:]
        for part in word.split(",")
    ]
    return tuple(dict.fromkeys(path for path in found if path.startswith("/")))


def _noted(value: Value, why: str) -> Value:
    return Noted(value, why) if why else value


def _command(arguments: Sequence[Argument]) -> list[Value]:
    found: list[Value] = []
    for argument in arguments:
        first, *rest = argument.words
        found += [_noted(literal(first), argument.why), *(literal(word) for word in rest)]
    return found


def _environment(variables: Sequence[Variable]) -> dict[str, Value]:
    return {variable.name: _noted(literal(variable.value), variable.why) for variable in variables}


def _mounts(container: Container) -> list[Value]:
    mounts: list[Value] = []
    for path in container.files:
        bind: dict[str, Value] = {
            "type": "bind",
            "source": literal(path),
            "target": literal(path),
            "read_only": True,
            "bind": {"create_host_path": False},
        }
        mounts.append(Noted(bind, "What it reads, under the path it has on the machine; a path that is not there is an error."))
    return [*mounts, *({"type": "volume", "source": name, "target": target} for name, target in container.volumes)]


def _devices(node: Node) -> dict[str, Value]:
    """What the container may use of the GPUs; nothing on a machine without."""
    vendors = {device.vendor for device in node.devices if device.is_gpu}
    if "AMD" in vendors:
        return {"devices": Noted(["/dev/kfd", "/dev/dri"], "The driver's device files, which root in the container may open.")}
    if "Intel" in vendors:
        return {"devices": Noted(["/dev/dri"], "The driver's device files, which root in the container may open.")}
    if not vendors:
        return {}
    reservation: dict[str, Value] = {"driver": "nvidia", "count": len(node.devices), "capabilities": ["gpu"]}
    return {
        "deploy": Noted(
            {"resources": {"reservations": {"devices": [reservation]}}},
            f"{len(node.devices)} of the machine's GPUs. Needs the NVIDIA Container Toolkit.",
        )
    }


def _memory(container: Container) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if container.workers:
        found["shm_size"] = Noted(
            SHARED_MEMORY, "The processes of several GPUs exchange data through /dev/shm; Docker's 64 MB end in an NCCL error."
        )
    if container.locks:
        found["ulimits"] = Noted({"memlock": -1}, "The weights are locked in RAM.")
    return found


def _secrets(path: str | None) -> dict[str, Value]:
    if path is None:
        return {}
    why = "Keys, in a file that only root reads; the service starts without it too."
    return {"env_file": Noted([{"path": path, "required": False}], why)}


def _service(container: Container, node: Node, *, published: Published, secrets: str | None, start_seconds: int) -> dict[str, Value]:
    port: dict[str, Value] = {"target": published.port, "published": str(published.port), "host_ip": published.host}
    return {
        "image": Noted(container.image, container.image_why),
        "entrypoint": list(container.entrypoint),
        "command": _command(container.arguments),
        "environment": _environment(container.variables),
        **_secrets(secrets),
        "ports": [_noted(port, published.why)],
        "volumes": _mounts(container),
        **_devices(node),
        **_memory(container),
        "security_opt": ["no-new-privileges:true"],
        "restart": "unless-stopped",
        "stop_grace_period": "30s",
        "healthcheck": {
            "test": ["CMD", *container.health],
            "interval": "30s",
            "timeout": "10s",
            "retries": 3,
            "start_period": Noted(f"{start_seconds}s", "Until then a missing answer does not count as a failure."),
        },
    }


def compose(
    head: Sequence[str], name: str, container: Container, node: Node, *, published: Published, secrets: str | None, start_seconds: int
) -> str:
    """The text of a compose.yaml; `secrets` is the environment file with keys. Raises ValueError for text that it cannot hold."""
    service = _service(container, node, published=published, secrets=secrets, start_seconds=start_seconds)
    content: dict[str, Value] = {"name": name, "services": {name: _without_empty(service)}}
    if container.volumes:
        content["volumes"] = {volume: {} for volume, _ in container.volumes}
    return _yaml.document(head, content)


def _without_empty(service: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in service.items() if value not in ([], {})}
