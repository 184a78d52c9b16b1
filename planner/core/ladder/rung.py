"""A rung of the ladder: one change that was planned, with what it gains, costs, draws and risks."""

from dataclasses import dataclass
from typing import Any, Literal

from planner.core.engines.contract import File, Step
from planner.core.plan import Verdict
from planner.core.prices import Price
from planner.core.quality import Risk

Kind = Literal["today", "context", "cache", "weights", "cache_and_weights", "card", "other_card", "bigger", "replica", "cluster"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What is still to be bought. `amount` is the lowest of `prices` (each for one of `count`), None where none is given.

    `monthly` is the rent a month instead. `words` says all of it, a launch price only as such.
    """

    amount: float | None
    monthly: float | None
    currency: str
    count: int
    prices: tuple[Price, ...]
    words: str

    @property
    def is_offer(self) -> bool:
        """It rests on prices that were entered: a launch price is a hint."""
        return self.count == 0 or any(price.origin == "entered" for price in self.prices)


@dataclass(frozen=True, slots=True)
class Rung:
    """`users` is the most that find a slot as often as they should, `users_waiting` the most whose mean wait stays within patience.

    Both are exact: one more was planned, too. `users_reading` is the most of them who get tokens as fast as people read, by the middle of
    the estimate; None where the speed is not known. `gained` is against today. `changes` make the request of one machine, of which there are
    `machines`; `slots_that_fit` are those of all of them. `next_limit` is what stops one user more.
    `files` and `steps` are what a change needs beside the plan's own files. `unverified`: it was not run here, and says so.
    """

    kind: Kind
    change: str
    why: str
    changes: tuple[tuple[str, Any], ...]
    engine: str
    weights: str
    cache_type: str
    context: int
    machine: str
    machines: int
    verdict: Verdict
    slots_needed: int
    slots_that_fit: int
    users: int
    users_waiting: int
    users_reading: int | None
    gained: int
    reaches: bool
    cost: Cost
    watts: int | None
    watts_more: int | None
    risk: Risk | None
    next_limit: str
    files: tuple[File, ...] = ()
    steps: tuple[Step, ...] = ()
    unverified: bool = False
    disputed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ladder:
    """`today` is the machine as it is. `rungs` are in order of cost; those with no price follow, those that cost nothing come first.

    `target` are the users to be served.
    """

    target: int
    today: Rung
    rungs: tuple[Rung, ...]
    currency: str
    notes: tuple[str, ...]

    @property
    def first(self) -> Rung | None:
        """The cheapest rung that serves everyone at the pace of reading, as far as the speed is known; None where none does."""
        return next((rung for rung in self.rungs if self.suffices(rung)), None)

    def suffices(self, rung: Rung) -> bool:
        return rung.reaches and (rung.users_reading is None or rung.users_reading >= self.target)
