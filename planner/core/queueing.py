"""The closed queue: N users who think, then wait for one of c slots. Who waits, how often and how long.

The finite-source queue M/M/c//N: think times and generation times are exponential, users are independent, a user has at most
one request. An arriving request sees the system as it would be without its own user (the arrival theorem; Sevcik and
Mitrani 1981, Lavenberg and Reiser 1980), which is why every formula below runs over N − 1 others.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from planner.core.plan import SlotTrade

# States that are this much less likely than the most likely one add nothing to a sum of probabilities.
_NEGLIGIBLE: Final = 1e-20
_MANY: Final = 400


def _others(*, others: int, slots: int, think_seconds: float, generate_seconds: float) -> Iterator[tuple[int, float]]:
    """(n, probability) for n of the `others` waiting or being served; counts that practically never occur are left out.

    Birth–death chain: births (others − n) / think, deaths min(n, slots) / generate. Births fall and deaths rise with n, so
    the probabilities rise to one peak and fall from there: they are followed outwards from it, where each is a share of the
    one before, and ten thousand users neither overflow nor take ten thousand steps.
    """

    def step(n: int) -> float:
        """The probability of n + 1 as a multiple of that of n."""
        return (others - n) / think_seconds * generate_seconds / min(n + 1, slots)

    peak = bisect_left(range(others), True, key=lambda n: step(n) <= 1)  # noqa: FBT003 (the value that is sought)
    weights = {peak: 1.0}
    for n in range(peak, others):
        weights[n + 1] = weights[n] * step(n)
        if weights[n + 1] < _NEGLIGIBLE:
            break
    for n in range(peak, 0, -1):
        weights[n - 1] = weights[n] / step(n - 1)
        if weights[n - 1] < _NEGLIGIBLE:
            break
    total = math.fsum(weights.values())
    return ((n, weight / total) for n, weight in weights.items())


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


@lru_cache(maxsize=4096)
def wait_quantile(*, users: int, slots: int, generate_seconds: float, turn_seconds: float, share: float) -> float:
    """The wait in seconds that `share` of the turns do not exceed.

    A request that finds n ≥ c others waits for n − c + 1 departures of rate c / generate, so longer than t with the probability of at
    most n − c of them in t: Σ_n p_n × Σ_{k ≤ n − c} Poisson(k; c × t / generate). Found by halving, to a thousandth of a generation. Where more
    than `_MANY` stand in front, their number alone decides: the spread of so many departures is under a twelfth of it.
    """
    if slots >= users:
        return 0.0
    think_seconds = turn_seconds - generate_seconds
    if think_seconds <= 0:
        tails = [1.0] * (users - slots)
    else:
        waiting = {
            n - slots: p
            for n, p in _others(others=users - 1, slots=slots, think_seconds=think_seconds, generate_seconds=generate_seconds)
            if n >= slots
        }
        tails = [0.0] * (max(waiting, default=-1) + 1)
        total = 0.0
        for ahead in range(len(tails) - 1, -1, -1):
            total += waiting.get(ahead, 0.0)
            tails[ahead] = total
    ahead = bisect_left(tails, True, key=lambda tail: tail <= 1 - share)  # noqa: FBT003 (the value that is sought)
    if not ahead or ahead > _MANY:
        return ahead * generate_seconds / slots

    def longer(departures: float) -> float:
        """The share of turns that wait longer than until that many departures are to be expected."""
        if not departures:
            return tails[0]
        spread = 10 * math.sqrt(departures) + 10  # what lies farther from the mean adds nothing
        first, last = max(0, math.floor(departures - spread)), min(len(tails), math.ceil(departures + spread))
        return math.fsum(
            tails[count] * math.exp(count * math.log(departures) - departures - math.lgamma(count + 1)) for count in range(first, last)
        )

    low, high = 0.0, ahead + 10 * math.sqrt(ahead) + 20.0
    while high - low > slots / 1000:
        middle = (low + high) / 2
        low, high = (middle, high) if longer(middle) > 1 - share else (low, middle)
    return high * generate_seconds / slots


@lru_cache(maxsize=1024)
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


def queue_bound(*, users: int, slots: int, generate_seconds: float, patience_seconds: float) -> int:
    """Requests that may wait so that the last of them still starts within `patience_seconds`, at least one.

    With all slots busy one finishes every generate / slots seconds, so the q-th in the queue starts after q of those. Never
    more than have no slot: users − slots.
    """
    return max(1, min(users - slots, math.floor(patience_seconds * slots / generate_seconds + 1e-9)))
