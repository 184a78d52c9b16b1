"""What people send: kinds of turns, conversations that grow, and when the next request comes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random
from typing import Final, Literal, Protocol

from planner.core import units
from planner.core.errors import InputError
from planner.core.simulation.lengths import Spread
from planner.core.simulation.sequence import Sequence

Arrivals = Literal["closed", "poisson", "agents"]

MAX_PEOPLE: Final = 10_000
# Beyond this a run ends at its bound on events anyway, after minutes and with every arrival in memory.
MAX_TURNS: Final = 1_000_000
# Whoever is refused tries again after the usual pause, but not before this many seconds.
RETRY_S: Final = 1.0
# One token of a prompt and one of its answer.
_SHORTEST_CONTEXT: Final = 2
# Pauses to think vary as much as an exponential: the queueing formulas assume it too.
_THINK_SHAPE: Final = "exponential"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnKind:
    """One kind of turn, `share` of all. `prompt` are its new tokens, those of images included; `output` those of the answer.

    `adapter` is the one this kind asks for; None: the person's own.
    """

    name: str
    prompt: Spread
    output: Spread
    share: float = 1.0
    adapter: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The load. In the closed loop each of `people` waits for the answer, thinks for `think_s` on average and sends the next turn.

    `arrivals` "agents" is the closed loop without a pause; "poisson" are independent requests, one per person every `turn_s`
    on average, whether or not the last was answered. Nobody sends anything after `duration_s`; what is under way is finished.
    `turns` is how many turns a conversation has on average before a new one begins (1: no history). `shared_tokens` begin
    every prompt. `cached_share` is the share of each prompt that the cache has, where it is to be taken as given.
    With `adapters` > 1 each person keeps to one of them. `together` lets everyone begin at the same moment.
    """

    people: int
    kinds: tuple[TurnKind, ...]
    duration_s: float
    think_s: float = 0.0
    turn_s: float = 0.0
    arrivals: Arrivals = "closed"
    context_tokens: int
    turns: float = 1.0
    shared_tokens: int = 0
    cached_share: float | None = None
    adapters: int = 1
    together: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.people <= MAX_PEOPLE:
            raise InputError(f"Between 1 and {MAX_PEOPLE:,} people can be simulated, not {self.people:,}.", field="users")
        if not 0 < self.duration_s <= 30 * 86_400:
            raise InputError("The simulated time must be longer than 0 and at most 30 days.", field="duration")
        if not self.kinds or not math.isclose(sum(kind.share for kind in self.kinds), 1.0, abs_tol=1e-9):
            raise InputError("The shares of the kinds of turns must add up to 1.")
        if self.arrivals == "poisson" and self.turn_s <= 0:
            raise InputError("Independent arrivals need the seconds from one turn of a person to the next.", field="turn_seconds")
        if self.turn_s > 0 and self.people * self.duration_s / self.turn_s > MAX_TURNS:
            raise InputError(
                f"{self.people:,} users with a turn every {units.seconds(self.turn_s)} send more than {MAX_TURNS:,} requests in this time: "
                "choose a shorter time or fewer users.",
                field="duration",
            )
        if self.context_tokens < _SHORTEST_CONTEXT:
            raise InputError(
                f"A context of {units.counted(self.context_tokens, 'token')} cannot hold a prompt and an answer.", field="context"
            )
        if not 0 <= self.shared_tokens <= self.context_tokens - _SHORTEST_CONTEXT:
            raise InputError("The tokens that all prompts share must leave room in the context.", field="shared_tokens")


class Source(Protocol):
    """Where requests come from. `next_s` is when the next one comes (infinite: no more for now)."""

    next_s: float

    def take(self) -> Sequence:
        """The request that comes at `next_s`."""

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:
        """The request has been answered or refused at `now_s`."""


