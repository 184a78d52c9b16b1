"""The closed queue: N users who think, then wait for one of c slots. Who waits, how often and how long.

The finite-source queue M/M/c//N: think times and generation times are exponential, users are independent, a user has at most
one request. An arriving request sees the system as it would be without its own user (the arrival theorem; Sevcik and
Mitrani 1981, Lavenberg and Reiser 1980), which is why every formula below runs over N − 1 others.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

from planner.core.plan import SlotTrade


def _others(*, others: int, slots: int, think_seconds: float, generate_seconds: float) -> Iterator[tuple[int, float]]:
    """(n, probability) that n of the `others` are in the system, in service or waiting, when a request arrives.

    Birth–death chain: births (others − n) / think, deaths min(n, slots) / generate. In logarithms, so that
    ten thousand users neither overflow nor vanish.
    """
    offered = math.log(generate_seconds / think_seconds)
    logs = [0.0]
    for n in range(others):
        logs.append(logs[-1] + math.log(others - n) + offered - math.log(min(n + 1, slots)))
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    total = math.fsum(weights)
    return ((n, weight / total) for n, weight in enumerate(weights))


@lru_cache(maxsize=65_536)
def slot_trade(*, users: int, slots: int, generate_seconds: float, turn_seconds: float) -> SlotTrade:
    """The share of turns that find no free slot, and the mean wait over all turns in seconds.

    A request that finds n ≥ c others waits for n − c + 1 departures of rate c / generate each. Without a pause
    (turn = generate) everyone is always in the system: each round takes N × generate / c.
    """
    think_seconds = turn_seconds - generate_seconds
    if slots >= users:
        return SlotTrade(slots, 0.0, 0.0)
    if think_seconds <= 0:
        return SlotTrade(slots, 1.0, generate_seconds * (users - slots) / slots)
    probability = wait = 0.0
    for n, share in _others(others=users - 1, slots=slots, think_seconds=think_seconds, generate_seconds=generate_seconds):
        if n >= slots:
            probability += share
            wait += share * (n - slots + 1) * generate_seconds / slots
    return SlotTrade(slots, min(1.0, probability), wait)


def slots_needed(*, users: int, generate_seconds: float, turn_seconds: float, wait_target: float) -> int:
    """The smallest number of slots at which at most `wait_target` of the turns find none free."""
    low, high = 1, users
    while low < high:
        middle = (low + high) // 2
        trade = slot_trade(users=users, slots=middle, generate_seconds=generate_seconds, turn_seconds=turn_seconds)
        if trade.wait_probability <= wait_target:
            high = middle
        else:
            low = middle + 1
    return low


def queue_bound(*, slots: int, generate_seconds: float, patience_seconds: float) -> int:
    """Requests that may wait so that the last of them still starts within `patience_seconds`, at least one.

    With all slots busy one finishes every generate / slots seconds, so the q-th in the queue starts after q of those.
    """
    return max(1, math.floor(patience_seconds * slots / generate_seconds + 1e-9))
