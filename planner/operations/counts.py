"""Counting that all web processes share: one atomic step in the database, or in the cache server where there is one."""

import logging
import secrets
import time

from django.core.cache import cache, caches
from django.core.cache.backends.redis import RedisCache
from django.db import connection
from redis.exceptions import RedisError

from planner.operations.models import Count

log = logging.getLogger(__name__)

# One statement, so that two processes never read the same number. PostgreSQL, and SQLite since 3.35.
_ADD_ONE = """
    INSERT INTO operations_count (key, count, ends) VALUES (%s, 1, %s)
    ON CONFLICT (key) DO UPDATE SET count = operations_count.count + 1
    RETURNING count
"""
_SWEEP_ONE_IN = 200


def add_one(key: str, *, ends: int) -> int:
    """Counts once more under `key`, which is forgotten after `ends` (seconds since 1970); the count with this one.

    0 when the cache server does not answer: a limit that cannot be counted must not close the site.
    """
    if isinstance(caches["default"], RedisCache):
        return _in_cache(key, ends)
    return _in_database(key, ends)


def _in_cache(key: str, ends: int) -> int:
    try:
        cache.add(key, 0, timeout=max(1, ends - int(time.time())) + 1)
        return int(cache.incr(key))
    except ValueError:  # over between the two steps: the first of a new window
        return 1
    except RedisError as error:
        log.warning("The cache server does not answer, so nothing is limited: %s", type(error).__name__)
        return 0


def _in_database(key: str, ends: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_ADD_ONE, [key, ends])
        count = int(cursor.fetchone()[0])
    if count == 1 and secrets.randbelow(_SWEEP_ONE_IN) == 0:
        Count.objects.filter(ends__lt=int(time.time())).delete()
    return count
