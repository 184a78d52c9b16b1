"""Rungs of several machines: replicas behind a load balancer, and one model cut over nodes where no machine holds it."""

import math
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from planner.core import catalog, units
from planner.core.engines import engines
from planner.core.engines.contract import File, Step
from planner.core.errors import InputError
from planner.core.hardware import Device
from planner.core.ladder.buying import MOST_CARDS
from planner.core.ladder.costs import cost_of, together
from planner.core.ladder.rung import Rung
from planner.core.ladder.trying import Start, rung, users_of
from planner.core.planning import make_plan
from planner.core.sensitivity import Held
from planner.core.sensitivity.users import serves
from planner.core.weight_formats import find_format

_MOST_MACHINES: Final = 64
_MOST_NODES: Final = 8
RAY_PORT: Final = 6379


def replica_rungs(start: Start) -> Iterator[Rung]:
    """As many machines like today's as the work needs, behind nginx.

    Slots of all machines count as one queue's: nginx sends a request to the machine with the fewest open ones, so that one waits
    only where every machine is full (as in the plan's own nginx file).
    """
    found, each = start.now.outcome, start.now.outcome.slots_that_fit
    if not each:
        return
    machines = max(2, math.ceil(found.slots_needed / each))
    if machines > _MOST_MACHINES:
        return
    kinds = start.node.kinds
    costs = [
        cost_of(device.slug, device, (machines - 1) * start.node.devices.count(device), start.prices)
        for device in kinds
        if device.device_class != "custom" or len(kinds) == 1
    ]
    more = machines - 1
    change = f"{units.counted(more, 'more machine')} like today's behind a load balancer, {machines} in all"
    why = "Each has the whole model. The machines around the cards are not in the price."
    made = rung(start, "replica", change, why=why, changes=dict(start.machine), cost=together(costs))
    if made is None:
        return
    slots = machines * each
    users = users_of(start.now, slots)
    reading = _reading(made, machines, users)
    beyond = f"At {units.counted(users + 1, 'user')} {machines} machines have too few slots ({slots:,}): add another."
    yield replace(
        made,
        machines=machines,
        slots_that_fit=slots,
        verdict="fits" if slots > found.slots_needed else "tight",
        users=users,
        users_waiting=max(users, made.users_waiting * machines),
        users_reading=reading,
        gained=users - start.users,
        reaches=slots >= found.slots_needed,
        watts=None if made.watts is None else made.watts * machines,
        watts_more=None if made.watts is None else made.watts * (machines - 1),
        next_limit=beyond if reading is None or reading == users else f"{beyond} Speed is nearer: {made.next_limit}",
        files=_front(start),
    )


def _reading(made: Rung, machines: int, users: int) -> int | None:
    """Of all machines: where slots end before the speed does on one of them, they do on all."""
    if made.users_reading is None or made.users_reading == made.users:
        return made.users_reading and users
    return min(users, made.users_reading * machines)


def _front(start: Start) -> tuple[File, ...]:
    """The upstream configuration: the engine's own front, with a line for every further machine, for as many users as take more than one."""
    users = max(start.now.load.users, start.users + 1)
    try:
        _, handed = make_plan(start.held.changed({**dict(start.machine), "users": users}), start.held.source, simulated=False)
    except InputError:
        return ()
    return tuple(file for file in handed.files if file.path.startswith("/etc/nginx/"))


def cluster_rungs(start: Start) -> Iterator[Rung]:
    """The smallest set of equal nodes that holds the model: tensor parallel inside a node, pipeline stages over nodes, on Ray."""
    for device in _nodes_of(start):
        for nodes in range(2, _MOST_NODES + 1):
            made = _cluster(start, device, nodes)
            if made:
                yield made
                return


def _nodes_of(start: Start) -> tuple[Device, ...]:
    """Today's card first; then modules of data centres, the least memory first."""
    own = [d for d in start.node.kinds if d.runs_cuda and d.device_class != "custom"] if len(start.node.kinds) == 1 else []
    modules = [
        d
        for d in catalog.devices().values()
        if d.runs_cuda and d.device_class == "datacenter" and d.slot_width is None and "NVLink" in d.interconnect
    ]
    modules.sort(key=lambda device: device.memory_bytes)
    return tuple(dict.fromkeys((*own, *modules)))


def _cluster(start: Start, device: Device, nodes: int) -> Rung | None:
    """None where the nodes are too many for a plan, or do not serve everyone."""
    cards = nodes * MOST_CARDS
    if cards > catalog.MAX_COUNT:
        return None
    changes: dict[str, Any] = {
        "device": device.slug,
        "count": cards,
        "tensor_parallel": MOST_CARDS,
        "pipeline_parallel": nodes,
        "gpu_memory": None,
        "reserved_memory": None,
        "weights_quant": _checkpoint(start.now.request.weights_quant),
        "cache_type": "auto" if start.held.engine.serves_gguf else start.now.request.cache_type,
        "engine_version": None if start.held.engine.name != "vllm" else start.now.request.engine_version,
    }
    held = Held(start.held.request, start.held.source, engines()["vllm"])
    planned = held.tried(changes)
    if planned is None or not serves(planned):
        return None
    change = f"{nodes} nodes with {MOST_CARDS} × {device.name}, one model over all of them (vLLM on Ray)"
    why = (
        "No single machine holds it. Tensor parallel inside a node, pipeline stages between nodes: every token crosses the network once a "
        "stage, so the nodes need a fast one (InfiniBand or RoCE). Not tried here: memory is computed as for one machine with all cards."
    )
    owned = start.node.devices.count(device)
    cost = cost_of(device.slug, device, max(0, cards - owned), start.prices)
    made = rung(start, "cluster", change, why=why, changes=changes, cost=cost, held=held)
    return None if made is None else replace(made, machines=nodes, steps=_steps(start, nodes), unverified=True)


def _checkpoint(name: str | None) -> str | None:
    """The format where vLLM can serve it, None where it is one of GGUF files."""
    known = find_format(name) if name else None
    return known.name if known and known.kind == "checkpoint" else None


def _steps(start: Start, nodes: int) -> tuple[Step, ...]:
    """Source: docs.vllm.ai, “Parallelism and Scaling”; `vllm serve --help` of 0.33; docs.ray.io, Cluster Management CLI."""
    model, context = shlex.quote(start.held.source.id), start.now.context_tokens
    sizes = f"--tensor-parallel-size {MOST_CARDS} --pipeline-parallel-size {nodes}"
    return (
        Step(f"ray start --head --port={RAY_PORT}", "Ray runtime started", "On the first node."),
        Step(
            f"ray start --address=HEAD:{RAY_PORT}",
            "Ray runtime started",
            f"On each of the other {nodes - 1}: HEAD is the first node's address.",
        ),
        Step("ray status", f"{nodes} active nodes and {nodes * MOST_CARDS} GPUs", "All cards are there before the model is loaded."),
        Step(
            f"vllm serve {model} --max-model-len {context} {sizes} --distributed-executor-backend ray",
            "Application startup complete",
            "On the first node. The model's files must be at the same path on every node. Not run here.",
        ),
    )
