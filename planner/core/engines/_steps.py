"""The commands that put a plan to work, show that it did, and take it back: the same shape for every engine."""

import json
from collections.abc import Mapping

from planner.core.engines import _shell
from planner.core.engines._place import Place
from planner.core.engines._unit import Daemon
from planner.core.engines.contract import Expectation, File, Step


def install(file: File, *, why: str) -> Step:
    """Puts a downloaded file where it belongs; one that is there already is kept beside it as `….~1~`, which systemd does not read."""
    command = f"sudo install -D --backup=numbered -m {file.mode:04o} .{file.path} {file.path}"
    return Step(command, "nothing", why)


def create_user(daemon: Daemon) -> Step:
    name = daemon.name
    return Step(
        f"id {name} || sudo useradd --system --user-group --home-dir {daemon.home} --shell /usr/sbin/nologin {name}",
        f"“uid=… ({name})” where the user exists already, else nothing",
        "The service runs as its own user.",
    )


def readable(daemon: Daemon, place: Place) -> tuple[Step, ...]:
    if place.path is None:
        return ()
    path = _shell.quote(place.path)
    return (
        Step(f"sudo -u {daemon.name} test -r {path} && echo readable", "readable", "The service's user must be able to read the model."),
    )


def look(daemon: Daemon) -> Step:
    return Step(
        f"systemctl cat {daemon.name}",
        f"“No files found for {daemon.name}.service.”, or the unit that the machine has already",
        "Says which of the files you need.",
    )


def start(daemon: Daemon, *, ready: str = "nothing, once the model answers") -> tuple[Step, ...]:
    return (
        Step("sudo systemctl daemon-reload", "nothing", "systemd reads unit files only when told to."),
        Step(f"sudo systemctl enable {daemon.name}", "“Created symlink …”, or nothing", "It starts with the machine."),
        Step(
            f"sudo systemctl restart {daemon.name}",
            ready,
            "Settings reach a running service only through a restart.",
        ),
    )


def syntax(daemon: Daemon) -> Step:
    return Step(f"systemd-analyze verify {daemon.unit_path}", "nothing", "systemd reads every line as it was meant.")


def environment(daemon: Daemon, variables: Mapping[str, str]) -> Step:
    shown = " ".join(f"{name}={value}" for name, value in variables.items())
    return Step(
        f"systemctl show {daemon.name} --property=Environment",
        f"a line that contains {shown}",
        "What the service really gets: an export in a shell or in .bashrc never reaches it.",
    )


def arguments(daemon: Daemon, words: str) -> Step:
    return Step(
        f"systemctl show {daemon.name} --property=ExecStart",
        f"one ExecStart, whose argv[] goes on with {words}",
        "The service really runs with these options.",
    )


def start_up_lines(daemon: Daemon, expect: Expectation) -> tuple[Step, ...]:
    """One step per line the engine prints at start. Where its figures are estimates, the words are looked for and the figures compared."""
    return tuple(
        Step(
            f"journalctl --unit {daemon.name} --boot --no-pager | grep -F -- {_shell.quote(expected.certain or expected.line)}",
            expected.line if expected.certain is None else f"about {expected.line}",
            expected.why,
        )
        for expected in expect.lines
    )


def check(daemon: Daemon) -> Step:
    return Step(
        f"sudo sh ./etc/{daemon.name}/check.sh",
        "pass in every line",
        "All the checks at once: it says for each whether it passed. With a key: put API_KEY=… before sh.",
    )


def health(address: str) -> Step:
    return Step(f"curl --silent --fail http://{address}/health && echo healthy", "healthy", "The model is loaded.")


def completion(address: str, model: str) -> str:
    body = json.dumps({"model": model, "max_tokens": 64, "messages": [{"role": "user", "content": "Count to twenty."}]})
    return _shell.command(
        ["curl", "--silent", "--show-error", f"http://{address}/v1/chat/completions", "-H", "Content-Type: application/json", "-d", body]
    )


def answers(address: str, model: str, slots: int) -> tuple[Step, ...]:
    """One completion, and two at once from two terminals."""
    command = completion(address, model)
    together = (
        "both answers after about the time of one: they run side by side"
        if slots > 1
        else "the second answer after about twice the time of the first: one slot serves one request at a time"
    )
    return (
        Step(command, 'JSON that contains "choices"', "A request passes through the whole server."),
        Step(f"time {command}", together, "Run it in two terminals at once: the slots are really there."),
    )


def undo(daemon: Daemon) -> tuple[Step, ...]:
    """Back to the unit as it was, or to no service at all."""
    return (
        Step(f"sudo rm {daemon.drop_in_path}", "nothing", "Removes the drop-in; a copy it replaced lies beside it as override.conf.~1~."),
        Step(
            f"sudo systemctl revert {daemon.name}",
            "“Removed …”, or nothing",
            "Removes every other local change to a unit that a package installed.",
        ),
        Step(f"sudo systemctl daemon-reload && sudo systemctl restart {daemon.name}", "nothing", "The unit's own settings are back."),
        Step(
            f"sudo systemctl disable --now {daemon.name} && sudo rm {daemon.unit_path} && sudo systemctl daemon-reload",
            "“Removed …”",
            "Only if the whole unit came from this plan: takes the service away.",
        ),
    )
