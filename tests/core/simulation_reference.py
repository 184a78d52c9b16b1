"""The plain simulator: one turn of a loop per pass, one list entry per sequence, no closed form. The fast one must equal it."""

import math
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Protocol

from planner.core.simulation import PassCost, Scheduler
from planner.core.simulation.histogram import Histogram
from planner.core.simulation.loop import LONG_PREFILL, SAME_MOMENT_S, SHORT_TURN
from planner.core.simulation.results import Quantiles, histogram_quantiles, quantiles
from planner.core.simulation.sequence import Sequence
from planner.core.simulation.traffic import Source


@dataclass(eq=False)
class Job:
    """A request in the plain simulator: `tokens` of it are in the cache, its answer came at `times`.

    `similarity` is the share of its prompt that decided for its slot, `kept` the share of the slot's content that it uses.
    """

    asked: Sequence
    tokens: int = 0
    goal: int = 0
    cached: int = 0
    slot: int = -1
    dropped: int = 0
    preempted: bool = False
    reading: bool = True
    done: bool = False
    started_s: float | None = None
    joined: int = 0
    similarity: float | None = None
    kept: float = 0.0
    times: list[float] = field(default_factory=list)


class Server:
    """First come, first served into slots."""

    def __init__(self, scheduler: Scheduler, shared: int) -> None:
        self.s = scheduler
        self.shared = shared
        self.slots = 1 if scheduler.policy == "serial" else scheduler.slots
        self.jobs: list[Job] = []  # in the order of admission
        self.preemptions = self.recomputed = 0
        self.lost: list[Job] = []
        self.switch_s = 0.0

    def free(self) -> int:
        return self.slots - len(self.jobs)

    def given(self, job: Job, found: int) -> int:
        asked = job.asked
        if asked.cached_share is not None and not job.preempted:
            found = int(asked.cached_share * asked.prompt)
        return min(found, job.goal - 1)

    def start(self, job: Job) -> None:
        job.tokens = job.cached = self.given(job, 0)
        self.jobs.append(job)

    def plan(self, queue: deque[Job]) -> tuple[list[Job], list[tuple[Job, int]]]:
        while queue and self.free():
            self.start(queue.popleft())
        decoders = [job for job in self.jobs if not job.reading]
        return decoders, self.fill(decoders, [job for job in self.jobs if job.reading])

    def fill(self, decoders: list[Job], readers: list[Job]) -> list[tuple[Job, int]]:
        room, chunks = self.s.batch_tokens - len(decoders), []
        for job in readers:
            count = min(job.goal - job.tokens, room)
            if count > 0:
                chunks.append((job, count))
                room -= count
        return chunks

    def seconds(self, cost: PassCost, decoders: list[Job], chunks: list[tuple[Job, int]]) -> float:
        return self.switch_s + cost.pass_seconds(
            sequences=len(decoders),
            cached_tokens=sum(job.tokens for job in decoders),
            prompt_tokens=sum(count for _, count in chunks),
            attended=math.fsum(count * (job.tokens + count / 2) for job, count in chunks),
            micro_batch_tokens=self.s.micro_batch_tokens,
        )

    def carried(self, _decoders: list[Job], _chunks: list[tuple[Job, int]]) -> list[Job]:
        """Finished ones that are computed all the same."""
        return []

    def complete(self, job: Job) -> None:
        self.jobs.remove(job)


class Static(Server):
    """A batch at a time."""

    def __init__(self, scheduler: Scheduler, shared: int) -> None:
        super().__init__(scheduler, shared)
        self.batch: list[Job] = []

    def carried(self, decoders: list[Job], chunks: list[tuple[Job, int]]) -> list[Job]:
        return [] if chunks else [job for job in self.batch if job.asked.output > 1 and job not in decoders]

    def free(self) -> int:
        return self.slots - len(self.batch)

    def plan(self, queue: deque[Job]) -> tuple[list[Job], list[tuple[Job, int]]]:
        if not self.jobs:
            self.batch = []
            while queue and len(self.batch) < self.slots:
                self.batch.append(queue[0])
                self.start(queue.popleft())
        readers = [job for job in self.jobs if job.reading]
        if readers:
            return [], [(job, job.goal - job.tokens) for job in readers]
        return list(self.jobs), []

    def seconds(self, cost: PassCost, decoders: list[Job], chunks: list[tuple[Job, int]]) -> float:
        computed = [*decoders, *self.carried(decoders, chunks)]
        longest = max((count for _, count in chunks), default=0)
        before = max((job.tokens for job, _ in chunks), default=0)
        return cost.pass_seconds(
            sequences=len(computed),
            cached_tokens=sum(job.tokens for job in computed),
            prompt_tokens=longest * len(chunks),
            attended=len(chunks) * longest * (before + longest / 2),
            micro_batch_tokens=self.s.micro_batch_tokens,
        )

    def complete(self, job: Job) -> None:
        self.jobs.remove(job)
        if not self.jobs:
            self.batch = []


