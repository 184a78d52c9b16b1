"""What an operator takes away for Ollama: the settings, the files that carry them, and the commands around them."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.engines import _adapters, _arguments, _measure, _reachable, _reasons, _shell, _steps, _unit
from planner.core.engines._pack import Service, pack
from planner.core.engines._place import Place, read_place
from planner.core.engines._systemd import Command, Section, unit
from planner.core.engines.contract import Engine, Expectation, File, HandOver, Job, Setting, Step
from planner.core.engines.ollama.container import container
from planner.core.engines.ollama.settings import PORT, given, settings
from planner.core.errors import InputError
from planner.core.plan import Plan, Remark

PROGRAM: Final = "/usr/local/bin/ollama"
DAEMON: Final = _unit.Daemon(name="ollama", title="Ollama", documentation="https://docs.ollama.com/", ready_seconds=30)


def hand_over(plan: Plan, job: Job, engine: Engine, *, origin: str = "") -> HandOver:
    """Settings, files and commands of the plan. Raises InputError for text that a file cannot hold."""
    place = read_place(plan)
    chosen = settings(plan, job, place)
    files = _files(plan, job, place, chosen, origin=origin)
    address = _unit.client_address(place, place.port or PORT)
    variables = _arguments.variables(chosen)
    expect = engine.expect(job, plan.fit.slots)
    name = model_name(place)
    return HandOver(
        settings=chosen,
        command=_shell.command(["ollama", "serve"], variables),
        files=(*files, *_beside(plan, job, place, chosen, expect, origin=origin)),
        apply=_apply(plan, place, files),
        verify=(
            _steps.check(DAEMON),
            _steps.syntax(DAEMON),
            _steps.environment(DAEMON, variables),
            *_steps.answers(address, name, plan.fit.slots),
            _processor(plan),
            *_steps.start_up_lines(DAEMON, expect),
        ),
        undo=_steps.undo(DAEMON),
        expect=expect,
        remarks=(*given(job).remarks, *_remarks(plan, job, place)),
        measure=None if plan.speed.measured else _measure.ollama_timings(plan, address=address, name=name),
    )


def _remarks(plan: Plan, job: Job, place: Place) -> tuple[Remark, ...]:
    reload = units.seconds(job.weights.size_bytes / _unit.DISK_BYTES_PER_S)
    switch = (
        f"Ollama makes a model of its own out of every adapter: each change loads {units.gib(job.weights.size_bytes)} anew, {reload} at "
        f"{_unit.DISK_BYTES_PER_S // 10**6} MB/s, because the plan has memory for one. llama-server and vLLM keep one model for all adapters."
    )
    return (
        *_reachable.remarks(place, protection="Ollama knows no keys, so put a proxy that asks for one before it."),
        *_adapters.remarks(plan),
        *((Remark("adapter_reloads", switch, "adapters"),) if plan.request.adapters > 1 else ()),
    )


def model_name(place: Place) -> str:
    """The model's name in Ollama: a GGUF repository by its address, anything else by a local name."""
    if place.path is None and place.hub_id is not None and "gguf" in place.hub_id.lower():
        return f"hf.co/{place.hub_id}"
    return place.slug.lower()


def _processor(plan: Plan) -> Step:
    if any(line.kind == "weights" for line in plan.memory.ram_lines):
        return Step("ollama ps", "“…%/…% CPU/GPU” in the PROCESSOR column", "The plan has a part of the model in main memory.")
    if plan.node.has_gpu:
        short = "A share of CPU there means that memory ran short, and every answer waits for the CPU's part."
        return Step("ollama ps", "100% GPU in the PROCESSOR column", short)
    return Step("ollama ps", "100% CPU in the PROCESSOR column", "This machine has no GPU.")


