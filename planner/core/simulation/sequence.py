"""One request on its way through a server: what was asked, and what has become of it so far."""

from typing import Final

NEVER: Final = -1.0


class Sequence:
    """A turn: tokens asked for, then the marks that the simulated server leaves on it.

    `conversation` names whose cache it can use; with another adapter it is another one. `history` of the prompt's tokens
    are the conversation so far, `shared` its first tokens that everybody's prompt has. `cached_share` is the share of
    the prompt found in the cache where that is given and not simulated. `kind` indexes the kinds of turns.

    `goal` tokens must be in the cache before the next token comes out: the prompt, after a preemption also what was
    generated. `computed` of them are there, `produced` tokens have been delivered; while it generates, both stand still at what
    they were when it `joined`. `dropped` tokens had been computed when it lost its cache.
    Times are seconds, NEVER where it has not happened.
    """

    __slots__ = (
        "adapter", "arrival_s", "cached", "cached_share", "computed", "conversation", "dropped", "finish_step", "first_token_s", "goal", "history",
        "joined", "kind", "last_token_s", "output", "pause_s", "person", "preemptions", "produced", "prompt", "shared", "slot", "started_s",
    )  # fmt: skip

    def __init__(
        self,
        *,
        arrival_s: float,
        prompt: int,
        output: int,
        conversation: int = 0,
        history: int = 0,
        shared: int = 0,
        cached_share: float | None = None,
        adapter: int = 0,
        kind: int = 0,
        person: int = 0,
    ) -> None:
        self.arrival_s = arrival_s
        self.prompt = prompt
        self.output = output
        self.conversation = conversation
        self.history = history
        self.shared = shared
        self.cached_share = cached_share
        self.adapter = adapter
        self.kind = kind
        self.person = person
        self.goal = prompt
        self.cached = self.computed = self.produced = self.dropped = self.preemptions = 0
        self.joined = self.slot = 0
        self.finish_step = -1
        self.started_s = self.first_token_s = self.last_token_s = NEVER
        self.pause_s = 0.0

    @property
    def given_cached(self) -> int | None:
        """Prompt tokens that are in the cache because the share was given; at least one is always computed."""
        if self.cached_share is None:
            return None
        return min(self.prompt - 1, int(self.cached_share * self.prompt))
