"""Real servers that were watched, and the same load on the simulator: what was measured beside what is simulated.

The runs: llama-server b11434 on a CPU with a small model, vLLM 0.32 on a CPU with another, one thread each on a shared machine,
clients measuring every token. `Check.tolerance` is the largest error accepted, as a share. None: shown, not held, and the note says why.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from planner.core.simulation import PassCost, Run, Scheduler, Source, Traffic, replay, source_of
from planner.core.simulation.lengths import Spread
from planner.core.simulation.loop import LONG_PREFILL, SHORT_TURN
from planner.core.simulation.sequence import Sequence
from planner.core.simulation.traffic import Replay, TurnKind

MEDIAN: Final = 0.20
MAXIMUM: Final = 0.30
EXACT: Final = 0.0


@dataclass(frozen=True)
class Check:
    """One figure of one run."""

    run: str
    figure: str
    measured: float
    simulated: float
    tolerance: float | None
    note: str = ""

    @property
    def error(self) -> float:
        return self.simulated / self.measured - 1

    @property
    def holds(self) -> bool:
        return self.tolerance is None or abs(self.error) <= self.tolerance


class Clients:
    """`count` clients that send `each` equal requests one after another, the first of them a moment before the rest."""

    def __init__(self, count: int, each: int, *, prompt: int, output: int, shared: int = 0, start_s: float = 0.0) -> None:
        self._each, self._prompt, self._output, self._shared = each, prompt, output, shared
        self._coming = [(start_s + (0.002 if client else 0.0) + client / 10_000, client, 0) for client in range(count)]
        self._look()

    def take(self) -> Sequence:
        at_s, client, turn = self._coming.pop(0)
        self._look()
        asked = Sequence(
            arrival_s=at_s, prompt=self._prompt, output=self._output, conversation=client * self._each + turn, shared=self._shared
        )
        asked.person = client
        return asked

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:
        assert not refused, "none of these servers refused anyone"
        turn = sequence.conversation % self._each + 1
        if turn < self._each:
            self._coming.append((now_s + 0.003, sequence.person, turn))
            self._look()

    def _look(self) -> None:
        self._coming.sort()
        self.next_s = self._coming[0][0] if self._coming else math.inf


# llama-server, 82 M parameters: seconds of a prompt token by itself, and for each token before it. Least squares over the eight
# progress lines of one undisturbed prefill of 4,000 tokens (n_batch 512): 1.43 s after 512 tokens, 8.07 after 2,048, 22.32 at the end.
TOKEN_S: Final = 2.249e-3
ATTENTION_S: Final = 1.614e-6


def _prefill_seconds(tokens: int) -> float:
    return TOKEN_S * tokens + ATTENTION_S * tokens**2 / 2


def _stalled(*, batch: int, generators: int, prompt: int, prefill_s: float, step_s: float) -> Run:
    """Generators beside one prefill, from its first pass to its last. `prefill_s` is how long the run's own prefill took."""
    slower = prefill_s / _prefill_seconds(prompt)
    cost = PassCost(step_s=step_s, token_s=TOKEN_S * slower, attention_s=ATTENTION_S * slower)
    passes = math.ceil(prompt / (batch - generators))
    waiting = [Sequence(arrival_s=0.0, prompt=1, output=1 + passes, conversation=number) for number in range(generators)]
    long = Sequence(arrival_s=0.001, prompt=prompt, output=1, conversation=generators, kind=1)
    scheduler = Scheduler(policy="llama-server", slots=4, batch_tokens=batch, context_tokens=16_384)
    return replay(scheduler, cost, Replay([*waiting, long]), kinds=("generators", "prefill"))


@dataclass(frozen=True)
class Stall:
    """n_batch and n_ubatch, generators, prompt; the prefill's seconds in the run, a plain gap before it; the gaps in it (nearest rank)."""

    name: str
    batch: int
    micro_batch: int
    generators: int
    prompt: int
    prefill_s: float
    step_s: float
    passes: int
    gap_p50_s: float
    gap_max_s: float
    note: str = ""


