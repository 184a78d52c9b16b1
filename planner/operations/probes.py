"""What machines ask a site: is the process alive, is it ready for visitors, what are its figures."""

from collections.abc import Callable
from functools import cache as computed_once
from typing import Final

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404, resolve
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from planner.operations import metrics

GetResponse = Callable[[HttpRequest], HttpResponse]
PATHS: Final = frozenset({"/healthz", "/readyz", "/metrics"})


def answer_probes(get_response: GetResponse) -> GetResponse:
    """Probes come to a machine's own address, not to the site's name, and all the time: no check of the host, no session, no limit."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path not in PATHS:
            return get_response(request)
        try:
            request.resolver_match = match = resolve(request.path)
        except Resolver404:
            return get_response(request)
        try:
            response: HttpResponse = match.func(request)
        except Http404:
            return HttpResponse("not here\n", status=404, content_type="text/plain")
        return response

    return middleware


@require_safe
@never_cache
def alive(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 (Django passes it)
    """The process answers. Asks nothing else: restarting it would not mend a database."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def ready(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 (Django passes it)
    """200 when the database and the cache answer and every migration of this release is applied, else 503 with the part that fails."""
    found = {"database": _database(), "cache": _cache()}
    found["migrations"] = _migrations() if found["database"] == "ok" else "unknown"
    return JsonResponse(found, status=200 if set(found.values()) == {"ok"} else 503)


@require_safe
@never_cache
def figures(request: HttpRequest) -> HttpResponse:
    """For Prometheus, with METRICS_TOKEN as bearer token; not there where none is set."""
    if not settings.METRICS_TOKEN:
        raise Http404
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {settings.METRICS_TOKEN}"):
        return HttpResponse("METRICS_TOKEN is missing\n", status=401, content_type="text/plain", headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(metrics.exposition(), content_type=metrics.CONTENT_TYPE)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "does not answer"
    return "ok"


def _cache() -> str:
    try:
        cache.get("ready")
    except (DatabaseError, RedisError):
        return "does not answer"
    return "ok"


def _migrations() -> str:
    try:
        missing = _of_this_release() - MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError:
        return "unknown"
    return f"{len(missing)} not applied" if missing else "ok"


@computed_once
def _of_this_release() -> frozenset[tuple[str, str]]:
    """What the files of this release say, which a running process cannot see change."""
    return frozenset(MigrationLoader(None).disk_migrations)
