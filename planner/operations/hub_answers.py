"""Answers of the Hub, shared by the web processes as far as they may change: all of them plan with the same commit of a branch."""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from django.core.cache import cache
from django.db import DatabaseError
from redis.exceptions import RedisError

import planner
from planner.hub.cache import Cache


@dataclass(frozen=True, slots=True)
class SharedAnswers:
    """What a commit holds never changes, so each process keeps that in its own memory; which commit a branch is at lies in the cache."""

    own: Cache = field(default_factory=Cache)

    def get(self, key: Hashable) -> Any:
        known = self.own.get(key)
        if known is None:
            try:
                known = cache.get(_name(key))
            except (DatabaseError, RedisError):
                return None  # asked again then; a command may run where there is no database yet
        return known

    def put(self, key: Hashable, value: Any, *, seconds: float | None, size: int) -> None:
        if seconds is None:
            self.own.put(key, value, seconds=None, size=size)
            return
        try:
            cache.set(_name(key), value, timeout=seconds)
        except (DatabaseError, RedisError):
            self.own.put(key, value, seconds=seconds, size=size)


def _name(key: Hashable) -> str:
    # Of a fixed length and without the token that may be in it; another release may have other types.
    return "hub:" + hashlib.sha256(repr((planner.VERSION, key)).encode()).hexdigest()