STALLS: Final = (
    Stall(
        "stall -b 64",
        64,
        64,
        1,
        4000,
        62.04,
        0.0107,
        64,
        0.970,
        1.855,
        "prefill three times slower beside a generator: split micro-batches",
    ),
    Stall("stall -b 128", 128, 128, 1, 4000, 24.49, 0.0108, 32, 0.761, 1.571),
    Stall("stall -b 256", 256, 256, 1, 4000, 20.80, 0.0096, 16, 1.173, 2.091),
    Stall("stall -b 512", 512, 512, 1, 4000, 24.91, 0.0092, 8, 3.123, 4.612),
    Stall("stall -b 2048", 2048, 512, 1, 4000, 22.69, 0.0096, 2, 7.999, 14.679),
    Stall("stall -b 512 -ub 128", 512, 128, 1, 4000, 22.00, 0.0100, 8, 2.408, 4.071),
    Stall("stall -b 2048 -ub 128", 2048, 128, 1, 4000, 31.68, 0.0107, 2, 8.408, 23.263, "the second pass ran under other load"),
    Stall("overlap -b 2048", 2048, 512, 3, 8000, 77.08, 0.0322, 4, 17.423, 29.826),
    Stall("overlap -b 512", 512, 512, 3, 8000, 106.98, 0.0327, 16, 5.956, 12.496),
)
# Two passes of which one was disturbed have no median to agree with.
DISTURBED: Final = frozenset({("stall -b 2048 -ub 128", "gap p50")})


def _stalls() -> Iterator[Check]:
    for row in STALLS:
        run = _stalled(batch=row.batch, generators=row.generators, prompt=row.prompt, prefill_s=row.prefill_s, step_s=row.step_s)
        gaps = run.kinds[0].itl
        assert gaps is not None
        assert run.kinds[1].ttft is not None
        yield Check(row.name, "passes", row.passes, gaps.count / row.generators, EXACT)
        yield Check(row.name, "prefill", row.prefill_s, run.kinds[1].ttft.max, None, "the machine's speed")
        tolerance = None if (row.name, "gap p50") in DISTURBED else MEDIAN
        yield Check(row.name, "gap p50", row.gap_p50_s, gaps.p50, tolerance, row.note)
        yield Check(row.name, "gap max", row.gap_max_s, gaps.max, MAXIMUM, row.note)


def _queue() -> Iterator[Check]:
    """Ten clients 50 ms apart on four slots: prompts of 300 tokens (the first, alone, took 1.555 s), answers of 60."""
    cost = PassCost(step_s=0.040, token_s=1.555 / 300, sequence_s=0.005)
    sent = (0.003, 0.053, 0.111, 0.167, 0.217, 0.271, 0.321, 0.379, 0.435, 0.491)
    scheduler = Scheduler(policy="llama-server", slots=4, batch_tokens=2048, context_tokens=8192)
    asked = [Sequence(arrival_s=at_s, prompt=300, output=60, conversation=number) for number, at_s in enumerate(sent)]
    run = replay(scheduler, cost, Replay(asked))
    assert run.everyone.ttft is not None
    yield Check("queue", "ttft p50", 10.90, run.everyone.ttft.p50, MEDIAN)
    yield Check("queue", "ttft max", 21.52, run.everyone.ttft.max, MAXIMUM)


def _adapters() -> Iterator[Check]:
    """Three adapters at once, 300 + 150 tokens each: one after the other.

    The first prompt, alone, took 1.67 s. Its 150 tokens came at 12.8 ms each, which is as long as 84 at the later 23 ms.
    """
    cost = PassCost(step_s=0.0230, token_s=1.669 / 300)
    first, second, third = (
        Sequence(arrival_s=at_s, prompt=300, output=output, conversation=number, adapter=number)
        for number, at_s, output in ((0, 0.004, 84), (1, 0.308, 150), (2, 0.633, 150))
    )
    replay(Scheduler(policy="llama-server", slots=4, batch_tokens=2048, context_tokens=16_384), cost, Replay([first, second, third]))
    order = sorted((first, second, third), key=lambda each: each.first_token_s)
    yield Check("adapters", "last one's ttft", 10.50, order[2].first_token_s - order[2].arrival_s, MEDIAN)
    yield Check("adapters", "second one's ttft", 4.66, order[1].first_token_s - order[1].arrival_s, MEDIAN)
    # The slots were given out from the highest down, so the last to come has the lowest and goes before the second.
    yield Check("adapters", "who went second", 3, 1 + order[1].conversation, EXACT)


