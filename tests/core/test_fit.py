"""Slots against memory and people: verdicts, trades and the honest queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.engines.contract import Capacity
from planner.core.fit import fit, scenario, scenario_users, verdict
from planner.core.plan import Fit
from planner.core.workload import workload


@pytest.mark.parametrize(
    ("slots", "wanted", "fitting", "wait", "expected"),
    [
        (6, 6, 9, 0.1, "fits"),
        (6, 6, 6, 0.1, "tight"),  # just as many as needed
        (4, 6, 4, 1.8, "tight"),  # fewer, but people wait less than they are ready to
        (3, 6, 3, 45.0, "does_not_fit"),
        (1, 6, 0, 0.0, "does_not_fit"),  # nothing fits at all
        (8, 6, 7, 0.0, "does_not_fit"),  # given by hand, more than memory bears
        (4, 6, 9, 1.8, "tight"),  # given by hand, fewer than needed
        (4, 6, 9, 60.0, "does_not_fit"),
    ],
)
def test_verdicts(slots: int, wanted: int, fitting: int, wait: float, expected: str) -> None:
    assert verdict(slots=slots, wanted=wanted, fitting=fitting, mean_wait_seconds=wait, patience_seconds=30) == expected


def planned(*, slots_that_fit: int, given_slots: int = 0) -> Fit:
    return fit(
        load=workload(users=20, generate_seconds=12, turn_seconds=90),
        capacity=Capacity(slots_that_fit, "memory", "a < b"),
        context_tokens=8192,
        given_slots=given_slots,
        wait_target=0.05,
        patience_seconds=30,
    )


def test_the_plan_takes_what_is_needed_and_fits() -> None:
    roomy, short = planned(slots_that_fit=16), planned(slots_that_fit=4)
    assert (roomy.slots, roomy.verdict, roomy.limit) == (6, "fits", "users")
    assert (short.slots, short.verdict, short.limit) == (4, "tight", "memory")


def test_one_slot_fewer_and_one_more_stand_beside_the_choice() -> None:
    assert [trade.slots for trade in planned(slots_that_fit=16).trades] == [5, 6, 7]
    assert [trade.slots for trade in planned(slots_that_fit=4).trades] == [3, 4, 5, 6, 7]


def test_slots_given_by_hand_are_kept() -> None:
    assert planned(slots_that_fit=16, given_slots=3).slots == 3
    assert planned(slots_that_fit=2, given_slots=3).verdict == "does_not_fit"


def test_the_queue_ends_where_patience_does() -> None:
    plan = planned(slots_that_fit=4)
    assert plan.max_queue == 10
    assert "30 s" in plan.max_queue_why


def test_scenarios_keep_the_users_own_number_in_order() -> None:
    assert list(scenario_users(12)) == [2, 5, 12, 20]
    assert list(scenario_users(20)) == [2, 5, 20]


def test_a_cpu_shares_its_bandwidth_among_those_in_flight() -> None:
    load = workload(users=5, generate_seconds=12, turn_seconds=90)
    shared = scenario(20, load=load, plan_slots=2, wait_target=0.05, request_bytes=10, bandwidth_bytes_per_s=80e9)
    assert shared.bandwidth_share_bytes_per_s == pytest.approx(40e9)
    assert shared.cache_needed_bytes == 60


@given(users=st.integers(1, 60), room=st.integers(0, 80), given_slots=st.integers(0, 80))
def test_more_room_never_makes_the_verdict_worse(users: int, room: int, given_slots: int) -> None:
    def outcome(slots_that_fit: int) -> int:
        made = fit(
            load=workload(users=users, generate_seconds=12, turn_seconds=90),
            capacity=Capacity(slots_that_fit, "memory", "a < b"),
            context_tokens=8192,
            given_slots=given_slots,
            wait_target=0.05,
            patience_seconds=30,
        )
        return ["does_not_fit", "tight", "fits"].index(made.verdict)

    assert outcome(room) <= outcome(room + 1)
