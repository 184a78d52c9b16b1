"""llama-server in a container: the image for the devices, and what differs from the unit."""

from typing import Final

from planner.core.engines._arguments import arguments
from planner.core.engines._compose import Container, Variable, files_in
from planner.core.engines._flags import version_key
from planner.core.engines._place import Place
from planner.core.engines._systemd import Argument
from planner.core.engines.contract import Job, Setting
from planner.core.engines.llama_server.endpoint import model_file, served_from_hub
from planner.core.plan import Plan

# Tags are server[-back end]-bBUILD. Source: ggml-org/llama.cpp docs/docker.md and .github/workflows/docker.yml.
_BACK_ENDS: Final = {"NVIDIA": "-cuda", "other": "-cuda", "AMD": "-rocm", "Intel": "-intel", "CPU": ""}
CACHE: Final = "/models"


def container(plan: Plan, job: Job, place: Place, settings: tuple[Setting, ...], *, port: int) -> Container | None:
    """The container, None where llama.cpp publishes no image for the devices."""
    back_end = _BACK_ENDS.get(plan.node.device.vendor)
    if back_end is None:
        return None
    inside = Argument(("--host", "0.0.0.0"), "Inside the container; outside, only the published address reaches it.")  # noqa: S104 - written, not bound
    from_hub = served_from_hub(place)
    others = {"NVIDIA": "", "other": "For NVIDIA cards: -vulkan, -rocm and -intel are for others."}.get(plan.node.device.vendor, "")
    return Container(
        image=f"ghcr.io/ggml-org/llama.cpp:server{back_end}-b{version_key(plan.engine.version)[0]}",
        image_why=f"This build: another one may not know every option. {others}".strip(),
        entrypoint=("/app/llama-server",),
        arguments=(*arguments(setting for setting in settings if setting.flag != "--host"), inside),
        variables=(Variable("LLAMA_CACHE", CACHE, "Downloaded models stay in a volume."),) if from_hub else (),
        health=("curl", "--fail", "--silent", "--output", "/dev/null", f"http://127.0.0.1:{port}/health"),
        files=tuple(dict.fromkeys((*(() if from_hub else (model_file(job, place),)), *files_in(settings)))),
        volumes=(("models", CACHE),) if from_hub else (),
        locks=any("mlock" in (setting.value or setting.flag or "") for setting in settings),
    )
