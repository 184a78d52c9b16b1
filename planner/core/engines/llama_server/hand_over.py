"""What an operator takes away for llama-server: the settings, the files that carry them, and the commands around them."""

from typing import Final

from planner.core import units
from planner.core.engines import _adapters, _arguments, _measure, _reachable, _reasons, _shell, _steps, _unit
from planner.core.engines._env_file import Variable, env_file
from planner.core.engines._pack import Service, pack
from planner.core.engines._place import Place, read_place
from planner.core.engines._systemd import Command, Entry, Section, unit, variable
from planner.core.engines.contract import Engine, Expectation, File, HandOver, Job, Setting, Step
from planner.core.engines.llama_server.container import container
from planner.core.engines.llama_server.endpoint import gguf_format, model_file, served_from_hub
from planner.core.engines.llama_server.preset import preset_file
from planner.core.engines.llama_server.settings import given, settings
from planner.core.plan import Plan, Remark

PROGRAM: Final = "/usr/local/bin/llama-server"
PORT: Final = 8080
DAEMON: Final = _unit.Daemon(
    name="llama-server",
    title="llama-server",
    documentation="https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
    ready_seconds=60,
)


def hand_over(plan: Plan, job: Job, engine: Engine, *, origin: str = "") -> HandOver:
    """Settings, files and commands of the plan. Raises InputError for text that a file cannot hold."""
    place = read_place(plan)
    chosen = settings(plan, job, place)
    files = _files(plan, job, place, chosen, origin=origin)
    address = _unit.client_address(place, place.port or PORT)
    expect = engine.expect(job, plan.fit.slots)
    return HandOver(
        settings=chosen,
        command=_shell.command(["llama-server", *(word for setting in chosen for word in _arguments.words(setting))]),
        files=(*files, *_beside(plan, job, place, chosen, expect, origin=origin)),
        apply=_apply(plan, job, place, files),
        verify=(
            _steps.check(DAEMON),
            _steps.syntax(DAEMON),
            _steps.environment(DAEMON, _arguments.variables(chosen)),
            _steps.health(address),
            *_steps.start_up_lines(DAEMON, expect),
            *_steps.answers(address, place.name, plan.fit.slots),
        ),
        undo=_steps.undo(DAEMON),
        expect=expect,
        remarks=(*given(job).remarks, *_remarks(plan, job, place)),
        measure=None if plan.speed.measured else _measure.llama_bench(plan, _bench_model(job, place), chosen),
    )


def _bench_model(job: Job, place: Place) -> tuple[str, str]:
    """How llama-bench is told the model."""
    if served_from_hub(place):
        return "-hf", ":".join(part for part in (place.hub_id, gguf_format(job)) if part)
    return "-m", model_file(job, place)


def _remarks(plan: Plan, job: Job, place: Place) -> tuple[Remark, ...]:
    eyes = "The projector's own memory is not in the budget: about the size of its file, and a buffer for the images of one request."
    return (
        *_reachable.remarks(place, protection=f"put a key into {DAEMON.secrets_path} before you start it."),
        *_adapters.remarks(plan),
        *((Remark("projector_memory", eyes, "images"),) if job.shape.has_vision and job.images else ()),
    )