def _cache() -> Iterator[Check]:
    """A prompt repeated and extended, five others, and back: tokens found in the slot, or restored from main memory."""
    turns = (
        # conversation, prompt, tokens it has in common with what came before in the conversation, answer, measured cached tokens
        (0, 3000, 0, 30, 0),
        (0, 3000, 3000, 30, 2999),
        (0, 3032, 3000, 30, 3000),
        (0, 3400, 3000, 30, 3000),
        (1, 2000, 0, 10, 0),
        (2, 2000, 0, 10, 0),
        (3, 2000, 0, 10, 0),
        (4, 2000, 0, 10, 0),
        (5, 2000, 0, 10, 0),
        (0, 3000, 3000, 30, 2999),
    )
    asked = [
        Sequence(arrival_s=1000.0 * number, prompt=prompt, output=output, conversation=conversation, history=common)
        for number, (conversation, prompt, common, output, _) in enumerate(turns)
    ]
    scheduler = Scheduler(policy="llama-server", slots=4, batch_tokens=2048, context_tokens=16_384, host_cache_tokens=699_050)
    replay(scheduler, PassCost(step_s=0.01, token_s=0.002), Replay(asked))
    for number, (sequence, turn) in enumerate(zip(asked, turns, strict=True), 1):
        # One is added to both: an error is a share, and most of these are nothing.
        yield Check("cache", f"cached tokens of request {number}, plus one", turn[4] + 1, sequence.cached + 1, EXACT)


# vLLM, 8 layers: a step of four took 20.9 ms (interference runs), of eight 44.8 (no preemption): 6.0 ms for each further
# sequence. The first pass with 1,400 prompt tokens took 1.859 s.
VLLM_COST: Final = PassCost(step_s=0.0029, token_s=1.859 / 1401, sequence_s=0.0060)


def _memory(name: str, *, blocks: int, measured: dict[str, float], preemptions: int) -> Iterator[Check]:
    """Eight clients, three requests each of 200 + 400 tokens, in a pool of blocks of 32 (one of them is the null block)."""
    scheduler = Scheduler(policy="vllm", slots=8, batch_tokens=2048, context_tokens=1024, cache_tokens=(blocks - 1) * 32, block_tokens=32)
    run = replay(scheduler, VLLM_COST, Clients(8, 3, prompt=200, output=400))
    everyone = run.everyone
    assert everyone.ttft is not None
    assert everyone.itl is not None
    yield Check(name, "preemptions, plus one", preemptions + 1, run.preempted + 1, EXACT)
    yield Check(name, "duration", measured["duration"], run.end_s, MEDIAN)
    yield Check(name, "ttft p50", measured["ttft p50"], everyone.ttft.p50, MEDIAN)
    yield Check(name, "ttft p90", measured["ttft p90"], everyone.ttft.p90, MAXIMUM)
    yield Check(name, "gap p50", measured["gap p50"], everyone.itl.p50, MEDIAN)
    if preemptions:
        yield Check(name, "gap p99", measured["gap p99"], everyone.itl.p99, MAXIMUM)
    else:
        yield Check(name, "gap p99", measured["gap p99"], everyone.itl.p99, None, "plain steps only: what varies is the shared machine")
    yield Check(name, "gap max", measured["gap max"], everyone.itl.max, MAXIMUM)


def _preemption() -> Iterator[Check]:
    plenty = {"duration": 62.47, "ttft p50": 1.819, "ttft p90": 2.229, "gap p50": 0.0448, "gap p99": 0.0808, "gap max": 1.859}
    short = {"duration": 77.99, "ttft p50": 2.466, "ttft p90": 6.110, "gap p50": 0.0373, "gap p99": 0.2696, "gap max": 13.561}
    yield from _memory("vLLM, 240 blocks", blocks=240, measured=plenty, preemptions=0)
    yield from _memory("vLLM, 80 blocks", blocks=80, measured=short, preemptions=28)


def _interference() -> Iterator[Check]:
    """Four streams, then a prompt of 6,000 tokens. The law of a pass is that of the three passes with 2,048 tokens; speed as the run's."""
    token_s, attention_s = 1.16e-3, 4.76e-7
    alone = token_s * 6000 + attention_s * 6000**2 / 2
    for batch, passes, prefill_s, p50, longest in ((512, 12, 25.32, 2.116, 3.578), (2048, 3, 16.45, 5.355, 7.666)):
        slower = prefill_s / alone
        cost = PassCost(step_s=0.0029, token_s=token_s * slower, sequence_s=0.006, attention_s=attention_s * slower)
        streams = [Sequence(arrival_s=0.0, prompt=1, output=1 + passes, conversation=number) for number in range(4)]
        long = Sequence(arrival_s=0.001, prompt=6000, output=1, conversation=4, kind=1)
        scheduler = Scheduler(policy="vllm", slots=128, batch_tokens=batch, context_tokens=8192)
        run = replay(scheduler, cost, Replay([*streams, long]), kinds=("streams", "prefill"))
        gaps = run.kinds[0].itl
        assert gaps is not None
        name = f"vLLM beside a prefill, {batch}"
        yield Check(name, "passes", passes, gaps.count / 4, EXACT)
        yield Check(name, "gap p50", p50, gaps.p50, MEDIAN)
        yield Check(name, "gap max", longest, gaps.max, MAXIMUM)


