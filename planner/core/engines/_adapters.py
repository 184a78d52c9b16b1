"""LoRA adapters: what they are called and where a service expects them, because a plan only knows how many there are."""

from typing import Final

from planner.core.engines import _shell
from planner.core.engines._unit import Daemon
from planner.core.engines.contract import Step
from planner.core.plan import Plan, Remark

# More than this do not belong on a command line.
MOST: Final = 64


def names(plan: Plan) -> tuple[str, ...]:
    """`adapter-1`, `adapter-2` …; none where they are too many to list."""
    count = plan.request.adapters
    return tuple(f"adapter-{number}" for number in range(1, count + 1)) if count <= MOST else ()


def path(daemon_home: str, name: str, ending: str = "") -> str:
    return f"{daemon_home}/adapters/{name}{ending}"


def remarks(plan: Plan) -> tuple[Remark, ...]:
    count = plan.request.adapters
    if not count:
        return ()
    memory = Remark(
        "adapter_memory",
        "The adapters' own memory is not in the budget, because their rank and the layers they change are not known here: "
        "about the size of each adapter's file, beside the weights.",
        "adapters",
    )
    if count <= MOST:
        return (memory,)
    many = f"{count:,} adapters are too many for a command line: the files leave them out, load them through the server's API."
    return (memory, Remark("adapters_by_hand", many, "adapters"))


def install(daemon: Daemon, plan: Plan, *, ending: str = "") -> tuple[Step, ...]:
    """How the first adapter gets to its place; the others follow it."""
    found = names(plan)
    if not found:
        return ()
    name = f"{found[0]}{ending}"
    target = path(daemon.home, found[0], ending)
    more = f" Likewise for the others, up to {found[-1]}{ending}." if len(found) > 1 else ""
    return (
        Step(
            f"sudo mkdir -p {_shell.quote(f'{daemon.home}/adapters')} && sudo cp -r {_shell.quote(name)} {_shell.quote(target)}",
            "nothing",
            f"Your adapter, under the name that the settings use.{more}",
        ),
    )
