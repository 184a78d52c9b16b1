"""Answers kept in memory: bounded, and some only for a while."""

import pytest

from planner.hub import cache as hub_cache
from planner.hub.cache import Cache


def test_the_least_recently_used_answer_leaves_first() -> None:
    cache = Cache(limit_bytes=30)
    for key in "abc":
        cache.put(key, key.upper(), seconds=None, size=10)
    assert cache.get("a") == "A"
    cache.put("d", "D", seconds=None, size=10)
    assert [cache.get(key) for key in "abcd"] == ["A", None, "C", "D"]


def test_an_answer_larger_than_the_cache_is_not_kept() -> None:
    cache = Cache(limit_bytes=30)
    cache.put("a", "A", seconds=None, size=10)
    cache.put("b", "B", seconds=None, size=31)
    assert (cache.get("a"), cache.get("b")) == ("A", None)


def test_an_answer_given_again_takes_the_place_of_the_old_one() -> None:
    cache = Cache(limit_bytes=30)
    for number in range(10):
        cache.put("a", number, seconds=None, size=20)
    assert cache.get("a") == 9


def test_a_branch_is_asked_about_again_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(hub_cache.time, "monotonic", lambda: now)
    cache = Cache()
    cache.put("main", "commit", seconds=300, size=1)
    cache.put("commit", "files", seconds=None, size=1)
    now += 299
    assert cache.get("main") == "commit"
    now += 1
    assert (cache.get("main"), cache.get("commit")) == (None, "files")