class Llama(Server):
    """Slots with contents."""

    def __init__(self, scheduler: Scheduler, shared: int) -> None:
        super().__init__(scheduler, shared)
        self.contents: list[tuple[int, int, int] | None] = [None] * self.slots
        self.idle_since = list(range(0, -self.slots, -1))  # the highest number first
        self.clock = 0
        self.saved: OrderedDict[tuple[int, int], int] = OrderedDict()
        self.adapter = 0
        self.loaded: int | None = None

    def common(self, slot: int, asked: Sequence) -> int:
        content = self.contents[slot]
        if content is None or content[1] != asked.adapter:
            return 0
        return min(content[2], max(self.shared, asked.history if content[0] == asked.conversation else 0), asked.prompt)

    def start(self, job: Job) -> None:
        asked = job.asked
        idle = [slot for slot in range(self.slots) if slot not in {other.slot for other in self.jobs}]
        best = max(idle, key=lambda slot: (self.common(slot, asked), -slot))
        if self.common(best, asked) <= 0.1 * asked.prompt:
            best = min(idle, key=lambda slot: self.idle_since[slot])
        else:
            job.similarity = self.common(best, asked) / asked.prompt
        found = self.common(best, asked)
        content = self.contents[best]
        job.kept = found / content[2] if content else 0.0
        limit = self.s.host_cache_tokens
        if limit and (content is None or found < 0.5 * content[2]):
            if content and content[2] <= limit:
                self.saved.pop(content[:2], None)
                self.saved[content[:2]] = content[2]
                while sum(self.saved.values()) > limit:
                    self.saved.popitem(last=False)
            found = max(found, min(self.saved.pop((asked.conversation, asked.adapter), 0), asked.history))
        self.contents[best] = None
        job.slot = best
        job.tokens = job.cached = self.given(job, found)
        self.jobs.append(job)

    def plan(self, queue: deque[Job]) -> tuple[list[Job], list[tuple[Job, int]]]:
        while queue and self.free():
            self.start(queue.popleft())
        generating = [job for job in self.jobs if not job.reading]
        readers = sorted((job for job in self.jobs if job.reading), key=lambda job: job.slot)
        if self.s.adapters_take_turns:
            ready = sorted({job.asked.adapter for job in self.jobs})
            if ready:
                self.adapter = min((a for a in ready if a > self.adapter), default=ready[0])
        elif generating:
            self.adapter = min(generating, key=lambda job: job.slot).asked.adapter
        elif readers:
            self.adapter = readers[0].asked.adapter
        decoders = [job for job in generating if job.asked.adapter == self.adapter]
        chunks = self.fill(decoders, [job for job in readers if job.asked.adapter == self.adapter])
        if self.s.unified:
            self.make_room(len(decoders) + sum(count for _, count in chunks))
        if (decoders or chunks) and not self.lost:
            self.switch_s = self.s.switch_s if self.loaded not in (None, self.adapter) else 0.0
            self.loaded = self.adapter
        return decoders, chunks

    def make_room(self, more: int) -> None:
        def held() -> int:
            return sum(content[2] for content in self.contents if content)

        pool = self.s.cache_tokens
        assert pool is not None
        busy = sum(job.tokens for job in self.jobs) + more
        for slot in range(self.slots):
            if busy + held() > pool:
                self.contents[slot] = None
        if busy > pool:
            self.lost = sorted(self.jobs, key=lambda job: job.slot)
            self.jobs = []
            for job in self.lost:
                self.idle(job.slot)

    def fill(self, decoders: list[Job], readers: list[Job]) -> list[tuple[Job, int]]:
        room, chunks = self.s.batch_tokens - len(decoders), []
        for job in readers:
            count = min(job.goal - job.tokens, room)
            if self.s.checkpoints:
                micro = self.s.micro_batch_tokens or self.s.batch_tokens
                stops = [job.goal - min(self.s.batch_tokens, 4 + more) - job.tokens for more in (micro, 0)]
                count = min([count, *(stop for stop in stops if stop > 0)])
            if count > 0:
                chunks.append((job, count))
                room -= count
        return chunks

    def idle(self, slot: int) -> None:
        self.clock += 1
        self.idle_since[slot] = self.clock

    def complete(self, job: Job) -> None:
        self.jobs.remove(job)
        self.contents[job.slot] = (job.asked.conversation, job.asked.adapter, job.tokens)
        self.idle(job.slot)