class Person:
    """One user's random numbers and conversation. A stream of their own: whoever else is there, their turns are the same."""

    __slots__ = ("adapter", "conversation", "history", "number", "random")

    def __init__(self, number: int, traffic: Traffic) -> None:
        self.number = number
        self.random = Random(f"{traffic.seed}/{number}")  # noqa: S311 - a model, not a secret
        self.adapter = number % max(1, traffic.adapters)
        self.conversation = number
        self.history = 0

    def turn(self, traffic: Traffic, at_s: float) -> Sequence:
        """The next turn. A conversation that would outgrow the context begins anew."""
        index = self._kind(traffic.kinds)
        kind = traffic.kinds[index]
        prompt, output = kind.prompt.tokens(self.random), kind.output.tokens(self.random)
        begins_anew = traffic.turns <= 1.0 or self.random.random() * traffic.turns < 1.0
        limit = traffic.context_tokens
        if self.history and (begins_anew or self.history + prompt + output > limit):
            self.history = 0
            self.conversation += traffic.people
        before = self.history or traffic.shared_tokens
        output = min(output, limit - before - 1)
        sequence = Sequence(
            arrival_s=at_s,
            prompt=min(before + prompt, limit - output),
            output=output,
            conversation=self.conversation,
            history=self.history,
            shared=traffic.shared_tokens,
            cached_share=traffic.cached_share,
            adapter=self.adapter if kind.adapter is None else kind.adapter,
            kind=index,
            person=self.number,
        )
        self.history = sequence.prompt + sequence.output
        return sequence

    def _kind(self, kinds: tuple[TurnKind, ...]) -> int:
        if len(kinds) == 1:
            return 0
        point = self.random.random()
        for index, kind in enumerate(kinds[:-1]):
            point -= kind.share
            if point < 0:
                return index
        return len(kinds) - 1


class ClosedLoop:
    """People who send, wait for the answer, think, and send again."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._people = [Person(number, traffic) for number in range(traffic.people)]
        self._think = Spread(0.0 if traffic.arrivals == "agents" else traffic.think_s, shape=_THINK_SHAPE)
        self._coming = [(0.0 if traffic.together else self._think.draw(person.random), person.number) for person in self._people]
        heapify(self._coming)
        self._look()

    def take(self) -> Sequence:
        at_s, number = heappop(self._coming)
        self._look()
        return self._people[number].turn(self._traffic, at_s)

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:
        person = self._people[sequence.person]
        pause = self._think.draw(person.random)
        if refused:
            pause = max(pause, RETRY_S)
            person.history = sequence.history
        heappush(self._coming, (now_s + pause, sequence.person))
        self._look()

    def _look(self) -> None:
        first = self._coming[0][0] if self._coming else math.inf
        self.next_s = first if first <= self._traffic.duration_s else math.inf


class Independent:
    """Requests at random moments, one person after another."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._random = Random(f"{traffic.seed}/arrivals")  # noqa: S311 - a model, not a secret
        self._people = [Person(number, traffic) for number in range(traffic.people)]
        self._between = Spread(traffic.turn_s / traffic.people, shape="exponential")
        self._count = 0
        self.next_s = 0.0
        self._look()

    def take(self) -> Sequence:
        person = self._people[self._count % self._traffic.people]
        self._count += 1
        sequence = person.turn(self._traffic, self.next_s)
        self._look()
        return sequence

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:
        """Whoever sent it, the next one comes when it comes."""

    def _look(self) -> None:
        following = self.next_s + self._between.draw(self._random)
        self.next_s = following if following <= self._traffic.duration_s else math.inf


class Replay:
    """Given requests at given times, from a log."""

    def __init__(self, sequences: Iterable[Sequence]) -> None:
        self._coming = sorted(sequences, key=lambda sequence: sequence.arrival_s, reverse=True)
        self._look()

    def take(self) -> Sequence:
        sequence = self._coming.pop()
        self._look()
        return sequence

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:
        """What was sent was sent."""

    def _look(self) -> None:
        self.next_s = self._coming[-1].arrival_s if self._coming else math.inf


def source_of(traffic: Traffic) -> Source:
    """The requests of a load."""
    return Independent(traffic) if traffic.arrivals == "poisson" else ClosedLoop(traffic)
