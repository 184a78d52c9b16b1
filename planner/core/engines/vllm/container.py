"""vLLM in a container: the image for the cards, and what differs from the unit."""

from planner.core.engines._arguments import arguments, reason, variable_value
from planner.core.engines._compose import Container, Variable, files_in
from planner.core.engines._flags import version_key
from planner.core.engines._place import Place
from planner.core.engines._systemd import Argument
from planner.core.engines.contract import Setting
from planner.core.plan import Plan

# Newer images start with this by themselves; older ones name a module, whose options differ.
ENTRYPOINT = ("vllm", "serve")


def container(plan: Plan, place: Place, settings: tuple[Setting, ...], *, port: int) -> Container | None:
    """The container, None where vLLM publishes no image for the devices."""
    image = _image(plan)
    if image is None:
        return None
    inside = Argument(("--host", "0.0.0.0"), "Inside the container; outside, only the published address reaches it.")  # noqa: S104 - written, not bound
    plain = [setting for setting in settings if setting.flag != "--host"]
    return Container(
        image=image,
        image_why=f"This version: another one may not know every option. {_why(plan)}".strip(),
        entrypoint=ENTRYPOINT,
        arguments=(Argument((place.model,)), *arguments(plain), inside),
        variables=tuple(Variable(s.env, variable_value(s), reason(s)) for s in plain if s.flag is None and s.env),
        health=("curl", "--fail", "--silent", "--output", "/dev/null", f"http://127.0.0.1:{port}/health"),
        files=tuple(dict.fromkeys((*((place.path,) if place.path else ()), *files_in(plain)))),
        volumes=(("huggingface", "/root/.cache/huggingface"), ("compiled", "/root/.cache/vllm")),
        workers=plan.engine.tensor_parallel * plan.engine.pipeline_parallel > 1,
    )


def _image(plan: Plan) -> str | None:
    """Images of vLLM's own releases. `vllm-openai-rocm` has tags from 0.14 on (seen for 0.15.1 to 0.29.0)."""
    release = version_key(plan.engine.version)
    tag = "v" + ".".join(str(part) for part in (*release, 0, 0)[:3])
    vendor = plan.node.device.vendor
    if vendor in {"NVIDIA", "other"}:
        return f"vllm/vllm-openai:{tag}"
    if vendor == "AMD" and release >= (0, 14):
        return f"vllm/vllm-openai-rocm:{tag}"
    return None


def _why(plan: Plan) -> str:
    return "For NVIDIA cards." if plan.node.device.vendor == "other" else ""
