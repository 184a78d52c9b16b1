"""Who can reach the server: what a plan says when it is more than the machine itself."""

import ipaddress

from planner.core.engines._place import Place
from planner.core.plan import Remark


def beyond_this_machine(host: str | None) -> bool:
    """Whether others can reach a server that listens on `host`; None is this machine alone."""
    if host is None or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


def remarks(place: Place, *, protection: str) -> tuple[Remark, ...]:
    """What to do before others can reach the address. `protection` is the engine's own way."""
    if not beyond_this_machine(place.host):
        return ()
    return (Remark("reachable", f"Others can reach {place.host}: {protection}", "host"),)
