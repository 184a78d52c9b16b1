"""What a server said of itself every few seconds, or of every step: how much ran, and when answers all but stopped."""

from dataclasses import dataclass, field
from typing import Final

from planner.core import units
from planner.core.diagnosing.gathering import Thinned, Worst
from planner.core.logs.record import Sample

_SHOWN: Final = 3
# A pass of this length is a pause for whoever reads along.
LONG_STEP_S: Final = 1.0


@dataclass(slots=True)
class Samples:
    """Periodic lines: what a server said of itself every few seconds."""

    count: int = 0
    first_s: float | None = None
    last_s: float | None = None
    running_max: int = 0
    waiting_max: int = 0
    waiting: int = 0
    busy: int = 0
    together: int = 0
    cache_max: float = 0.0
    full: int = 0
    hit_share: float | None = None
    preemptions: int | None = None
    rates: Thinned[tuple[float, int]] = field(default_factory=lambda: Thinned(2_000))
    slowest: list[Sample] = field(default_factory=list)
    prompt_rate_max: float = 0.0
    prompt_tokens_most: float = 0.0
    generation_rate_max: float = 0.0
    steps_s: float = 0.0
    long_steps: Worst = field(default_factory=Worst)

    def add(self, sample: Sample) -> None:
        if sample.step_s is not None:
            self._step(sample, sample.step_s)
            return
        self.count += 1
        before = self.last_s
        if sample.at_s is not None:
            self.first_s = sample.at_s if self.first_s is None else self.first_s
            self.last_s = sample.at_s
        running, waiting = sample.running or 0, sample.waiting or 0
        self.running_max, self.waiting_max = max(self.running_max, running), max(self.waiting_max, waiting)
        self.waiting += waiting > 0
        self.busy += running > 0
        self.together += running > 1
        if sample.cache_share is not None:
            self.cache_max = max(self.cache_max, sample.cache_share)
            self.full += sample.cache_share >= 0.9 and waiting > 0
        if sample.prefix_hit_share is not None:
            self.hit_share = sample.prefix_hit_share
        if sample.preemptions is not None:
            self.preemptions = (self.preemptions or 0) + sample.preemptions
        if sample.prompt_rate is not None:
            self.prompt_rate_max = max(self.prompt_rate_max, sample.prompt_rate)
            if before is not None and sample.at_s is not None:
                self.prompt_tokens_most = max(self.prompt_tokens_most, sample.prompt_rate * (sample.at_s - before))
        if sample.generation_rate is not None:
            self.generation_rate_max = max(self.generation_rate_max, sample.generation_rate)
            if running:
                self._stream(sample, sample.generation_rate / running)

    def _step(self, sample: Sample, seconds: float) -> None:
        """One pass, where the server prints each: everyone who generates waits for its end."""
        self.running_max = max(self.running_max, sample.running or 0)
        self.steps_s += seconds
        if sample.generation_rate and sample.prompt_rate:
            tokens = sample.prompt_rate * seconds
            self.prompt_tokens_most = max(self.prompt_tokens_most, tokens)
            if seconds >= LONG_STEP_S:
                self.long_steps.add(
                    at_s=sample.at_s,
                    task=None,
                    seconds=seconds,
                    text=lambda: f"A step of {units.seconds(seconds)} read {tokens:,.0f} prompt tokens while others generated.",
                )

    def _stream(self, sample: Sample, rate: float) -> None:
        self.rates.offer(lambda: (rate * (sample.running or 1), sample.running or 1))
        self.slowest.append(sample)
        self.slowest.sort(key=lambda each: (each.generation_rate or 0.0) / (each.running or 1))
        del self.slowest[_SHOWN:]

    @property
    def usual_rate(self) -> float:
        """Tokens per second of one stream at good times."""
        rates = sorted(total / running for total, running in self.rates.items)
        return rates[-1 - (len(rates) - 1) // 10] if rates else 0.0

    def stalled(self) -> int:
        """Samples in which all together, and each of several, got less than a fifth of what they get at good times."""
        totals = sorted(total for total, _ in self.rates.items)
        if len(totals) < 2:
            return 0
        usual, together = self.usual_rate, totals[-1 - (len(totals) - 1) // 10]
        seen = sum(running > 1 and total < together / 5 and total / running < usual / 5 for total, running in self.rates.items)
        return round(seen * self.rates.every)
