"""What an operator takes away for vLLM: the settings, the files that carry them, and the commands around them."""

from typing import Final

from planner.core.engines import _adapters, _arguments, _measure, _reachable, _reasons, _shell, _steps, _unit
from planner.core.engines._env_file import Variable, env_file
from planner.core.engines._pack import Service, pack
from planner.core.engines._place import Place, read_place
from planner.core.engines._systemd import Command, Entry, Section, unit, variable
from planner.core.engines.contract import Engine, Expectation, File, HandOver, Job, Setting, Step
from planner.core.engines.vllm.config_file import config_file
from planner.core.engines.vllm.container import container
from planner.core.engines.vllm.endpoint import READY_SECONDS
from planner.core.engines.vllm.model_parts import format_remarks
from planner.core.engines.vllm.settings import FLAGS, given, settings
from planner.core.plan import Plan, Remark

PROGRAM: Final = "/opt/vllm/bin/vllm"
PORT: Final = 8000
DAEMON: Final = _unit.Daemon(name="vllm", title="vLLM", documentation="https://docs.vllm.ai/", ready_seconds=READY_SECONDS)


HF_HOME: Final = f"{DAEMON.home}/huggingface"


def hand_over(plan: Plan, job: Job, engine: Engine, *, origin: str = "") -> HandOver:
    """Settings, files and commands of the plan. Raises InputError for text that a file cannot hold."""
    place = read_place(plan)
    chosen = settings(plan, job, place)
    files = _files(plan, job, place, chosen, origin=origin)
    address = _unit.client_address(place, place.port or PORT)
    expect = engine.expect(job, plan.fit.slots)
    words = [word for setting in chosen for word in _arguments.words(setting)]
    return HandOver(
        settings=chosen,
        command=_shell.command(["vllm", "serve", place.model, *words], _arguments.variables(s for s in chosen if s.flag is None)),
        files=(*files, *_beside(plan, job, place, chosen, expect, origin=origin)),
        apply=_apply(plan, place, files),
        verify=(
            _steps.check(DAEMON),
            _steps.syntax(DAEMON),
            _steps.arguments(DAEMON, _shell.command(["serve", place.model, *words[:4]]) + " …"),
            _steps.health(address),
            *_steps.start_up_lines(DAEMON, expect),
            *_steps.answers(address, place.name, plan.fit.slots),
        ),
        undo=_steps.undo(DAEMON),
        expect=expect,
        remarks=(*given(job).remarks, *_remarks(plan, job, place)),
        measure=None if plan.speed.measured else _measure.vllm_bench(plan, address=address, name=place.name, tokenizer=place.model),
    )


def _remarks(plan: Plan, job: Job, place: Place) -> tuple[Remark, ...]:
    """What the settings of this version could not say."""
    endless = (
        f"vLLM {plan.engine.version} has no limit on its queue: a proxy before it must refuse what waits too long. "
        f"{plan.fit.max_queue:,} waiting requests fit the patience of your users."
    )
    bounded = FLAGS.at(job.version).find("--max-num-queued-reqs") is not None
    return (
        *_reachable.remarks(place, protection=f"put a key into {DAEMON.secrets_path} before you start it; /health and /metrics stay open."),
        *_adapters.remarks(plan),
        *format_remarks(plan, job, place),
        *(() if bounded else (Remark("queue_without_limit", endless, "engine_version"),)),
    )


def _command(place: Place, chosen: tuple[Setting, ...]) -> Command:
    return Command("ExecStart", (PROGRAM, "serve", place.model), _arguments.arguments(chosen))


def _environment(chosen: tuple[Setting, ...]) -> tuple[Entry, ...]:
    return (*_arguments.environment(setting for setting in chosen if setting.flag is None), _unit.secrets(DAEMON))