def _files(plan: Plan, job: Job, place: Place, chosen: tuple[Setting, ...], *, origin: str) -> tuple[File, ...]:
    head = _reasons.head(plan, origin=origin)
    drop_in = unit(
        [*head, "The settings, for the unit that Ollama's installer writes. An export in a shell never reaches that service."],
        (Section("Service", _arguments.environment(chosen)),),
    )
    start = _unit.Start(weight_bytes=job.weights.size_bytes, ready_seconds=DAEMON.ready_seconds)
    service = _unit.service_section(
        DAEMON,
        job.node,
        place=place,
        command=Command("ExecStart", (PROGRAM, "serve"), (), why=f"The settings are in {DAEMON.drop_in_path}."),
        start=start,
    )
    full = unit(
        [*head, "A whole unit, for a machine where Ollama's installer did not write one."],
        (_unit.unit_section(DAEMON, job.node, model=place.name, start=start), service, _unit.INSTALL),
    )
    files = [
        File(DAEMON.drop_in_path, drop_in, "The settings of this plan; with Ollama's own unit it is all you need."),
        File(DAEMON.unit_path, full, "Only for a machine without an ollama.service."),
    ]
    return (*files, *_modelfiles(plan, job, place))


def _beside(plan: Plan, job: Job, place: Place, chosen: tuple[Setting, ...], expect: Expectation, *, origin: str) -> tuple[File, ...]:
    """The files of the same plan for other ways to run it, and those that check it."""
    port = place.port or PORT
    service = Service(
        daemon=DAEMON,
        place=place,
        port=port,
        program=("ollama", "serve"),
        settings=chosen,
        by_variable=True,
        model=model_name(place),
        health="/api/version",
        has_queue_limit=True,
        benched_by_vllm=False,
        has_keys=False,
        only_local_names=True,
        start=_unit.Start(weight_bytes=job.weights.size_bytes, ready_seconds=DAEMON.ready_seconds),
        expect=expect,
    )
    return pack(plan, service, container(plan, place, chosen, port=port), head=_reasons.head(plan, origin=origin))


def _modelfiles(plan: Plan, job: Job, place: Place) -> Iterator[File]:
    """The file that names a GGUF file, and one that adds the first adapter to the model.

    Raises InputError for a path that their grammar could not hold.
    """
    path, name = place.path, model_name(place)
    if path is not None and ('"' in path or path != path.strip()):
        raise InputError("Ollama's Modelfile cannot hold this path: leave out quotes and spaces at its end.", field="model_path")
    if path is not None:
        text = f"# {name}: {units.gib(job.weights.size_bytes)} of weights. The context is the server's: no num_ctx here.\nFROM {path}\n"
        yield File(f"/etc/ollama/{name}.Modelfile", text, "Gives your file a name in Ollama.")
    for adapter in _adapters.names(plan)[:1]:
        own = f"{name.rsplit('/', 1)[-1]}-{adapter}"
        text = f"# {own}: the model with an adapter, which must be made for it.\nFROM {path or name}\nADAPTER {_adapters.path(DAEMON.home, adapter, '.gguf')}\n"
        yield File(f"/etc/ollama/{own}.Modelfile", text, "The model with your first adapter; one such file for each of the others.")


def _apply(plan: Plan, place: Place, files: tuple[File, ...]) -> tuple[Step, ...]:
    drop_in, full, *modelfiles = files
    return (
        _steps.look(DAEMON),
        _steps.create_user(DAEMON),
        _steps.install(full, why="Only where the first command found no files."),
        _steps.install(drop_in, why="The settings of this plan."),
        *_steps.start(DAEMON, ready="nothing; the model is loaded with the first request"),
        *_model(place),
        *_adapters.install(DAEMON, plan, ending=".gguf"),
        *(step for file in modelfiles for step in _create(file)),
    )


def _create(modelfile: File) -> tuple[Step, ...]:
    name = modelfile.path.rsplit("/", 1)[-1].removesuffix(".Modelfile")
    return (
        _steps.install(modelfile, why="Says what the model is made of."),
        Step(f"ollama create {_shell.quote(name)} -f {_shell.quote(modelfile.path)}", "success", modelfile.why),
    )


def _model(place: Place) -> tuple[Step, ...]:
    name = _shell.quote(model_name(place))
    if place.path is not None:
        return ()
    if name.startswith("hf.co/"):
        return (Step(f"ollama pull {name}", "success", "Downloads the model from the Hub."),)
    return (
        Step(
            f"ollama show {name}",
            "its parameters, quantisation and context length",
            "Under another name? `ollama list` has it: use that name below. Not there yet? Pull it, or create it from a GGUF file.",
        ),
    )
