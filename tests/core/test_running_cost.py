"""What a machine costs a month: electricity by its duty, or rent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.prices import Price
from planner.core.running_cost import DAYS_PER_MONTH, NO_TARIFF, Tariff, busy_share, monthly
from planner.core.workload import workload


def test_a_card_that_always_works_draws_its_share_of_the_board_power_all_month() -> None:
    found = monthly(watts=400, busy=1.0, tariff=Tariff(per_kwh=0.30))
    hours = 24 * DAYS_PER_MONTH
    assert found.kwh.value == pytest.approx(0.80 * 0.4 * hours)
    assert (found.kwh.low, found.kwh.high) == (pytest.approx(0.50 * 0.4 * hours), pytest.approx(0.4 * hours))
    assert found.cost.value == pytest.approx(found.kwh.value * 0.30)
    assert found.cost.grade == "estimated"


def test_people_who_are_there_for_eight_hours_keep_it_busy_for_a_third_as_long() -> None:
    load = workload(users=20, generate_seconds=12, turn_seconds=90)
    assert busy_share(load, Tariff(hours_per_day=8)) == pytest.approx(busy_share(load, Tariff()) / 3)
    # Nobody of twenty is in flight in (1 − 12/90)^20 of the moments.
    assert busy_share(load, Tariff()) == pytest.approx(1 - (78 / 90) ** 20)


def test_what_is_not_known_stays_so_and_rent_has_its_electricity_in_it() -> None:
    assert monthly(watts=None, busy=0.5, tariff=Tariff(per_kwh=0.3)).kwh is None
    assert monthly(watts=300, busy=0.5, tariff=NO_TARIFF).cost is None
    rented = monthly(watts=None, busy=0.5, tariff=NO_TARIFF, rent=Price(39, "EUR", per="month"))
    assert (rented.kwh, rented.cost.value) == (None, 39)


@given(watts=st.integers(5, 10_000), busy=st.floats(0, 1), more=st.floats(0, 1))
def test_more_work_never_costs_less_and_the_value_lies_in_its_range(watts: int, busy: float, more: float) -> None:
    less, most = sorted((busy, more))
    quiet, loud = (monthly(watts=watts, busy=share, tariff=Tariff(per_kwh=0.3)).cost for share in (less, most))
    assert quiet.low <= quiet.value <= quiet.high
    assert loud.value >= quiet.value