def _shared_prefix() -> Iterator[Check]:
    """Eight clients on four sequences, three requests each of 512 shared + 100 own + 100 tokens, the prefix computed before."""
    cost = PassCost(step_s=0.0239, token_s=0.462 / 301, sequence_s=0.006)
    scheduler = Scheduler(policy="vllm", slots=4, batch_tokens=2048, context_tokens=2048, block_tokens=32)
    clients = Clients(8, 3, prompt=612, output=100, shared=512, start_s=100.0)
    run = replay(
        scheduler, cost, _After(Sequence(arrival_s=0.0, prompt=532, output=8, shared=512, conversation=10**6), clients), shared_tokens=512
    )
    assert run.everyone.ttft is not None
    yield Check("vLLM, shared prefix", "steps", 609, run.steps, EXACT)
    yield Check("vLLM, shared prefix", "cached tokens", 12_288, run.cached_tokens, EXACT)
    yield Check("vLLM, shared prefix", "ttft p50", 5.287, run.everyone.ttft.p50, MEDIAN)
    slow = "the first wave ran under other load: its steps took 60 ms, later ones 42"
    yield Check("vLLM, shared prefix", "ttft max", 8.310, run.everyone.ttft.max, None, slow)


class _After:
    """One request, then what another source has."""

    def __init__(self, first: Sequence, then: Clients) -> None:
        self._first: Sequence | None = first
        self._then = then

    @property
    def next_s(self) -> float:
        return self._first.arrival_s if self._first else self._then.next_s

    def take(self) -> Sequence:
        taken, self._first = self._first, None
        return taken or self._then.take()

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:
        if sequence.conversation < 10**6:
            self._then.done(sequence, now_s, refused=refused)


# llama-server in production: 800 tokens/s prefill, 52 tokens/s decode, 0.74 s for a change of adapter settings.
PRODUCTION: Final = PassCost(step_s=1 / 52, token_s=1 / 800, sequence_s=0.002)


