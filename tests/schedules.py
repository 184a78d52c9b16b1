"""Simulated schedules whose every second is accounted for: what a diagnosis of their logs must find out again."""

import math
from dataclasses import dataclass, field
from random import Random

from planner.core.simulation import PassCost, Scheduler, Source, Traffic, source_of
from planner.core.simulation.cost import attended_pairs
from planner.core.simulation.lengths import Spread
from planner.core.simulation.loop import LONG_PREFILL
from planner.core.simulation.sequence import Sequence
from planner.core.simulation.traffic import Replay, TurnKind
from tests.core.simulation_reference import Job

DAY_S = 86_400.0
# A server is up this long before the first request can come.
START_S = 1.5


@dataclass(frozen=True)
class Uneven(PassCost):
    """A machine on which no two passes take the same time."""

    noise: float = 0.0
    random: Random = field(default_factory=lambda: Random("uneven"))  # noqa: S311 - a test's, not a secret

    def pass_seconds(
        self, *, sequences: int, cached_tokens: int, prompt_tokens: int, attended: float, micro_batch_tokens: int | None = None
    ) -> float:
        seconds = PassCost.pass_seconds(
            self,
            sequences=sequences,
            cached_tokens=cached_tokens,
            prompt_tokens=prompt_tokens,
            attended=attended,
            micro_batch_tokens=micro_batch_tokens,
        )
        return seconds * max(0.2, self.random.gauss(1.0, self.noise))


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A server, a machine and what is sent to it: random `traffic`, or the `requests` of a recorded day.

    With `noise` each pass takes that share more or less than its cost says (a standard deviation), as other programs on a machine
    make it: what a task would have taken alone is still what the cost says.
    """

    scheduler: Scheduler
    cost: PassCost
    noise: float = 0.0
    traffic: Traffic | None = None
    requests: tuple[Sequence, ...] = ()

    @property
    def shared_tokens(self) -> int:
        return self.traffic.shared_tokens if self.traffic else 0

    def source(self) -> Source:
        return source_of(self.traffic) if self.traffic else Replay(self.requests)

    @property
    def machine(self) -> PassCost:
        """What passes really take."""
        cost = self.cost
        return Uneven(cost.step_s, cost.token_s, cost.sequence_s, cost.cached_token_s, cost.attention_s, self.noise) if self.noise else cost

    def solo_prefill_s(self, *, cached: int, prompt: int) -> float:
        """Seconds that the prompt takes with the server to itself."""
        seconds, batch = 0.0, self.scheduler.batch_tokens
        for before in range(cached, prompt, batch):
            tokens = min(batch, prompt - before)
            seconds += self._pass_s(prompt_tokens=tokens, attended=attended_pairs(before, tokens))
        return seconds

    def solo_generation_s(self, *, prompt: int, output: int) -> float:
        """Seconds that the answer takes after its first token, which the prompt's last pass gives, with the server to itself."""
        return sum(self._pass_s(cached_tokens=prompt + done) for done in range(output - 1))

    def _pass_s(self, *, cached_tokens: int = 0, prompt_tokens: int = 0, attended: float = 0.0) -> float:
        return self.cost.pass_seconds(
            sequences=0 if prompt_tokens else 1,
            cached_tokens=cached_tokens,
            prompt_tokens=prompt_tokens,
            attended=attended,
            micro_batch_tokens=self.scheduler.micro_batch_tokens,
        )


@dataclass(slots=True)
class Overlap:
    """One stream beside one long prefill (task `long`): what it generated in how many seconds."""

    long: int
    tokens: int = 0
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class Truth:
    """One task. Times are on the log's clock, which starts with its first line.

    After the launch a task may wait for its first pass: `other_adapter_s` while other adapters' slots are served,
    `same_adapter_s` while prompts before it fill the batch. From the first pass to the last token, the seconds are what it would
    have taken alone (`own_prefill_s`, `own_generation_s`) and contention.
    """

    number: int
    slot: int
    adapter: int
    kind: int
    arrival_s: float
    launched_s: float
    prompt_tokens: int
    computed_tokens: int
    output_tokens: int
    started_s: float = math.nan
    first_token_s: float = math.nan
    ended_s: float = math.nan
    other_adapter_s: float = 0.0
    same_adapter_s: float = 0.0
    own_prefill_s: float = 0.0
    own_generation_s: float = 0.0
    overlaps: dict[int, Overlap] = field(default_factory=dict)

    @property
    def queue_s(self) -> float:
        """From sending to the slot: no log shows it."""
        return self.launched_s - self.arrival_s

    @property
    def waiting_s(self) -> float:
        return self.started_s - self.launched_s

    @property
    def contention_s(self) -> float:
        return self.ended_s - self.started_s - self.own_prefill_s - self.own_generation_s


