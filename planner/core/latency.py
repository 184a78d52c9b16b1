"""What people feel, in closed form and with a wide range: for tables of thousands of machines, where nobody simulates each."""

import math
from typing import Final

from planner.core.plan import Figure, Grade, Workload
from planner.core.queueing import wait_quantile
from planner.core.speed import others_in_reply

PAUSE_SOURCE: Final = (
    "Closed form: a decode step, and one pass of somebody else's prompt where more than one reply in twenty meets one; from half a pass at the "
    "fast end of the rates to that of a prompt three times as long at the slow end."
)
TTFT_SOURCE: Final = (
    "Closed form: the wait for a slot, the prompts in front and the own one, as 95 % of turns have them; from replies that last as you said "
    "and prompts all alike, at the fast end of the rates, to replies slowed by everything that runs beside them and a long prompt, at the slow end."
)
# The 95th percentile of lengths that vary as the simulator's do (standard deviation = mean) is about three times the mean.
_LONG: Final = 3.0
# The prompts of others never take more than this of the machine's time here: beyond, nothing settles.
_BUSIEST: Final = 0.95
# Slowed replies are rounded up to powers of this, so that rows of a table share the wait that follows.
_STEP: Final = 1.1
_SHARE: Final = 0.95


def pause_p95(*, prefill: Figure, step: Figure, load: Workload, prompt_tokens: int, batch_tokens: int, slots: int) -> Figure:
    """The longest pause in seconds of 95 % of replies; the value is that of `speed.felt`."""
    stalled = 1 - (1 - load.generate_seconds / load.turn_seconds) ** others_in_reply(load, slots) > 1 - _SHARE
    tokens = min(batch_tokens, prompt_tokens) if stalled else 0
    longest = min(batch_tokens, _LONG * prompt_tokens) if stalled else 0
    fast, slow = _ends(prefill)
    shortest, largest = _ends(step)[::-1]
    return Figure(
        step.value + tokens / prefill.value,
        _grade(prefill, step),
        PAUSE_SOURCE,
        shortest + tokens / 2 / fast,
        (2 if stalled else 1) * largest + longest / slow,
    )


def ttft_p95(*, prefill: Figure, decode: Figure, step: Figure, load: Workload, prompt_tokens: float, slots: int) -> Figure:
    """The time to first token in seconds that 95 % of turns do not exceed.

    At best replies last as long as the load says, and half of the wait for a slot is needed (services all alike: M/D/c waits half as
    long as M/M/c). At worst a reply of the same tokens takes as much longer as a step with others does (`step` against `decode`), and as
    the share of time that goes to other prompts adds: they are read one after another, M/M/1. The value is the geometric mean of both
    at the middle of the rates: within a factor of three of the simulator on dense models (tests/core/test_latency.py).
    """
    fast, slow = _ends(prefill)
    least, _ = _as_stated(load, slots, own=prompt_tokens / fast, step=_ends(step)[1])
    _, stated = _as_stated(load, slots, own=prompt_tokens / prefill.value, step=step.value)
    slowed = _slowed(load, slots, own=prompt_tokens / prefill.value, stretch=step.value * decode.value)
    slowest = _slowed(load, slots, own=prompt_tokens / slow, stretch=_ends(step)[0] * _ends(decode)[1])
    value = math.sqrt(stated * slowed)
    return Figure(value, _grade(prefill, step), TTFT_SOURCE, min(least, value), max(slowest, slowed, value))


def _as_stated(load: Workload, slots: int, *, own: float, step: float) -> tuple[float, float]:
    """Seconds with half of the wait and with all of it, where replies last as the load says."""
    wait = _wait(load, slots, load.generate_seconds)
    return wait / 2 + own + step, wait + own + step


def _slowed(load: Workload, slots: int, *, own: float, stretch: float) -> float:
    """Seconds where a reply lasts `stretch` times as long, and longer by what other prompts take of the time."""
    think = load.turn_seconds - load.generate_seconds
    reply, busy = load.generate_seconds * max(1.0, stretch), 0.0
    for _ in range(6):
        turns_per_s = min(load.users / (think + reply), slots / reply)
        busy = min(_BUSIEST, turns_per_s * own)
        reply = (reply + own + load.generate_seconds * max(1.0, stretch) / (1 - busy)) / 2
    ahead = min((min(slots, load.users) - 1) * own, max(0.0, math.log(busy / (1 - _SHARE))) * own / (1 - busy)) if busy else 0.0
    return _wait(load, slots, reply) + ahead + _LONG * own


def _wait(load: Workload, slots: int, reply_seconds: float) -> float:
    """The wait for a slot of 95 % of turns, with replies of about `reply_seconds` and the load's own pauses."""
    grown = load.generate_seconds * _STEP ** math.ceil(math.log(reply_seconds / load.generate_seconds, _STEP) - 1e-9)
    think = load.turn_seconds - load.generate_seconds
    return wait_quantile(users=load.users, slots=slots, generate_seconds=grown, turn_seconds=think + grown, share=_SHARE)


def _ends(figure: Figure) -> tuple[float, float]:
    """The higher and the lower end: of a rate the fast one first, of a duration the slow one."""
    return figure.value if figure.high is None else figure.high, figure.value if figure.low is None else figure.low


def _grade(*figures: Figure) -> Grade:
    return "estimated" if any(figure.grade == "estimated" for figure in figures) else "computed"
