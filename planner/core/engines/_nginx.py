"""An nginx front for several machines, or for an engine whose queue has no end: fewest connections first, a limit, and no buffering.

Source: nginx.org, ngx_http_upstream_module (`least_conn`, `zone`, `max_conns`, `max_fails`), ngx_http_limit_conn_module, ngx_http_proxy_module.
The free version has no `queue` and asks no health by itself: it learns of a failure from a request.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.core.engines import _systemd

# The whole grammar of what goes into this file from outside: a name, an address with its port. nginx splits at anything else.
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,63}", re.ASCII)
_ADDRESS: Final = re.compile(r"(?:\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?):[0-9]{1,5}", re.ASCII)
_PATH: Final = re.compile(r"/[a-z/]{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """`machines` are the addresses behind `listen`; `open_requests` the most that one machine may hold, running and waiting.

    `only_local_names` is for a server that refuses requests for any other host than its own."""

    name: str
    listen: str
    machines: tuple[str, ...]
    open_requests: int
    limit_why: str
    timeout_seconds: int
    health: str
    more_machines: int = 0
    only_local_names: bool = False


def _checked(text: str, grammar: re.Pattern[str]) -> str:
    if not grammar.fullmatch(text):
        raise ValueError(f"{text[:40]!r} cannot stand in an nginx file")
    return text


def _note(text: str, indent: str) -> Iterator[str]:
    yield from (f"{indent}{line}" for line in _systemd.comment([text]))


def _upstream(front: Front) -> Iterator[str]:
    options = f"max_conns={front.open_requests} max_fails=2 fail_timeout=10s"
    yield f"upstream {_checked(front.name, _NAME)} {{"
    yield from _note(
        "The machine with the fewest open requests gets the next one: answers differ too much in length to take turns.", "    "
    )
    yield "    least_conn;"
    yield from _note("nginx's own processes count together; without it each would allow the whole limit.", "    ")
    yield f"    zone {front.name} 64k;"
    yield from _note(
        "After 2 failures within 10 s a machine gets no requests for 10 s. nginx learns of a failure from a request only: "
        f"watch {_checked(front.health, _PATH)} of each machine with something else.",
        "    ",
    )
    yield from (f"    server {_checked(machine, _ADDRESS)} {options};" for machine in front.machines)
    for number in range(front.more_machines):
        yield f"    # server machine-{number + 2}.example:{front.machines[0].rsplit(':', 1)[1]} {options};"
    yield from _note("Connections to the machines stay open.", "    ")
    yield "    keepalive 16;"
    yield "}"


def _server(front: Front) -> Iterator[str]:
    total = front.open_requests * len(front.machines)
    more = f" Each further machine adds {front.open_requests}." if front.more_machines else ""
    yield "server {"
    yield f"    listen {_checked(front.listen, _ADDRESS)};"
    yield from _note("Prompts of a long conversation are larger than nginx's 1 MB.", "    ")
    yield "    client_max_body_size 64m;"
    yield from _note(front.limit_why + more, "    ")
    yield f"    limit_conn {front.name}_open {total};"
    yield "    limit_conn_status 503;"
    yield "    location / {"
    yield f"        proxy_pass http://{front.name};"
    yield "        proxy_http_version 1.1;"
    yield '        proxy_set_header Connection "";'
    if front.only_local_names:
        yield from _note("It refuses requests that name another host than its own.", "        ")
        yield "        proxy_set_header Host localhost;"
    yield from _note("Tokens are passed on as they come.", "        ")
    yield "        proxy_buffering off;"
    yield from _note("The longest silence: a prompt that waits and is then read says nothing until its first token.", "        ")
    yield f"        proxy_read_timeout {front.timeout_seconds}s;"
    yield from _note("A machine that cannot be reached is skipped; a request that was sent is never sent twice.", "        ")
    yield "        proxy_next_upstream error timeout;"
    yield "    }"
    yield "}"


def front_file(head: Sequence[str], front: Front) -> str:
    """The text of a file for nginx's conf.d. Raises ValueError for a name or address outside the grammar."""
    zone = f'limit_conn_zone "all" zone={_checked(front.name, _NAME)}_open:64k;'
    return "\n".join([*_systemd.comment(head), "", zone, "", *_upstream(front), "", *_server(front), ""])