@dataclass(slots=True)
class Account:
    """The books of one run, kept pass by pass (a `Watch` of the plain simulator)."""

    schedule: Schedule
    long_prefill: int = LONG_PREFILL
    tasks: dict[int, Truth] = field(default_factory=dict)
    passes: int = 0
    busy_s: float = 0.0
    together_s: float = 0.0
    end_s: float = 0.0
    _waiting: list[Job] = field(default_factory=list)
    _running: int = 0

    def truths(self) -> list[Truth]:
        """In the order of launch."""
        return list(self.tasks.values())

    def of(self, job: Job) -> Truth:
        return self.tasks[id(job)]

    def planned(self, now_s: float, jobs: list[Job], _decoders: list[Job], chunks: list[tuple[Job, int]]) -> None:
        for job in jobs:
            if id(job) not in self.tasks:
                self.tasks[id(job)] = self._launched(job, now_s)
        for job, _ in chunks:
            truth = self.of(job)
            if math.isnan(truth.started_s):
                truth.started_s = now_s + START_S
        self._waiting = [job for job in jobs if math.isnan(self.of(job).started_s)]
        self._running = len(jobs)

    def _launched(self, job: Job, now_s: float) -> Truth:
        asked = job.asked
        return Truth(
            number=self.passes + len(self.tasks),
            slot=job.slot,
            adapter=asked.adapter,
            kind=asked.kind,
            arrival_s=asked.arrival_s + START_S,
            launched_s=now_s + START_S,
            prompt_tokens=asked.prompt,
            computed_tokens=asked.prompt - job.cached,
            output_tokens=asked.output,
            own_prefill_s=self.schedule.solo_prefill_s(cached=job.cached, prompt=asked.prompt),
            own_generation_s=self.schedule.solo_generation_s(prompt=asked.prompt, output=asked.output),
        )

    def passed(self, start_s: float, end_s: float, decoders: list[Job], chunks: list[tuple[Job, int]]) -> None:
        seconds = end_s - start_s
        self.passes += 1
        self.busy_s += seconds
        self.end_s = end_s + START_S
        if self._running > 1:
            self.together_s += seconds
        served = (decoders[0] if decoders else chunks[0][0]).asked.adapter
        for job in self._waiting:
            if job.asked.adapter == served:
                self.of(job).same_adapter_s += seconds
            else:
                self.of(job).other_adapter_s += seconds
        for job, _ in chunks:
            if len(job.times) == 1:
                self.of(job).first_token_s = end_s + START_S
            if job.goal - job.cached >= self.long_prefill:
                self._overlapped(self.of(job).number, decoders, seconds)
        for job in (*decoders, *(job for job, _ in chunks)):
            if job.done:
                self.of(job).ended_s = end_s + START_S

    def _overlapped(self, long: int, decoders: list[Job], seconds: float) -> None:
        for job in decoders:
            overlap = self.of(job).overlaps.setdefault(long, Overlap(long))
            overlap.tokens += 1
            overlap.seconds += seconds

    def shares(self) -> dict[str, float]:
        """The seconds of all tasks from launch to last token, by where they went. They sum up to 1."""
        seconds = {
            "own_generation": math.fsum(task.own_generation_s for task in self.truths()),
            "own_prefill": math.fsum(task.own_prefill_s for task in self.truths()),
            "contention": math.fsum(task.contention_s for task in self.truths()),
            "waiting": math.fsum(task.waiting_s for task in self.truths()),
        }
        return {name: value / sum(seconds.values()) for name, value in seconds.items()}

    def generation_rates(self) -> tuple[float, float]:
        """Tokens per second of a stream beside long prefills, and otherwise (0 where there were none)."""
        overlaps = [overlap for task in self.truths() for overlap in task.overlaps.values()]
        beside_tokens, beside_s = sum(overlap.tokens for overlap in overlaps), math.fsum(overlap.seconds for overlap in overlaps)
        tokens = sum(task.output_tokens - 1 for task in self.truths()) - beside_tokens
        seconds = math.fsum(task.ended_s - task.first_token_s for task in self.truths()) - beside_s
        return (beside_tokens / beside_s if beside_s else 0.0), (tokens / seconds if seconds else 0.0)


