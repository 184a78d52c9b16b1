"""n_batch from its effect: how many tokens answers got while prompts were read. Needed where no prompt took the three seconds
after which llama-server prints the progress of its passes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.core.diagnosing.speeds import StepFit

# What people set. The default is among them.
CANDIDATES: Final = (64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192)
# The best candidate must explain the counts so much better than the default …
_BETTER: Final = 0.5
# … leave no more than this of each, plus half a token …
_CLOSE: Final = 0.25
# … and differ from the default by so many times the noise of the answers' speeds.
_CLEAR: Final = 3.0


@dataclass(frozen=True, slots=True)
class Beside:
    """A stretch of an answer beside one prompt of which `tokens` were read meanwhile, with `streams` answers under way."""

    tokens: float
    seconds: float
    streams: int
    long: bool

    def passes(self, batch: int) -> int:
        """Each gave the answer one token."""
        return max(1, math.ceil(self.tokens / max(1, batch - self.streams) - 0.02))


@dataclass(frozen=True, slots=True)
class Mixed:
    """An answer of `steps` tokens after the first: `clean_s` seconds while nobody read, with `streams` and `context` on average; the
    rest beside prompts, of which `short` were too short to be told apart: each gave it a token."""

    steps: int
    clean_s: float
    streams: float
    context: float
    short: int
    beside: tuple[Beside, ...]

    def beside_tokens(self, fit: StepFit) -> float:
        """What it got beside prompts: all tokens less those of the clean seconds."""
        gap = fit.step_s + fit.sequence_s * max(0.0, self.streams - 1) + fit.cached_token_s * self.context
        return self.steps - self.clean_s / gap

    def passes(self, batch: int) -> int:
        return self.short + sum(each.passes(batch) for each in self.beside)


def batch_of(answers: Sequence[Mixed], fit: StepFit, default: int) -> int | None:
    """The candidate under which the answers' tokens add up; None where none does much better than the default, or nothing tells them apart."""
    told = [(answer, answer.beside_tokens(fit)) for answer in answers if answer.passes(CANDIDATES[0]) > answer.passes(CANDIDATES[-1])]
    if not told:
        return None

    def off(batch: int) -> float:
        return sum(abs(tokens - answer.passes(batch)) for answer, tokens in told)

    best = min(CANDIDATES, key=off)
    noise = fit.spread * sum(answer.steps for answer, _ in told)
    unclear = off(default) < max(1.0, _CLEAR * noise) or off(best) > _BETTER * off(default)
    if best == default or unclear or off(best) > sum(_CLOSE * abs(tokens) + 0.5 for _, tokens in told):
        return None
    return best
