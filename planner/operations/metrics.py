"""Figures for Prometheus: requests by route, their time, and what the limits refused. Nothing of a path or a person is in them."""

import os
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
# Set by deploy/gunicorn.conf.py: the folder in which the worker processes of one machine keep their figures for each other.
SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

REQUESTS: Final = Counter("slotwise_requests", "Requests answered.", ["method", "route", "status"])
SECONDS: Final = Histogram("slotwise_request_seconds", "Time to answer a request.", ["route"])
LIMITED: Final = Counter("slotwise_limited_requests", "Requests that a rate limit refused.", ["limit"])


def observe(*, method: str, route: str, status: int, seconds: float) -> None:
    """Counts one answered request. `route` is the pattern of the address, never the address: labels must stay few."""
    REQUESTS.labels(method=method if method in _METHODS else "other", route=route, status=str(status)).inc()
    SECONDS.labels(route=route).observe(seconds)


def exposition() -> bytes:
    """Every figure of this machine's processes, in the format of CONTENT_TYPE."""
    if SHARED_FOLDER not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
