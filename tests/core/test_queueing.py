"""The closed queue against hand-checked figures, a simulation-free reference and its laws."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.queueing import queue_bound, slot_trade, slots_needed

# 20 users, 12 s generating, a turn every 90 s: the queue with think time 78 s, worked out by hand.
REFERENCE = [(3, 0.61, 7.2), (4, 0.29, 1.8), (5, 0.11, 0.44), (6, 0.035, 0.10)]


@pytest.mark.parametrize(("slots", "probability", "wait"), REFERENCE)
def test_twenty_chat_users_wait_as_worked_out(slots: int, probability: float, wait: float) -> None:
    trade = slot_trade(users=20, slots=slots, generate_seconds=12, turn_seconds=90)
    assert trade.wait_probability == pytest.approx(probability, abs=0.005)
    assert trade.mean_wait_seconds == pytest.approx(wait, abs=0.05)


def test_five_users_on_one_slot_wait_nine_seconds_on_average() -> None:
    trade = slot_trade(users=5, slots=1, generate_seconds=12, turn_seconds=90)
    assert trade.wait_probability == pytest.approx(0.5, abs=0.001)
    assert trade.mean_wait_seconds == pytest.approx(9.0, abs=0.05)


def test_six_slots_are_needed_for_twenty_users_at_five_percent() -> None:
    assert slots_needed(users=20, generate_seconds=12, turn_seconds=90, wait_target=0.05) == 6


def test_without_a_pause_everyone_but_the_slots_waits() -> None:
    trade = slot_trade(users=10, slots=4, generate_seconds=30, turn_seconds=30)
    assert trade.wait_probability == 1
    # Ten requests over four slots: a round takes 75 s, of which 30 are generation.
    assert trade.mean_wait_seconds == pytest.approx(45)
    assert slots_needed(users=10, generate_seconds=30, turn_seconds=30, wait_target=0.05) == 10


def exact(users: int, slots: int, generate: int, think: int) -> tuple[Fraction, Fraction]:
    """The same queue in exact fractions, from the balance equations term by term."""
    weights = [Fraction(1)]
    for n in range(users - 1):
        weights.append(weights[-1] * (users - 1 - n) * Fraction(generate, think) / min(n + 1, slots))
    total = sum(weights)
    wait = sum(w * (n - slots + 1) * Fraction(generate, slots) for n, w in enumerate(weights) if n >= slots)
    return sum(weights[slots:], Fraction(0)) / total, Fraction(wait) / total


@given(users=st.integers(1, 60), slots=st.integers(1, 60), generate=st.integers(1, 200), think=st.integers(1, 2000))
def test_agrees_with_exact_fractions(users: int, slots: int, generate: int, think: int) -> None:
    trade = slot_trade(users=users, slots=slots, generate_seconds=generate, turn_seconds=generate + think)
    probability, wait = exact(users, slots, generate, think) if slots < users else (Fraction(0), Fraction(0))
    assert trade.wait_probability == pytest.approx(float(probability), rel=1e-9, abs=1e-12)
    assert trade.mean_wait_seconds == pytest.approx(float(wait), rel=1e-9, abs=1e-12)


@given(
    users=st.integers(1, 400),
    generate=st.floats(0.01, 1000),
    think=st.floats(0, 10_000),
    target=st.floats(0, 1),
)
def test_slots_needed_is_the_smallest_that_meets_the_target(users: int, generate: float, think: float, target: float) -> None:
    duty = {"users": users, "generate_seconds": generate, "turn_seconds": generate + think}
    slots = slots_needed(**duty, wait_target=target)
    assert slot_trade(slots=slots, **duty).wait_probability <= target
    assert slots == 1 or slot_trade(slots=slots - 1, **duty).wait_probability > target


def test_ten_thousand_users_stay_finite() -> None:
    trade = slot_trade(users=10_000, slots=1_400, generate_seconds=12, turn_seconds=90)
    assert 0 < trade.wait_probability < 1
    assert math.isfinite(trade.mean_wait_seconds)


@pytest.mark.parametrize(
    ("slots", "generate", "patience", "bound"),
    [(5, 12, 30, 12), (1, 12, 30, 2), (1, 120, 30, 1), (6, 12, 0.1, 1)],
)
def test_the_last_in_the_queue_still_starts_within_patience(slots: int, generate: float, patience: float, bound: int) -> None:
    assert queue_bound(users=10_000, slots=slots, generate_seconds=generate, patience_seconds=patience) == bound


@pytest.mark.parametrize("slots", [1, 1_300, 1_400, 9_999])
def test_leaving_out_what_never_occurs_changes_nothing(slots: int) -> None:
    """Ten thousand users against the whole sum in logarithms."""
    users, generate, think = 10_000, 12, 78
    logs = [0.0]
    for n in range(users - 1):
        logs.append(logs[-1] + math.log((users - 1 - n) * generate / think) - math.log(min(n + 1, slots)))
    weights = [math.exp(value - max(logs)) for value in logs]
    trade = slot_trade(users=users, slots=slots, generate_seconds=generate, turn_seconds=generate + think)
    assert trade.wait_probability == pytest.approx(math.fsum(weights[slots:]) / math.fsum(weights), rel=1e-9, abs=1e-15)
