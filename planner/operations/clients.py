"""Who is asking: the address of a client, through as many proxies as the operator says there are."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str | None:
    """The address that the outermost of our own proxies saw. Whatever a client wrote into X-Forwarded-For stands before that.

    None where there is none: a socket has no address, and not every proxy writes one.
    """
    hops = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()] if settings.BEHIND_PROXY else []
    hops.append(request.META.get("REMOTE_ADDR", ""))
    seen = hops[max(0, len(hops) - 1 - settings.BEHIND_PROXY)]
    try:
        return str(ip_address(seen.strip("[]")))
    except ValueError:
        return None


def client_network(request: HttpRequest) -> str:
    """What counts as one client: an IPv4 address, or the /64 that one IPv6 customer has to choose from."""
    address = client_address(request)
    if address and isinstance(ip_address(address), IPv6Address):
        return str(ip_network(f"{address}/64", strict=False))
    return address or "unknown"