class Vllm(Server):
    """Blocks, each counted at every step."""

    def __init__(self, scheduler: Scheduler, shared: int) -> None:
        super().__init__(scheduler, shared)
        self.block = scheduler.block_tokens
        self.pool = 10**15 if scheduler.cache_tokens is None else scheduler.cache_tokens // self.block
        self.common = shared // self.block if scheduler.prefix_cache else 0
        self.common_known = False
        self.kept: OrderedDict[tuple[int, int], int] = OrderedDict()

    def blocks(self, tokens: int) -> int:
        return max(0, math.ceil(tokens / self.block) - self.common)

    def used(self) -> int:
        return self.common + sum(self.blocks(job.tokens) for job in self.jobs)

    def evict(self, taken: int) -> None:
        while taken + sum(self.kept.values()) > self.pool:
            key, count = next(iter(self.kept.items()))
            if count == 1:
                del self.kept[key]
            else:
                self.kept[key] = count - 1

    def give_back(self, job: Job) -> None:
        self.jobs.remove(job)
        whole = job.tokens // self.block - self.common
        if self.s.prefix_cache and whole > 0:
            self.kept.pop((job.asked.conversation, job.asked.adapter), None)
            self.kept[job.asked.conversation, job.asked.adapter] = whole

    def find(self, job: Job) -> int:
        if not self.s.prefix_cache:
            return 0
        own = self.kept.pop((job.asked.conversation, job.asked.adapter), 0)
        if job.asked.cached_share is not None and not job.preempted:
            return self.given(job, 0)
        known = job.goal if job.preempted else job.asked.history
        found = min(own + self.common, known // self.block) if own else 0
        if self.common_known:
            found = max(found, self.common)
        return min(found, (job.goal - 1) // self.block) * self.block

    def plan(self, queue: deque[Job]) -> tuple[list[Job], list[tuple[Job, int]]]:
        preempted = False
        while True:
            decoders = [job for job in self.jobs if not job.reading]
            chunks = self.fill(decoders, [job for job in self.jobs if job.reading])
            after = {id(job): job.tokens for job in self.jobs}
            after |= {id(job): job.tokens + 1 for job in decoders}
            after |= {id(job): job.tokens + count for job, count in chunks}
            taken = self.common + sum(self.blocks(tokens) for tokens in after.values())
            if taken <= self.pool:
                break
            preempted = True
            last = self.jobs[-1]
            self.give_back(last)
            self.preemptions += 1
            last.goal = last.asked.prompt + len(last.times)
            last.dropped = max(last.dropped, last.tokens)
            last.tokens, last.reading, last.preempted = 0, True, True
            queue.appendleft(last)
        self.evict(taken)
        room = self.s.batch_tokens - len(decoders) - sum(count for _, count in chunks)
        while queue and not preempted and room > 0 and self.free():
            job = queue[0]
            if self.jobs and self.blocks(job.goal) + taken + int(self.s.watermark * self.pool) > self.pool:
                break
            queue.popleft()
            job.tokens = self.find(job)
            if not job.preempted:
                job.cached = job.tokens
            self.recomputed += max(0, job.dropped - job.tokens)
            count = min(job.goal - job.tokens, room)
            self.jobs.append(job)
            chunks.append((job, count))
            room -= count
            taken += self.blocks(job.tokens + count)
            self.evict(taken)
            self.common_known = self.common_known or job.tokens + count >= self.shared
        return decoders, chunks

    def complete(self, job: Job) -> None:
        self.give_back(job)


SERVERS = {"serial": Server, "static": Static, "llama-server": Llama, "ollama": Llama, "vllm": Vllm}


@dataclass
class Outcome:
    """What the plain simulator saw, in the terms of `Run`."""

    jobs: list[Job] = field(default_factory=list)
    rejected: int = 0
    failed: int = 0
    steps: int = 0
    computed: int = 0
    busy_s: float = 0.0
    end_s: float = 0.0
    preempted: int = 0
    recomputed: int = 0
    served_s: float = 0.0
    beside: list[Job] = field(default_factory=list)

    def ttft(self) -> Quantiles | None:
        return quantiles([job.times[0] - job.asked.arrival_s for job in self.jobs if job.times])

    def wait(self) -> Quantiles | None:
        return quantiles([job.started_s - job.asked.arrival_s for job in self.jobs if job.times and job.started_s is not None])

    def pause(self) -> Quantiles | None:
        return quantiles(
            [max(b - a for a, b in zip(job.times, job.times[1:], strict=False)) for job in self.jobs if job.done and len(job.times) > 1]
        )

    def itl(self, kind: int) -> Quantiles | None:
        histogram = Histogram()
        for job in self.jobs:
            if job.asked.kind == kind:
                for a, b in zip(job.times, job.times[1:], strict=False):
                    histogram.add(b - a, 1)
        return histogram_quantiles(histogram)


class Watch(Protocol):
    """Whoever wants to see every pass: who has a slot before it and what is in it, then when it was done."""

    def planned(self, now_s: float, jobs: list[Job], decoders: list[Job], chunks: list[tuple[Job, int]]) -> None: ...
    def passed(self, start_s: float, end_s: float, decoders: list[Job], chunks: list[tuple[Job, int]]) -> None: ...


def step_by_step(scheduler: Scheduler, cost: PassCost, source: Source, *, shared: int = 0, watch: Watch | None = None) -> Outcome:
    """The whole run, a pass at a time."""
    return _Loop(scheduler, cost, source, shared, watch).run()


class _Loop:
    def __init__(self, scheduler: Scheduler, cost: PassCost, source: Source, shared: int, watch: Watch | None) -> None:
        self.watch = watch
        self.scheduler, self.cost, self.source = scheduler, cost, source
        self.server = SERVERS[scheduler.policy](scheduler, shared)
        self.queue: deque[Job] = deque()
        self.out = Outcome()
        self.now, self.long_until, self.joined = 0.0, -1.0, 0

    def run(self) -> Outcome:
        server, source, out = self.server, self.source, self.out
        while True:
            self.take_arrivals()
            decoders, chunks = server.plan(self.queue)
            if server.lost:
                self.give_up()
            elif decoders or chunks:
                start = self.now
                if self.watch:
                    self.watch.planned(start, server.jobs, decoders, chunks)
                self.one_pass(decoders, chunks)
                if self.watch:
                    self.watch.passed(start, self.now, decoders, chunks)
            elif source.next_s < math.inf:
                self.now = source.next_s
            else:
                out.end_s, out.preempted, out.recomputed = self.now, server.preemptions, server.recomputed
                return out

    def take_arrivals(self) -> None:
        s, source = self.scheduler, self.source
        while source.next_s <= self.now + SAME_MOMENT_S:
            asked = source.take()
            full = s.max_queue is not None and len(self.queue) - self.server.free() >= s.max_queue
            if full or asked.prompt + asked.output > s.context_tokens:
                self.out.rejected += 1
                source.done(asked, asked.arrival_s, refused=True)
            else:
                self.queue.append(Job(asked, goal=asked.prompt))
                self.out.jobs.append(self.queue[-1])

    def give_up(self) -> None:
        for job in self.server.lost:
            self.out.failed += 1
            self.source.done(job.asked, self.now, refused=True)
        self.server.lost = []

    def one_pass(self, decoders: list[Job], chunks: list[tuple[Job, int]]) -> None:
        seconds = self.server.seconds(self.cost, decoders, chunks)
        start, self.now = self.now, self.now + seconds
        self.out.steps += 1
        self.out.busy_s += seconds
        for job, count in chunks:
            job.started_s = start if job.started_s is None else job.started_s
            job.tokens += count
            self.out.computed += count
            if job.goal - job.cached >= LONG_PREFILL:
                self.long_until = self.now
        self.take_arrivals()
        for job in (*decoders, *self.server.carried(decoders, chunks)):
            job.tokens += 1
        for job in decoders:
            job.times.append(self.now)
        for job in sorted((job for job in decoders if len(job.times) == job.asked.output), key=lambda job: job.joined):
            self.complete(job)
        for job, _ in chunks:
            if job.tokens == job.goal:
                self.begin(job)

    def begin(self, job: Job) -> None:
        asked = job.asked
        if not job.times and asked.prompt - job.cached < SHORT_TURN and self.long_until > asked.arrival_s:
            self.out.beside.append(job)
        job.times.append(self.now)
        job.reading = False
        self.joined += 1
        job.joined = self.joined
        if len(job.times) == asked.output:
            self.complete(job)

    def complete(self, job: Job) -> None:
        job.done = True
        self.out.served_s += self.now - (job.started_s or 0.0)
        self.server.complete(job)
        self.source.done(job.asked, self.now, refused=False)
