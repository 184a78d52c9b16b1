"""Tokens of one pass: the most that keep the pauses of the plan's own load within the limit, and what that costs."""

from bisect import bisect_right
from typing import Final

from planner.core import units
from planner.core.advice.rehearsal import Rehearsal
from planner.core.simulated import with_batch
from planner.core.simulation import Run
from planner.core.simulation.results import Quantiles

# Where no choice keeps the limit, a smaller one must shorten the pause by more than this share to be worth its slower prompts.
_WORTH: Final = 0.1


def passes(tried: Rehearsal, choices: tuple[int, ...]) -> tuple[int, str]:
    """The largest of the ascending `choices` whose p95 pause is within the request's limit, and the sentence that says so.

    Where none is: the largest whose pause is hardly longer than the shortest there is. Pauses grow with the passes, so the
    choices are halved and not all of them tried.
    """
    limit, most = tried.request.pause_target, choices[-1]
    if _pause(tried, most) <= limit:
        return most, _kept(tried, most, most)
    kept = bisect_right(choices[:-1], limit, key=lambda tokens: _pause(tried, tokens))
    if kept:
        return choices[kept - 1], _kept(tried, choices[kept - 1], most)
    bearable = _pause(tried, choices[0]) * (1 + _WORTH)
    nearest = choices[max(0, bisect_right(choices, bearable, key=lambda tokens: _pause(tried, tokens)) - 1)]
    return nearest, _missed(tried, nearest, most)


def run_with(tried: Rehearsal, tokens: int) -> Run:
    """The plan's load with passes of `tokens`."""
    return tried.run(with_batch(tried.server, tokens))


def _pause(tried: Rehearsal, tokens: int) -> float:
    pause = run_with(tried, tokens).everyone.pause
    return pause.p95 if pause else 0.0


def preface(tried: Rehearsal) -> str:
    """How every simulated sentence begins."""
    return "Simulated" if tried.measured else "Simulated at estimated speeds"


def _kept(tried: Rehearsal, tokens: int, most: int) -> str:
    beyond = "" if tokens == most else f"; with {most:,} it would be {units.seconds(_pause(tried, most))}"
    return (
        f"{preface(tried)}: with passes of {tokens:,} prompt tokens the longest pause is at most {units.seconds(_pause(tried, tokens))} in "
        f"95 % of replies, within your limit of {units.seconds(tried.request.pause_target)}{beyond}. {_first_token(tried, tokens, most)}"
    )


def _missed(tried: Rehearsal, tokens: int, most: int) -> str:
    beyond = "" if tokens == most else f"; with {most:,} it would be {units.seconds(_pause(tried, most))}"
    return (
        f"{preface(tried)}: no choice keeps the longest pause within your limit of {units.seconds(tried.request.pause_target)} in 95 % of "
        f"replies. With passes of {tokens:,} prompt tokens it is {units.seconds(_pause(tried, tokens))}{beyond}. "
        f"{_first_token(tried, tokens, most)}"
    )


def _first_token(tried: Rehearsal, tokens: int, most: int) -> str:
    """What people wait for the first token, and what they would with the largest passes."""
    here, there = (run_with(tried, each).everyone.ttft for each in (tokens, most))
    if here is None or there is None:
        return ""
    instead = "" if tokens == most else f", instead of {_halves(there)}"
    return f"The first token comes within {units.seconds(here.p50)} in half of the turns and {units.seconds(here.p95)} in 95 %{instead}."


def _halves(ttft: Quantiles) -> str:
    return f"{units.seconds(ttft.p50)} and {units.seconds(ttft.p95)}"