def _files(plan: Plan, job: Job, place: Place, chosen: tuple[Setting, ...], *, origin: str) -> tuple[File, ...]:
    head = [*_reasons.head(plan, origin=origin), *given(job).left_out]
    start = _unit.Start(weight_bytes=job.weights.size_bytes, ready_seconds=DAEMON.ready_seconds)
    address = _unit.client_address(place, place.port or PORT)
    service = _unit.service_section(
        DAEMON,
        job.node,
        place=place,
        command=_command(place, chosen),
        start=start,
        environment=(
            Entry(
                "Environment", variable("HF_HOME", HF_HOME), "Downloaded models stay in the service's own folder, whoever downloads them."
            ),
            *_environment(chosen),
        ),
        health_address=address,
    )
    full = unit(
        [*head, "A whole unit, for a machine that has none for vLLM."],
        (_unit.unit_section(DAEMON, job.node, model=place.name, start=start), service, _unit.INSTALL),
    )
    reset = Entry("ExecStart", "", "An empty line first takes the unit's own command away; otherwise there would be two.")
    drop_in = unit(
        [*head, "A drop-in for a vLLM unit that exists already: it replaces the command line and keeps the rest."],
        (Section("Service", (*_environment(chosen), reset, _command(place, chosen))),),
    )
    secrets = env_file(
        [*head, "Secrets: root reads this file, mode 0600. Nothing here stands on a command line or in a unit."],
        (
            Variable("VLLM_API_KEY", None, "Clients must send this key to /v1. Needed as soon as others can reach the address."),
            Variable("HF_TOKEN", None, "Only for a gated or private model."),
        ),
    )
    return (
        File(DAEMON.unit_path, full, "A new service with everything in it."),
        File(DAEMON.drop_in_path, drop_in, "Instead of the unit, where the machine has one for vLLM already."),
        File(DAEMON.secrets_path, secrets, "Keys, outside the unit.", mode=0o600),
    )


def _beside(plan: Plan, job: Job, place: Place, chosen: tuple[Setting, ...], expect: Expectation, *, origin: str) -> tuple[File, ...]:
    """The files of the same plan for other ways to run it, and those that check it."""
    head = _reasons.head(plan, origin=origin)
    port = place.port or PORT
    service = Service(
        daemon=DAEMON,
        place=place,
        port=port,
        program=("vllm", "serve", place.model),
        settings=chosen,
        by_variable=False,
        model=place.name,
        health="/health",
        has_queue_limit=any(setting.flag in {"--max-num-queued-reqs", "--max-num-queued-tokens"} for setting in chosen),
        benched_by_vllm=True,
        start=_unit.Start(weight_bytes=job.weights.size_bytes, ready_seconds=DAEMON.ready_seconds),
        expect=expect,
    )
    return (
        config_file(place, chosen, head=head, path=service.path("config.yaml")),
        *pack(plan, service, container(plan, place, chosen, port=port), head=head),
    )


def _apply(plan: Plan, place: Place, files: tuple[File, ...]) -> tuple[Step, ...]:
    full, drop_in, secrets = files
    amd = any(device.vendor == "AMD" for device in plan.node.devices)
    rocm = " On AMD cards, take vLLM's ROCm build of this version instead." if amd else ""
    return (
        _steps.look(DAEMON),
        Step(
            f"sudo python3 -m venv /opt/vllm && sudo /opt/vllm/bin/pip install vllm=={_shell.quote(plan.engine.version)}",
            f"“Successfully installed … vllm-{plan.engine.version} …”",
            f"This version: another one may not know every option.{rocm}",
        ),
        _steps.create_user(DAEMON),
        Step(f"sudo install -d -o {DAEMON.name} -g {DAEMON.name} {DAEMON.home}", "nothing", "The folder for models and caches."),
        *_download(place),
        *_steps.readable(DAEMON, place),
        *_adapters.install(DAEMON, plan),
        _steps.install(secrets, why="Keys go in here; it may stay as it is on a machine that only serves itself."),
        _steps.install(full, why="The unit. Only where the first command found no files."),
        _steps.install(drop_in, why="Only where the first command found a unit, and instead of ours: put your own path of vllm into it."),
        *_steps.start(DAEMON),
    )


def _download(place: Place) -> tuple[Step, ...]:
    if place.hub_id is None:
        return ()
    revision = ["--revision", place.revision] if place.revision else []
    words = [
        "sudo",
        "-u",
        DAEMON.name,
        "env",
        f"HF_HOME={HF_HOME}",
        "/opt/vllm/bin/hf",
        "download",
        place.hub_id,
        *revision,
    ]
    return (
        Step(_shell.command(words), "the folder of the download", "Before the first start, so that the start has to read the disk only."),
    )
