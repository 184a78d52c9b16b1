"""What llama-server serves and where: the model, its adapters and its eyes, the address, and what it shows of itself."""

import math
import re
from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.engines import _adapters
from planner.core.engines._flags import VersionFlags
from planner.core.engines._place import Place
from planner.core.engines.contract import Job, Setting
from planner.core.plan import Plan

HOME: Final = "/var/lib/llama-server"
MODELS: Final = f"{HOME}/models"
# Of durations that follow an exponential distribution, fewer than one in a hundred is longer than five times the mean.
LONGEST: Final = 5
_GGUF_FORMAT: Final = re.compile(r"(?:I?Q\d\w*|B?F16|F32|MXFP4\w*)", re.ASCII | re.IGNORECASE)


def gguf_format(job: Job) -> str:
    """The weight format as GGUF files carry it in their names, "" where there is none."""
    return job.weights.format.upper() if _GGUF_FORMAT.fullmatch(job.weights.format) else ""


def served_from_hub(place: Place) -> bool:
    """Whether llama-server can load the model by its Hub id: it must be a repository of GGUF files."""
    return place.path is None and place.hub_id is not None and ("gguf" in place.hub_id.lower() or place.hub_id != place.name)


def model_file(job: Job, place: Place) -> str:
    """The GGUF file to load: the one given, else where this plan expects it."""
    return place.path or f"{MODELS}/{'-'.join(part for part in (place.slug, gguf_format(job)) if part)}.gguf"


def endpoint_settings(plan: Plan, job: Job, place: Place, flags: VersionFlags) -> Iterator[Setting]:
    yield from _model(job, place, flags)
    yield from _eyes(job, place, flags)
    yield from _adapters_of(plan, flags)
    yield from _address(plan, place, flags)
    yield from _signs(plan, flags)


def _model(job: Job, place: Place, flags: VersionFlags) -> Iterator[Setting]:
    if served_from_hub(place):
        quant = gguf_format(job)
        yield from flags.setting(
            "--hf-repo",
            f"{place.hub_id}:{quant}" if quant else place.hub_id,
            why="The repository of GGUF files, and which of them. It is downloaded at the first start.",
            source="model",
        )
    else:
        yield from flags.setting(
            "--model",
            model_file(job, place),
            why=f"The GGUF file with {units.gib(job.weights.size_bytes)} of weights.",
            breaks="With no model at all, llama-server starts as a router that serves none.",
            source="model_path",
        )
    yield from flags.setting("--alias", place.name, why=f"Clients ask for {place.name}, wherever the file lies.", source="model")


def _eyes(job: Job, place: Place, flags: VersionFlags) -> Iterator[Setting]:
    """The projector of a model that can see: a file of its own, which a Hub repository brings along unasked."""
    if not job.shape.has_vision:
        return
    if job.images and not served_from_hub(place):
        yield from flags.setting(
            "--mmproj",
            f"{MODELS}/mmproj-{place.slug}.gguf",
            why="You serve images: this file turns them into tokens. It lies beside the model.",
            breaks="Without it, requests with images are refused.",
            source="images",
        )
    elif not job.images and served_from_hub(place):
        yield from flags.setting(
            "--no-mmproj",
            None,
            why="You serve text only: the projector in the repository is not loaded, and its memory stays free.",
            breaks="Left out, it is downloaded and loaded beside the plan.",
            source="images",
        )


def _adapters_of(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    names = _adapters.names(plan)
    if not names:
        return
    paths = ",".join(_adapters.path(HOME, name, ".gguf") for name in names)
    if len(names) == 1:
        yield from flags.setting(
            "--lora",
            paths,
            why="One adapter at full scale for every request, so that all of them still share each pass.",
            breaks="Merged into the model's file it would cost nothing per token.",
            source="adapters",
        )
        return
    change = plan.request.switch_seconds
    costs = f" You measured {units.seconds(change)} for a change." if change else ""
    yield from flags.setting(
        "--lora",
        paths,
        why=f"{len(names)} adapters over one model; a request names its own by number. Only requests with the same adapter share a pass: "
        f"the others wait until it has finished, so {len(names)} of them in use divide the {plan.fit.slots} slots.{costs}",
        breaks="One setting for all requests avoids that wait: a server of its own for each adapter.",
        source="adapters",
    )
    yield from flags.setting(
        "--lora-init-without-apply",
        None,
        why="Adapters start at scale 0: a request that names none gets the model as it is.",
        breaks="Left out, all of them are added to every request that names none.",
        source="adapters",
    )


def _address(plan: Plan, place: Place, flags: VersionFlags) -> Iterator[Setting]:
    if place.host is not None:
        yield from flags.setting(
            "--host",
            place.host,
            why=f"You chose to listen on {place.host}.",
            breaks="An address that others can reach needs an API key: see the environment file.",
            source="host",
        )
    if place.port is not None:
        yield from flags.setting("--port", place.port, why=f"You chose port {place.port}.", source="port")
    generate, patience = plan.workload.generate_seconds, plan.request.patience
    longest = patience + LONGEST * generate
    yield from flags.setting(
        "--timeout",
        math.ceil(longest / 60) * 60,
        why=f"Longer than {units.seconds(patience)} of waiting and {LONGEST} × {units.seconds(generate)} of generating, beyond which fewer than "
        "one answer in a hundred goes on: a connection as silent as that is dead.",
        breaks="Shorter: slow answers are cut off. It ends silent connections, never a request that is working.",
        source="patience",
    )


def _signs(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    yield from flags.setting(
        "--metrics",
        None,
        why="Shows requests that wait for a slot (llamacpp:requests_deferred): llama-server's queue has no limit and no other sign.",
        source="patience",
    )
    yield from flags.setting(
        "--slots",
        None,
        why=f"/slots shows {'whether the slot is' if plan.fit.slots == 1 else f'which of the {plan.fit.slots} are'} busy, and with how many tokens.",
        breaks="It answers everyone who may use the server: --no-slots where users must not see each other's work.",
        source="slots",
    )
    yield from flags.setting(
        "--verbosity",
        4,
        why="From 4 on, the log says how large the caches became at the start, to be compared with the plan.",
        breaks="At 3 those lines, and the ones about cached prompts, are missing.",
        source="engine",
    )
