"""In-flight requests: the mean, the distribution around it, and the duty cycles people type."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.request import PlanRequest
from planner.core.workload import binomial, duty_cycle, quantile, workload


def test_twenty_users_at_twelve_of_ninety_seconds_are_two_and_two_thirds_in_flight() -> None:
    load = workload(users=20, generate_seconds=12, turn_seconds=90)
    assert load.in_flight_mean == pytest.approx(2.667, abs=0.001)
    assert (load.in_flight_p95, load.in_flight_p99) == (5, 7)
    assert sum(load.distribution) == pytest.approx(1, abs=2e-6)


def test_agents_are_always_in_flight() -> None:
    load = workload(users=7, generate_seconds=30, turn_seconds=30)
    assert load.always_in_flight
    assert load.in_flight_mean == load.in_flight_p95 == 7
    assert load.distribution == (0, 0, 0, 0, 0, 0, 0, 1)


@given(n=st.integers(1, 120), p=st.floats(0.001, 0.999))
def test_the_distribution_is_binomial(n: int, p: float) -> None:
    for count, probability in enumerate(binomial(n, p)):
        exact = math.comb(n, count) * Fraction(p) ** count * (1 - Fraction(p)) ** (n - count)
        assert probability == pytest.approx(float(exact), rel=1e-9)


def test_a_quantile_is_the_smallest_count_that_covers_its_share() -> None:
    assert quantile((0.5, 0.3, 0.2), 0.5) == 0
    assert quantile((0.5, 0.3, 0.2), 0.81) == 2


@pytest.mark.parametrize(
    ("given_inputs", "expected"),
    [
        ({}, (12, 90)),
        ({"usage": "agents"}, (30, 30)),
        ({"generate_seconds": 10, "think_seconds": 50}, (10, 60)),
        # A turn shorter than its generation: the next request follows at once.
        ({"generate_seconds": 40, "turn_seconds": 20}, (40, 40)),
        # Only the generation is known and it is longer than the preset's turn.
        ({"generate_seconds": 200}, (200, 200)),
    ],
)
def test_duty_cycles(given_inputs: dict[str, object], expected: tuple[float, float]) -> None:
    assert duty_cycle(PlanRequest.model_validate(given_inputs)) == expected