def _production_pass() -> Iterator[Check]:
    """A generating slot beside a prefill of 25,000 tokens; two adapters whose slots take turns."""
    for batch, measured in ((2048, 0.34), (512, 1.62)):
        waiting = Sequence(arrival_s=0.0, prompt=1, output=1 + 25_000 // (batch - 1))
        long = Sequence(arrival_s=0.001, prompt=25_000, output=1, conversation=1, kind=1)
        scheduler = Scheduler(policy="llama-server", slots=2, batch_tokens=batch, context_tokens=32_768)
        run = replay(scheduler, PRODUCTION, Replay([waiting, long]), kinds=("generating", "prefill"))
        gaps = run.kinds[0].itl
        assert gaps is not None
        yield Check(f"production, -b {batch}", "tokens/s beside a prefill", measured, 1 / gaps.p50, MEDIAN)
    both = [Sequence(arrival_s=0.0, prompt=1, output=100, conversation=number, adapter=number) for number in range(2)]
    scheduler = Scheduler(policy="llama-server", slots=2, batch_tokens=512, context_tokens=32_768, switch_s=0.74, adapters_take_turns=True)
    run = replay(scheduler, PRODUCTION, Replay(both))
    assert run.everyone.itl is not None
    yield Check("production, two adapters", "tokens/s of each", 0.65, 1 / run.everyone.itl.p50, MEDIAN)


class Watched:
    """A load whose answered turns are kept, with the marks that the server left on them."""

    def __init__(self, load: Source) -> None:
        self._load = load
        self.answered: list[Sequence] = []

    @property
    def next_s(self) -> float:
        return self._load.next_s

    def take(self) -> Sequence:
        return self._load.take()

    def done(self, sequence: Sequence, now_s: float, *, refused: bool) -> None:
        self.answered.append(sequence)
        self._load.done(sequence, now_s, refused=refused)


def production_day(*, batch: int, adapters: int) -> tuple[Run, list[Sequence]]:
    """Five users with prompts of 19,000 tokens on average: chat turns, side calls with settings of their own, now and then a long paste."""
    side = Spread(30, 0.8)
    kinds = (
        TurnKind(name="chat", prompt=Spread(400, 0.5), output=Spread(250, 0.8), share=0.49, adapter=0),
        TurnKind(name="side calls", prompt=Spread(200, 0.5), output=side, share=0.49, adapter=adapters - 1),
        TurnKind(name="long pastes", prompt=Spread(18_000, 0.2), output=Spread(250, 0.8), share=0.02, adapter=0),
    )
    traffic = Traffic(people=5, kinds=kinds, duration_s=86_400, think_s=60, context_tokens=40_960, turns=100)
    scheduler = Scheduler(
        policy="llama-server",
        slots=5,
        batch_tokens=batch,
        micro_batch_tokens=512,
        context_tokens=40_960,
        checkpoints=True,
        switch_s=0.74,
        host_cache_tokens=120_000,
    )
    load = Watched(source_of(traffic))
    return replay(scheduler, PRODUCTION, load, kinds=tuple(kind.name for kind in kinds)), load.answered


def behind_nobody(answered: list[Sequence]) -> list[float]:
    """Seconds to the first token of short turns that a long prefill in a higher slot met, and none in a lower one, sorted."""
    long = [turn for turn in answered if turn.prompt - turn.cached >= LONG_PREFILL]
    found = []
    for turn in answered:
        if turn.prompt - turn.cached < SHORT_TURN:
            slots = {other.slot for other in long if other.started_s < turn.first_token_s and other.first_token_s > turn.arrival_s}
            if slots and min(slots) > turn.slot:
                found.append(turn.first_token_s - turn.arrival_s)
    return sorted(found)


def _production_turns() -> Iterator[Check]:
    """Short turns beside a prefill of 5,000 tokens or more, before and after both changes: order of magnitude only, the load is a guess."""
    before = production_day(batch=2048, adapters=2)[0].beside.ttft
    run, answered = production_day(batch=512, adapters=1)
    after = run.beside.ttft
    assert before is not None
    assert after is not None
    yield Check("production, before", "short turns' ttft p50", 9.0, before.p50, 0.5)
    yield Check("production, before", "short turns' ttft p90", 33.3, before.p90, 0.5)
    yield Check("production, after", "short turns' ttft p50", 2.3, after.p50, 0.5)
    behind = "b11434 reads prompts in the order of their slots: a turn behind the long one waits for all of it; there, none did"
    yield Check("production, after", "short turns' ttft p90", 3.1, after.p90, None, behind)
    ahead = behind_nobody(answered)
    yield Check("production, after", "the same of turns in a slot before it", 3.1, ahead[len(ahead) * 9 // 10], 0.5)


def _reports() -> Iterator[Check]:
    """Public reports: one wave of queue on eight slots (RTX 3090, gemma-4-12b Q8_0, D003); prompts of 32,768 tokens at once (D033)."""
    cost = PassCost(step_s=0.02884, token_s=0.09056 / 512, sequence_s=(0.06743 - 0.02884) / 7)
    scheduler = Scheduler(policy="llama-server", slots=8, batch_tokens=2048, context_tokens=4096)
    run = replay(scheduler, cost, Clients(16, 6, prompt=512, output=256))
    assert run.everyone.ttft is not None
    yield Check("16 clients, 8 slots", "ttft p50", 17.66, run.everyone.ttft.p50, MEDIAN)
    for clients, measured in ((2, 38.0), (4, 76.3)):
        scheduler = Scheduler(policy="llama-server", slots=clients, batch_tokens=2048, context_tokens=40_000)
        run = replay(scheduler, PassCost(step_s=1 / 80, token_s=18.8 / 32_768), Clients(clients, 1, prompt=32_768, output=10))
        assert run.everyone.ttft is not None
        yield Check(f"{clients} prompts of 32,768 tokens", "ttft max", measured, run.everyone.ttft.max, MAXIMUM)


RUNS: Final[tuple[Callable[[], Iterator[Check]], ...]] = (
    _stalls, _queue, _adapters, _cache, _preemption, _interference, _shared_prefix, _production_pass, _production_turns, _reports,
)  # fmt: skip
