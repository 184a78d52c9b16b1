"""Ollama in a container: the image for the devices, and what differs from the unit."""

import re
from typing import Final

from planner.core.engines._arguments import reason, variable_value
from planner.core.engines._compose import Container, Variable
from planner.core.engines._place import Place
from planner.core.engines.contract import Setting
from planner.core.plan import Plan

_RELEASE: Final = re.compile(r"\d+\.\d+\.\d+", re.ASCII)


def container(plan: Plan, place: Place, settings: tuple[Setting, ...], *, port: int) -> Container | None:
    """The container, None where Ollama publishes no image for the devices."""
    vendor = plan.node.device.vendor
    if vendor not in {"NVIDIA", "AMD", "CPU", "other"}:
        return None
    release = plan.engine.version if _RELEASE.fullmatch(plan.engine.version) else None
    tag = "-".join(part for part in (release, "rocm" if vendor == "AMD" else None) if part) or "latest"
    listen = Variable("OLLAMA_HOST", f"0.0.0.0:{port}", "Inside the container; outside, only the published address reaches it.")
    return Container(
        image=f"ollama/ollama:{tag}",
        image_why="This release: another one may not know every variable."
        if release
        else "The plan is for a state of the source, not a release: once it runs well, put the release it shows in here.",
        entrypoint=("/bin/ollama", "serve"),
        arguments=(),
        variables=(
            *(Variable(s.env, variable_value(s), reason(s)) for s in settings if s.env and s.env != listen.name),
            listen,
        ),
        health=("ollama", "list"),
        files=(place.path,) if place.path else (),
        volumes=(("ollama", "/root/.ollama"),),
    )