def _files(plan: Plan, job: Job, place: Place, chosen: tuple[Setting, ...], *, origin: str) -> tuple[File, ...]:
    """The unit says what runs and as whom; the drop-in carries the plan, so that a new plan is one new file."""
    head = [*_reasons.head(plan, origin=origin), *given(job).left_out]
    start = _unit.Start(weight_bytes=job.weights.size_bytes, ready_seconds=DAEMON.ready_seconds, downloads=served_from_hub(place))
    on_command_line = tuple(setting for setting in chosen if setting.env is None)
    service = _unit.service_section(
        DAEMON,
        job.node,
        place=place,
        command=Command(
            "ExecStart",
            (PROGRAM,),
            _arguments.arguments(on_command_line),
            why=f"Every option that has a variable stands in {DAEMON.drop_in_path}; without it this starts as a router with no model.",
        ),
        start=start,
        environment=(
            Entry("Environment", variable("LLAMA_CACHE", f"{DAEMON.home}/cache"), "Downloaded models stay in the service's own folder."),
            _unit.secrets(DAEMON),
        ),
        health_address=_unit.client_address(place, place.port or PORT),
    )
    full = unit(
        [*head, "The unit. Its settings are in the drop-in beside it."],
        (_unit.unit_section(DAEMON, job.node, model=place.name, start=start), service, _unit.INSTALL),
    )
    drop_in = unit(
        [
            *head,
            "The settings, for our unit or for one that exists already.",
            "A flag in that unit's ExecStart wins over a variable here: take such flags out of it.",
        ],
        (Section("Service", _arguments.environment(chosen)),),
    )
    secrets = env_file(
        [*head, "Secrets: root reads this file, mode 0600. Nothing here stands on a command line or in a unit."],
        (
            Variable("LLAMA_API_KEY", None, "Clients must send this key. Needed as soon as others can reach the address."),
            Variable("HF_TOKEN", None, "Only for a gated or private model."),
        ),
    )
    return (
        File(DAEMON.unit_path, full, "The service: what runs, as whom, and what it may touch."),
        File(DAEMON.drop_in_path, drop_in, "The settings of this plan; with an existing unit it is all you need."),
        File(DAEMON.secrets_path, secrets, "Keys, outside the unit.", mode=0o600),
    )


def _beside(plan: Plan, job: Job, place: Place, chosen: tuple[Setting, ...], expect: Expectation, *, origin: str) -> tuple[File, ...]:
    """The files of the same plan for other ways to run it, and those that check it."""
    port = place.port or PORT
    service = Service(
        daemon=DAEMON,
        place=place,
        port=port,
        program=("llama-server",),
        settings=chosen,
        by_variable=True,
        model=place.name,
        health="/health",
        has_queue_limit=False,
        benched_by_vllm=False,
        start=_unit.Start(weight_bytes=job.weights.size_bytes, ready_seconds=DAEMON.ready_seconds, downloads=served_from_hub(place)),
        expect=expect,
    )
    head = _reasons.head(plan, origin=origin)
    router = preset_file(place, chosen, head=head, path=service.path("models.ini"))
    return (*((router,) if router else ()), *pack(plan, service, container(plan, job, place, chosen, port=port), head=head))


def _apply(plan: Plan, job: Job, place: Place, files: tuple[File, ...]) -> tuple[Step, ...]:
    full, drop_in, secrets = files
    return (
        _steps.look(DAEMON),
        Step(
            f"{PROGRAM} --version",
            f"“version: {plan.engine.version.removeprefix('b')} (…)”",
            "The options are those of this build; another may not know them all.",
        ),
        _steps.create_user(DAEMON),
        *_model(job, place),
        *_adapters.install(DAEMON, plan, ending=".gguf"),
        _steps.install(secrets, why="Keys go in here; it may stay as it is on a machine that only serves itself."),
        _steps.install(full, why="The unit. Only where the first command found no files."),
        _steps.install(drop_in, why="The settings of this plan."),
        *_steps.start(DAEMON),
    )


def _model(job: Job, place: Place) -> tuple[Step, ...]:
    if place.path is not None:
        return _steps.readable(DAEMON, place)
    if served_from_hub(place):
        return ()
    target = model_file(job, place)
    name = target.rsplit("/", 1)[-1]
    return (
        Step(
            f"sudo install -D -m 0644 {_shell.quote(name)} {_shell.quote(target)}",
            "nothing",
            f"The GGUF file of {place.name}, {units.gib(job.weights.size_bytes)}: download or convert it, then put it where the plan expects it.",
        ),
    )
