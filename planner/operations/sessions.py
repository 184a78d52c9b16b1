"""Sessions in the database, read through the cache server where there is one; while it is away, from the database alone."""

from typing import Any

from django.contrib.sessions.backends import cached_db, db
from redis.exceptions import RedisError


class SessionStore(cached_db.SessionStore):
    """Reading goes on without the server. Ending a session does not: it would come back with the server, and so it fails loudly."""

    def load(self) -> dict[str, Any]:
        try:
            return super().load()
        except RedisError:
            return db.SessionStore.load(self)
