"""Power supply and circuit: within what makers ask for, breakers by the 80 % rule, and ranges that hold what they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core import catalog
from planner.core.power import power

# Card, what its maker and board partners ask for as a whole supply in watts (low, high).
ASKED_FOR = [
    ("rtx-4090", 850, 1200),  # Tom's Hardware, 2022-10-06: NVIDIA 850 W, partners up to 1,200 W
]


@pytest.mark.parametrize(("device", "low", "high"), ASKED_FOR)
def test_the_supply_agrees_with_what_makers_ask_for(device: str, low: int, high: int) -> None:
    supply = power((catalog.device(device),)).supply_watts
    assert supply is not None
    assert (supply.low or 0) <= low <= supply.value <= high
    assert supply.grade == "estimated"


@given(st.sampled_from([d for d in catalog.devices().values() if d.is_gpu]), st.integers(1, 8))
def test_every_figure_around_the_boards_is_an_estimate_with_its_range(device, count: int) -> None:  # type: ignore[no-untyped-def]
    found = power((device,) * count)
    if device.watts is None:
        assert found.total_watts is None
        assert "no board power" in found.sentences[0]
        return
    assert found.board_watts == device.watts * count
    for figure in (found.around_watts, found.total_watts, found.supply_watts, *(each.amps for each in found.circuits)):
        assert figure is not None
        assert figure.grade == "estimated"
        assert (figure.low or 0) <= figure.value <= (figure.high or 0)
    for circuit in found.circuits:
        load = circuit.amps.high or 0
        if circuit.breaker_amps:
            assert load <= 0.8 * circuit.breaker_amps
        else:
            assert load > 0.8 * max({230: 32, 120: 30}[circuit.volts], 0)
            assert circuit.circuits * 0.8 * {230: 32, 120: 30}[circuit.volts] >= load


def test_one_rtx_4090_by_hand() -> None:
    # 450 W + 200 W = 650 W; ÷ 0.9 ÷ 230 V = 3.14 A; the high end, 750 W ÷ 0.85 ÷ 120 V = 7.4 A, is below 80 % of 15 A.
    found = power((catalog.device("rtx-4090"),))
    at_230, at_120 = found.circuits
    assert found.total_watts is not None
    assert found.total_watts.value == 650
    assert round(at_230.amps.value, 2) == 3.14
    assert (at_230.breaker_amps, at_120.breaker_amps) == (10, 15)
    assert any("electrician" in sentence for sentence in found.sentences)


def test_a_cpu_machine_has_no_board_power_to_start_from() -> None:
    found = power((catalog.cpu_device(64 * 2**30),))
    assert found.total_watts is not None
    assert found.board_watts == 0
    assert (found.total_watts.low, found.total_watts.high) == (60, 600)


def test_unequal_cards_add_up() -> None:
    cards = (catalog.device("rtx-3090"), catalog.device("rtx-3090"), catalog.device("rtx-4090"))
    assert power(cards).board_watts == 350 + 350 + 450
