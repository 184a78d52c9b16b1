"""Answers of the Hub kept in memory: bounded in size, some of them only for a while, safe for threads."""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

DEFAULT_BYTES: Final = 64 * 2**20


class Answers(Protocol):
    """Where answers are kept. What is put for a while may change on the Hub; what is put without an end never does."""

    def get(self, key: Hashable) -> Any: ...
    def put(self, key: Hashable, value: Any, *, seconds: float | None, size: int) -> None: ...


@dataclass(frozen=True, slots=True)
class _Entry:
    value: Any
    size: int
    ends: float | None


@dataclass(slots=True)
class Cache:
    """The least recently used answer leaves first. `size` is what the caller estimates that an answer takes in memory."""

    limit_bytes: int = DEFAULT_BYTES
    _entries: OrderedDict[Hashable, _Entry] = field(default_factory=OrderedDict)
    _bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable) -> Any:
        """The value, or None when there is none or its time is over."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if entry.ends is not None and entry.ends <= time.monotonic():
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            return entry.value

    def put(self, key: Hashable, value: Any, *, seconds: float | None, size: int) -> None:
        """Keeps `value` for `seconds` (None: as long as there is room)."""
        with self._lock:
            if key in self._entries:
                self._drop(key)
            if size > self.limit_bytes:
                return
            self._entries[key] = _Entry(value, size, None if seconds is None else time.monotonic() + seconds)
            self._bytes += size
            while self._bytes > self.limit_bytes:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        self._bytes -= self._entries.pop(key).size
