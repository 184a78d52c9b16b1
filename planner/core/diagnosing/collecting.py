"""One pass over a reading: tasks go through the sweep, samples and notices are added up, and nothing else is kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from planner.core import units
from planner.core.diagnosing.calls import Calls, Joined
from planner.core.diagnosing.gathering import Thinned, Values, Worst
from planner.core.diagnosing.observed import Observed
from planner.core.diagnosing.sweep import Sweep
from planner.core.logs.record import Counts, Facts, Notice, Sample, Task

_SHOWN: Final = 3
# Cancelled requests whose slot is not free yet.
_LEAVING: Final = 256
# A pass of this length is a pause for whoever reads along.
LONG_STEP_S: Final = 1.0


class Log(Protocol):
    """What a diagnosis reads: a `logs.reading.Reading`, or anything like it."""

    @property
    def facts(self) -> Facts: ...
    @property
    def counts(self) -> Counts: ...
    def __iter__(self) -> Iterator[Task | Sample | Notice]: ...


@dataclass(slots=True)
class Noticed:
    """All notices of one code: how many, the first few, and the largest value."""

    count: int = 0
    first: list[Notice] = field(default_factory=list)
    largest: float | None = None

    def add(self, notice: Notice) -> None:
        self.count += 1
        if len(self.first) < _SHOWN:
            self.first.append(notice)
        if notice.value is not None:
            self.largest = notice.value if self.largest is None else max(self.largest, notice.value)


@dataclass(slots=True)
class Totals:
    """Counts of tasks and tokens, whether or not the log has times. `prompts` and `outputs` are how many have a count of either."""

    tasks: int = 0
    finished: int = 0
    cancelled: int = 0
    refused: int = 0
    failed: int = 0
    cut: int = 0
    truncated: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    output_tokens: int = 0
    prompt_max: int = 0
    untimed: int = 0
    prompts: int = 0
    outputs: int = 0
    read_rates: Values = field(default_factory=Values)
    decode_rates: Values = field(default_factory=Values)
    held: list[tuple[float, Task]] = field(default_factory=list)
    held_s: float = 0.0
    held_count: int = 0

    def add(self, task: Task) -> None:
        self.tasks += 1
        if task.prefill_s is not None or task.generate_s is not None:
            self.finished += 1
        elif task.ending == "cancelled":
            self.cancelled += 1
        self.refused += task.ending == "refused"
        self.failed += task.ending == "failed"
        self.cut += task.ending == "cut"
        self.truncated += task.truncated
        self.prompt_max = max(self.prompt_max, task.prompt_tokens or 0, task.asked_tokens or 0)
        self.computed_tokens += task.computed_tokens or 0
        self.output_tokens += task.output_tokens or 0
        if task.prompt_tokens is not None and task.computed_tokens is not None:
            self.prompt_tokens += task.prompt_tokens
            self.cached_tokens += task.prompt_tokens - task.computed_tokens
            self.prompts += 1
        self.outputs += task.output_tokens is not None
        if task.launched_s is None:
            self._untimed(task)

    def _untimed(self, task: Task) -> None:
        """All that a task without times says of speeds: what its summary has, whatever ran beside."""
        self.untimed += 1
        if task.computed_tokens and task.prefill_s:
            self.read_rates.add(task.computed_tokens / task.prefill_s)
        if task.output_tokens is not None and task.output_tokens > 1 and task.generate_s:
            self.decode_rates.add((task.output_tokens - 1) / task.generate_s)


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
                text = f"A step of {units.seconds(seconds)} read {tokens:,.0f} prompt tokens while others generated."
                self.long_steps.add(at_s=sample.at_s, task=None, seconds=seconds, text=text)

    def _stream(self, sample: Sample, rate: float) -> None:
        self.rates.offer((rate * (sample.running or 1), sample.running or 1))
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


@dataclass(slots=True)
class Collected:
    observed: Observed
    sweep: Sweep
    totals: Totals
    samples: Samples
    notices: dict[str, Noticed]
    joined: Joined | None
    first_s: float | None
    last_s: float | None


def collect(log: Log, *, long_prefill: int, calls: Calls | None) -> Collected:
    """Reads the log to its end. Raises InputError as its reader does."""
    joined = Joined(calls) if calls else None
    step: list[Sweep] = []
    observed = Observed(step=lambda: step[0].batch, sent_s=joined.sent_s if joined else lambda _: None)
    sweep = Sweep(observed, long_prefill=long_prefill, slots=lambda: _slots(log))
    step.append(sweep)
    found = Collected(observed, sweep, Totals(), Samples(), {}, joined, None, None)
    leaving: dict[int, float] = {}
    for item in _matched(log, joined):
        if isinstance(item, Task):
            _task(item, found, leaving)
        elif isinstance(item, Sample):
            found.samples.add(item)
            _seen(found, item.at_s)
        else:
            found.notices.setdefault(item.code, Noticed()).add(item)
            _seen(found, item.at_s)
            if item.code == "cancelled" and item.task is not None and item.at_s is not None:
                leaving[item.task] = item.at_s
                if len(leaving) > _LEAVING:
                    del leaving[next(iter(leaving))]
    sweep.finish()
    observed.stretch.finish()
    return found


def _matched(log: Log, joined: Joined | None) -> Iterable[Task | Sample | Notice]:
    return joined.through(log) if joined else log


def _slots(log: Log) -> int | None:
    slots = log.facts.values.get("n_slots")
    return slots if isinstance(slots, int) and slots > 0 else None


def _task(task: Task, found: Collected, leaving: dict[int, float]) -> None:
    totals = found.totals
    totals.add(task)
    if task.launched_s is None:
        if task.generate_s and (task.output_tokens or 0) > 1:
            found.observed.itl.add(task.generate_s / ((task.output_tokens or 2) - 1), (task.output_tokens or 2) - 1)
        return
    _seen(found, task.launched_s)
    _seen(found, task.released_s)
    left = leaving.pop(task.number, None)
    if task.released_s is None and left is not None and left > task.launched_s:
        # The log ends before the slot was free: it was at work until then at least.
        task = replace(task, released_s=left)
    if left is not None and task.released_s is not None and task.ending == "cancelled":
        held = task.released_s - left
        if held > 1.0:
            totals.held_s += held
            totals.held_count += 1
            totals.held = sorted([*totals.held, (held, task)], key=lambda each: -each[0])[:_SHOWN]
    found.sweep.add(task)


def _seen(found: Collected, at_s: float | None) -> None:
    if at_s is not None:
        found.first_s = at_s if found.first_s is None else min(found.first_s, at_s)
        found.last_s = at_s if found.last_s is None else max(found.last_s, at_s)