def random_schedule(seed: int, *, noise: float = 0.0) -> Schedule:
    """A small server and some dozens of turns: chats with histories, long prompts among them, up to three adapters."""
    random = Random(f"schedule {seed}")  # noqa: S311 - a test's, not a secret
    decode, prefill = random.uniform(15, 90), random.uniform(400, 4_000)
    step_s, token_s = 1 / decode, 1 / prefill
    people, think_s = random.randint(1, 8), random.uniform(5, 60)
    long_share = random.choice([0.0, 0.03, 0.1, 0.2])
    kinds = [
        TurnKind(
            name="turn", prompt=Spread(random.uniform(40, 600), 1.0), output=Spread(random.uniform(30, 300), 0.8), share=1 - long_share
        )
    ]
    if long_share:
        kinds.append(TurnKind(name="long", prompt=Spread(random.uniform(5_500, 15_000), 0.2), output=Spread(120, 0.5), share=long_share))
    return Schedule(
        scheduler=Scheduler(
            policy="llama-server",
            slots=random.randint(1, 8),
            batch_tokens=random.choice([256, 512, 1_024, 2_048]),
            micro_batch_tokens=512,
            context_tokens=32_768,
            host_cache_tokens=random.choice([0, 65_536]),
        ),
        cost=PassCost(
            step_s=step_s,
            token_s=token_s,
            sequence_s=step_s * random.uniform(0, 0.1),
            cached_token_s=step_s * random.uniform(0, 0.2) / 16_384,
            attention_s=token_s * random.uniform(0, 0.3) / 16_384,
        ),
        noise=noise,
        traffic=Traffic(
            people=people,
            kinds=tuple(kinds),
            duration_s=random.uniform(30, 70) * (think_s + 10) / people,
            think_s=think_s,
            context_tokens=32_768,
            turns=random.choice([1.0, 4.0, 8.0]),
            shared_tokens=random.choice([0, 0, 150]),
            adapters=random.choice([1, 1, 1, 2, 3]),
            seed=seed,
        ),
    )


def the_case() -> Schedule:
    """The shape of the day that this began with: four slots that felt slow at five users while the server was idle 92 % of it.

    854 turns, most of them alone with their conversation in the cache. What was slow: prompts of 15,000 tokens and more that
    were read while two or three others generated, and 40 turns that waited for another adapter's answer to end.
    """
    random = Random("the case")  # noqa: S311 - a test's, not a secret
    requests: list[Sequence] = []
    history = [0] * 5

    def send(at_s: float, prompt: int, output: int, *, adapter: int = 0, kind: int = 0) -> None:
        requests.append(Sequence(arrival_s=at_s, prompt=prompt, output=output, conversation=len(requests) + 5, adapter=adapter, kind=kind))

    def talk(at_s: float, person: int, prompt: int, output: int) -> None:
        before = history[person] if history[person] < 12_000 else 0
        requests.append(Sequence(arrival_s=at_s, prompt=before + prompt, output=output, conversation=person, history=before))
        history[person] = before + prompt + output

    scenes = ["three streams"] * 8 + ["two streams"] * 56 + ["adapter"] * 40 + ["alone"] * 574
    random.shuffle(scenes)
    for index, scene in enumerate(scenes):
        at_s = (index + random.uniform(0.1, 0.3)) * DAY_S / len(scenes)
        if scene == "alone":
            talk(at_s, random.randrange(5), random.randint(80, 320), random.randint(220, 440))
        elif scene == "adapter":
            send(at_s, random.randint(100, 300), random.randint(645, 830))
            send(at_s + random.uniform(0.6, 1.0), random.randint(100, 300), random.randint(150, 300), adapter=1)
        else:
            for stream in range(3 if scene == "three streams" else 2):
                send(at_s + 0.4 * stream, random.randint(150, 350), random.randint(300, 420))
            send(at_s + random.uniform(2.0, 5.0), random.randint(15_000, 17_500), random.randint(60, 160), kind=1)
    return Schedule(
        scheduler=Scheduler(
            policy="llama-server", slots=4, batch_tokens=2_048, micro_batch_tokens=512, context_tokens=32_768, host_cache_tokens=262_144
        ),
        cost=PassCost(step_s=1 / 53, token_s=1 / 800, sequence_s=0.007, cached_token_s=1.2e-7, attention_s=3.4e-8),
        requests=tuple(requests),
    )
