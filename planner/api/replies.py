"""Answers as JSON, a page at a time where there are many."""

from collections.abc import Callable
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from ninja import Query

from planner.core.errors import InputError, one_line

MAX_PAGE: Final = 100
Limit = Annotated[int, Query(20, ge=1, le=MAX_PAGE, description="How many at once.")]
Offset = Annotated[int, Query(0, ge=0, le=1_000_000, description="How many to leave out first.")]


def reply(told: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> JsonResponse:
    """`told` as it is: it was made to be JSON, and NaN is none."""
    return JsonResponse(told, status=status, headers=headers, json_dumps_params={"allow_nan": False})


def page(
    request: HttpRequest,
    rows: QuerySet[Any],
    told: Callable[[list[Any]], list[Any]],
    *,
    limit: int,
    offset: int,
    filters: tuple[str, ...] = (),
) -> JsonResponse:
    """Rows of an ordered query from `offset` on, as `told` has them, with the address of those that follow.

    Raises InputError for a parameter that is neither of these nor of `filters`: a slip in a name must not widen what is found.
    """
    if unknown := sorted(request.GET.keys() - {"limit", "offset", *filters}):
        raise InputError("There is no such parameter here.", field=one_line(unknown[0])[:60])
    count = rows.count()
    following = None
    if offset + limit < count:
        query = {**request.GET.dict(), "limit": limit, "offset": offset + limit}
        following = f"{site(request.path)}?{urlencode(query)}"
    return reply({"count": count, "next": following, "items": told(list(rows[offset : offset + limit]))})


def site(path: str) -> str:
    """The whole address of `path`. Never from the request's Host, which anybody can write."""
    return f"{settings.SITE_URL}{path}"
