"""Distributions of token counts and times: all alike, exponential, or with the long tail that real conversations have."""

import math
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from planner.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Spread:
    """Positive values around `mean`. `variation` is the coefficient of variation of a log-normal: 0 all alike, 1 a long tail.

    "exponential" has no parameter beside its mean.
    """

    mean: float
    variation: float = 0.0
    shape: Literal["log-normal", "exponential"] = "log-normal"
    _mu: float = field(init=False, repr=False, compare=False)
    _sigma: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (0 <= self.mean < math.inf and 0 <= self.variation <= 10):
            raise InputError("A length needs a mean of at least 0 and a variation between 0 and 10.")
        # Mean m and variation v of a log-normal: sigma² = ln(1 + v²), mu = ln m − sigma² / 2.
        sigma = math.sqrt(math.log1p(self.variation**2))
        object.__setattr__(self, "_sigma", sigma)
        object.__setattr__(self, "_mu", math.log(self.mean) - sigma * sigma / 2 if self.mean else -math.inf)

    def draw(self, random: Random) -> float:
        """One value."""
        if self.shape == "exponential":
            return -self.mean * math.log(1.0 - random.random())
        if self._sigma == 0.0:
            return self.mean
        return math.exp(self._mu + self._sigma * random.gauss(0.0, 1.0))

    def tokens(self, random: Random) -> int:
        """One value as a number of tokens, at least one."""
        return max(1, round(self.draw(random)))
