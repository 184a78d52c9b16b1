"""How far the application's clock and the log's lie apart: a log counts from its server's start, calls have dates."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, Protocol

from planner.core.logs.record import Task

# No queue is longer than this.
LATE_S: Final = 900.0
# So many tasks are tried, the ones whose number of tokens fewest calls have, against so many calls each.
_TASKS: Final = 24
_CALLS: Final = 80
# On so many tasks a difference is tested.
_TESTED: Final = 120
# The same moment, as two programs write it down.
_SAME_S: Final = 0.002


class Sent(Protocol):
    """Calls in the order of their times, in columns."""

    @property
    def sent(self) -> Sequence[float]: ...
    @property
    def tokens(self) -> Sequence[int]: ...


def offset_between(calls: Sent, tasks: Sequence[Task]) -> float:
    """Seconds to add to a call's time to have the log's: the largest difference at which most tasks have a call of their own before them.

    A task is launched when its call was sent, or later. A smaller difference would fit as many, with longer waits.
    Without a number of tokens in common the first call belongs to the first task.
    """
    launched = sorted((task.launched_s or 0.0, task.prompt_tokens or task.asked_tokens or -1) for task in tasks)
    by_tokens: dict[int, list[float]] = {}
    for sent, tokens in zip(calls.sent, calls.tokens, strict=True):
        if tokens >= 0:
            by_tokens.setdefault(tokens, []).append(sent)
    known = [(at_s, tokens) for at_s, tokens in launched if tokens in by_tokens]
    if not known:
        return launched[0][0] - calls.sent[0] if launched else 0.0
    rare = sorted(known, key=lambda each: len(by_tokens[each[1]]))[:_TASKS]
    tried = sorted({at_s - sent - _SAME_S for at_s, tokens in rare for sent in by_tokens[tokens][:_CALLS]}, reverse=True)
    tested = known[:_TESTED]
    return max(tried, key=lambda offset: (_matched(tested, by_tokens, offset), offset))


def _matched(tasks: Sequence[tuple[float, int]], by_tokens: dict[int, list[float]], offset: float) -> int:
    """How many tasks have a call of their own that was sent before them, first come, first served."""
    following: dict[int, int] = {}
    matched = 0
    for at_s, tokens in tasks:
        sent = by_tokens[tokens]
        earliest = at_s - offset - LATE_S
        index = following.get(tokens, 0)
        if index < len(sent) and sent[index] < earliest:
            index = bisect_left(sent, earliest, index)
        if index < len(sent) and sent[index] <= at_s - offset:
            matched += 1
            index += 1
        following[tokens] = index
    return matched
