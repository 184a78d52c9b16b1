"""Users and their duty cycle: how many requests are in flight, and how that varies.

People logged in are not requests in flight: each user alternates between a turn being generated and a pause. With a free
slot for everyone, each of N users is in flight with probability generate / turn, independently, so the number in flight is
binomial. Agents and batch jobs have no pause and are always in flight.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.core.errors import InputError
from planner.core.plan import Workload
from planner.core.request import PlanRequest, Usage

# The distribution is kept up to the first count that all but this share of moments stay below.
_TAIL: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of use and the duty cycle it starts from. Estimates to be replaced by the user's own: each says so on the page."""

    title: str
    generate_seconds: float
    turn_seconds: float
    why: str


PRESETS: Final[dict[Usage, Preset]] = {
    "chat": Preset("Chat", 12, 90, "A reply of about 12 s, then reading and typing until the next turn 90 s after the last."),
    "coding": Preset("Coding assistant", 20, 60, "Longer replies, shorter pauses: a turn a minute while someone works with it."),
    "rag": Preset("RAG over documents", 15, 120, "Long prompts with retrieved passages, and answers that people read with care."),
    "agents": Preset(
        "Agents or batch jobs", 30, 30, "The next request follows at once: there is no pause, so everyone is always in flight."
    ),
}


def duty_cycle(request: PlanRequest) -> tuple[float, float]:
    """Seconds generating per turn and seconds from turn to turn: the user's, else the preset's.

    A turn shorter than its generation is not refused: the next request follows at once, so the turn is as long as the
    generation and everyone is always in flight (`Workload.always_in_flight` says it).
    """
    preset = PRESETS[request.usage]
    generate = request.generate_seconds if request.generate_seconds is not None else preset.generate_seconds
    if request.turn_seconds is not None:
        turn = request.turn_seconds
    elif request.think_seconds is not None:
        turn = generate + request.think_seconds
    else:
        turn = max(generate, preset.turn_seconds)
    return generate, max(generate, turn)


@lru_cache(maxsize=4096)
def binomial(n: int, p: float) -> tuple[float, ...]:
    """Probabilities of 0, 1, 2 … successes in `n` trials of probability `p`, up to all but one in a million of the mass."""
    if p >= 1:
        return (*(0.0,) * n, 1.0)
    log_odds = math.log(p) - math.log1p(-p)
    log_term = n * math.log1p(-p)
    terms, total = [], 0.0
    for k in range(n + 1):
        terms.append(math.exp(log_term))
        total += terms[-1]
        if total > 1 - _TAIL:
            break
        log_term += math.log((n - k) / (k + 1)) + log_odds if k < n else 0.0
    return tuple(terms)


def quantile(distribution: tuple[float, ...], share: float) -> int:
    """The smallest count that at least `share` of moments do not exceed."""
    total = 0.0
    for count, probability in enumerate(distribution):
        total += probability
        if total >= share - 1e-12:
            return count
    return len(distribution) - 1


@lru_cache(maxsize=1024)
def workload(*, users: int, generate_seconds: float, turn_seconds: float) -> Workload:
    """In-flight requests of `users` people: mean = users × generate / turn, and the binomial distribution around it."""
    if not 0 < generate_seconds <= turn_seconds:
        raise InputError("A turn lasts at least as long as its generation.", field="turn_seconds")
    duty = generate_seconds / turn_seconds
    distribution = binomial(users, duty)
    return Workload(
        users=users,
        generate_seconds=generate_seconds,
        turn_seconds=turn_seconds,
        in_flight_mean=users * duty,
        in_flight_p95=quantile(distribution, 0.95),
        in_flight_p99=quantile(distribution, 0.99),
        distribution=distribution,
        always_in_flight=duty == 1,
    )
