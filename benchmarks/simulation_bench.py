"""How fast the simulator is: engine steps per second, a whole day, and how many times the plain step loop of the tests."""

import gc
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from planner.core.simulation import PassCost, Run, Scheduler, Traffic, simulate, source_of
from planner.core.simulation.lengths import Spread
from planner.core.simulation.traffic import TurnKind
from tests.core.simulation_reference import step_by_step

T = TypeVar("T")

COST = PassCost(step_s=0.02, token_s=1 / 5000, sequence_s=0.0002, cached_token_s=1e-8, attention_s=1e-9)


def _timed(work: Callable[[], T], *, times: int) -> tuple[float, T]:
    """CPU seconds of the fastest of `times`, and its result."""
    best, result = float("inf"), None
    for _ in range(times):
        gc.collect()
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    assert result is not None  # noqa: S101 - `times` is at least one
    return best, result


def _load(*, people: int, think_s: float, duration_s: float, output: int) -> Traffic:
    kind = TurnKind(name="turns", prompt=Spread(300, 1.0), output=Spread(output, 1.0))
    return Traffic(people=people, kinds=(kind,), duration_s=duration_s, think_s=think_s, context_tokens=32_768)


def _server(policy: str, slots: int = 64) -> Scheduler:
    return Scheduler(policy=policy, slots=slots, batch_tokens=2048, context_tokens=32_768)


def figures() -> Iterator[str]:
    for policy in ("vllm", "llama-server"):
        for output, duration_s in ((2000, 10_000.0), (285, 2_500.0)):
            busy = _load(people=64, think_s=0.5, duration_s=duration_s, output=output)

            def go(load: Traffic = busy, policy: str = policy) -> Run:
                return simulate(_server(policy), COST, load)

            seconds, run = _timed(go, times=5)
            yield (
                f"{policy}, {run.slots_busy:.0f} sequences at a time, answers of {output:,} tokens: {run.steps / seconds:,.0f} engine steps "
                f"and {run.everyone.turns / seconds:,.0f} requests per second of CPU"
            )
    short = _load(people=64, think_s=0.5, duration_s=200.0, output=285)
    fast, _ = _timed(lambda: simulate(_server("vllm"), COST, short), times=5)
    slow, _ = _timed(lambda: step_by_step(_server("vllm"), COST, source_of(short)), times=1)
    yield f"vllm, the same 200 s: {slow / fast:,.0f} times as fast as the step loop"
    day = _load(people=20, think_s=78.0, duration_s=86_400.0, output=600)
    seconds, run = _timed(lambda: simulate(_server("llama-server", 8), COST, day), times=3)
    yield f"llama-server, a day of 20 chat users ({run.everyone.turns:,} turns, {run.steps:,} steps): {seconds:.2f} s of CPU"
