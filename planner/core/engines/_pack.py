"""The files beside the unit, the same for every engine: Compose, plain start, check, load test, and a front for more machines."""

import ipaddress
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.core.engines import _arguments, _nginx, _reasons
from planner.core.engines._check_script import Checked, check_script
from planner.core.engines._compose import Container, Published, compose
from planner.core.engines._load_test import load_script
from planner.core.engines._place import Place, is_hub_id
from planner.core.engines._script import start_script
from planner.core.engines._unit import Daemon, Start, client_address
from planner.core.engines.contract import Expectation, File, Setting
from planner.core.plan import Plan

# A silent connection is given up after this, when nothing says how long people wait: nginx's own 60 s end a long prompt.
SILENT_SECONDS: Final = 600
LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """An engine as it is started and asked.

    `program` are the words before the options; `by_variable` says that the unit sets by variable what has one.
    `model` is the name clients ask for, `health` the path that answers when it is ready.
    `has_queue_limit` says that its queue ends by itself, `has_keys` that it reads keys,
    `only_local_names` that it refuses requests for another host than its own.
    """

    daemon: Daemon
    place: Place
    port: int
    program: tuple[str, ...]
    settings: tuple[Setting, ...]
    by_variable: bool
    model: str
    health: str
    has_queue_limit: bool
    benched_by_vllm: bool
    has_keys: bool = True
    only_local_names: bool = False
    start: Start
    expect: Expectation

    @property
    def address(self) -> str:
        return client_address(self.place, self.port)

    def path(self, name: str) -> str:
        return f"/etc/{self.daemon.name}/{name}"


def pack(plan: Plan, service: Service, container: Container | None, *, head: Sequence[str]) -> tuple[File, ...]:
    """The files, without a Compose file where no image is known for the devices. Raises ValueError for text a file cannot hold."""
    files = [_check(plan, service, head), _script(service, head), _load_test(plan, service, head)]
    if container is not None:
        files.append(_compose(plan, service, container, head))
    if machines(plan) > 1 or not service.has_queue_limit:
        files.append(_front(plan, service, head))
    return tuple(files)


def machines(plan: Plan) -> int:
    """Machines like this one that together have the slots the work needs."""
    return math.ceil(plan.fit.slots_needed / plan.fit.slots) if plan.fit.slots else 1


def _check(plan: Plan, service: Service, head: Sequence[str]) -> File:
    by_variable = [s for s in service.settings if s.env and (service.by_variable or s.flag is None)]
    by_flag = [s for s in service.settings if s not in by_variable]
    checked = Checked(
        service=service.daemon.name,
        variables=tuple(f"{name}={value}" for name, value in _arguments.variables(by_variable).items()),
        options=tuple(_arguments.words(setting) for setting in by_flag),
        address=service.address,
        health=service.health,
        model=service.model,
        slots=plan.fit.slots,
        expect=service.expect,
    )
    return File(
        service.path("check.sh"),
        check_script(head, checked),
        "Checks what runs against the plan: settings, health, a completion, two at once, the start-up lines. pass or FAIL for each.",
        mode=0o755,
    )


def _script(service: Service, head: Sequence[str]) -> File:
    plain = [setting for setting in service.settings if setting.flag is None]
    variables = {s.env: (_arguments.variable_value(s), _arguments.reason(s)) for s in plain if s.env}
    head = [*head, "Starts it in the foreground, for a terminal or a supervisor that is not systemd: sh run.sh. Undo: Ctrl-C."]
    text = start_script(head, service.program, _arguments.arguments(service.settings), variables)
    return File(service.path("run.sh"), text, "The plain command, each option below its reason. Optional: the unit does the same.")


def _load_test(plan: Plan, service: Service, head: Sequence[str]) -> File:
    name = service.place.hub_id or service.place.name
    tokenizer = name if "/" in name and is_hub_id(name) and "gguf" not in name.lower() else None
    text = load_script(
        plan, head, address=service.address, model=service.model, tokenizer=tokenizer, with_vllm=service.benched_by_vllm
    )  # fmt: skip
    return File(
        service.path("load-test.sh"), text, "Puts the plan's load on the server, to compare what it answers with the plan. Optional."
    )


def _compose(plan: Plan, service: Service, container: Container, head: Sequence[str]) -> File:
    path = service.path("compose.yaml")
    how = (
        "Instead of the unit, where containers are preferred. Checked against the Compose specification; it was not run here.",
        f"Start: docker compose --file {path} up --detach. Look: docker compose --file {path} ps, until it says healthy.",
        f"Undo: docker compose --file {path} down; what was downloaded stays in its volumes.",
    )
    text = compose(
        [*head, *how],
        service.daemon.name,
        container,
        plan.node,
        published=_published(service),
        secrets=service.daemon.secrets_path if service.has_keys else None,
        start_seconds=service.start.seconds,
    )
    return File(path, text, "The same plan for Docker Compose, instead of the unit. Not run here. Optional.")


def _published(service: Service) -> Published:
    host = service.place.host
    if host is None:
        return Published(host="127.0.0.1", port=service.port, why="Only this machine reaches it.")
    try:
        return Published(host=str(ipaddress.ip_address(host)), port=service.port, why=f"You chose to listen on {host}.")
    except ValueError:
        why = f"Docker takes an IP address here: put that of {host} in, so that others reach it."
        return Published(host="127.0.0.1", port=service.port, why=why)


def _front(plan: Plan, service: Service, head: Sequence[str]) -> File:
    fit, many = plan.fit, machines(plan)
    listen = client_address(service.place, service.port + 1 if service.port < LAST_PORT else service.port - 1)
    front = _nginx.Front(
        name=service.daemon.name,
        listen=listen,
        machines=(service.address,),
        open_requests=fit.slots + fit.max_queue,
        limit_why=f"{_reasons.count(fit.slots, 'request')} running + {fit.max_queue:,} waiting: {fit.max_queue_why} "
        "One too many gets HTTP 503 at once and can be sent again.",
        timeout_seconds=max(SILENT_SECONDS, math.ceil(4 * plan.request.patience)),
        health=service.health,
        more_machines=many - 1,
        only_local_names=service.only_local_names,
    )
    reasons = []
    if many > 1:
        reasons.append(f"the work needs {fit.slots_needed:,} slots and one machine like this has {fit.slots:,}: {many} of them share it")
    if not service.has_queue_limit:
        reasons.append(f"{service.daemon.title}'s own queue has no end: this one ends")
    why = f"Optional, in front of the engine: {'; '.join(reasons)}."
    path = f"/etc/nginx/conf.d/{service.daemon.name}.conf"
    how = f"Start: sudo nginx -t && sudo systemctl reload nginx; clients then ask {listen}. Undo: sudo rm {path}, and reload again."
    return File(path, _nginx.front_file([*head, why, how], front), why)
