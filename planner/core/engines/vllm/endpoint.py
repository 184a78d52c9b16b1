"""What vLLM is called by and where it listens, how clients' requests are completed, and how long it may load."""

from collections.abc import Iterator
from typing import Final

from planner.core.engines._flags import VersionFlags
from planner.core.engines._place import Place
from planner.core.engines._unit import Start
from planner.core.engines.contract import Job, Setting

# Compiling the model and capturing CUDA graphs take one to three minutes on most cards.
READY_SECONDS: Final = 240
# The API server gives up on an engine that loads for longer, unless told otherwise.
PATIENCE_SECONDS: Final = 600


def endpoint_settings(job: Job, place: Place, flags: VersionFlags) -> Iterator[Setting]:
    yield from _names(place, flags)
    yield from flags.setting(
        "--generation-config",
        "auto",
        why="Requests that say no temperature get the model's own; a max_new_tokens in its generation_config.json caps every answer.",
        breaks="vllm: neutral sampling for such requests, and no cap but the context.",
        source="model",
    )
    yield from _address(place, flags)
    yield from _loading(job, flags)


def _names(place: Place, flags: VersionFlags) -> Iterator[Setting]:
    if place.revision:
        yield from flags.setting(
            "--revision", place.revision, why="The plan was computed for this revision of the model.", source="revision"
        )
    if place.model != place.name:
        yield from flags.setting(
            "--served-model-name",
            place.name,
            why=f"Clients ask for {place.name}, wherever the files lie.",
            breaks="Requests with another model name get HTTP 404.",
            source="model",
        )


def _address(place: Place, flags: VersionFlags) -> Iterator[Setting]:
    yield from flags.setting(
        "--host",
        place.host or "127.0.0.1",
        why=f"You chose to listen on {place.host}."
        if place.host
        else "Only this machine reaches it; vLLM itself would listen on every address.",
        breaks="An address that others can reach needs an API key: see the environment file.",
        source="host",
    )
    if place.port is not None:
        yield from flags.setting("--port", place.port, why=f"You chose port {place.port}.", source="port")


def _loading(job: Job, flags: VersionFlags) -> Iterator[Setting]:
    start = Start(weight_bytes=job.weights.size_bytes, ready_seconds=READY_SECONDS)
    if start.seconds > PATIENCE_SECONDS:
        yield from flags.setting(
            "VLLM_ENGINE_READY_TIMEOUT_S",
            start.seconds,
            why=start.why.rsplit(". ", 1)[0] + ".",
            breaks="The API server gives up on an engine that needs longer to load.",
            source="weights_size",
        )
