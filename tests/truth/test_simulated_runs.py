"""Real servers and the same load on the simulator: medians within 20 %, maxima within 30 %, counts exactly."""

from collections.abc import Callable, Iterator

import pytest

from tests.truth.simulated_runs import RUNS, Check, production_day


@pytest.mark.parametrize("checks", RUNS, ids=lambda run: run.__name__.strip("_"))
def test_the_simulator_agrees_with_a_real_run(checks: Callable[[], Iterator[Check]]) -> None:
    wrong = [f"{c.run}, {c.figure}: measured {c.measured:g}, simulated {c.simulated:g}" for c in checks() if not c.holds]
    assert not wrong


def test_the_adapter_settings_made_the_longest_waits_and_the_batch_the_usual_ones() -> None:
    ttft = {
        (batch, adapters): production_day(batch=batch, adapters=adapters)[0].beside.ttft for batch in (2048, 512) for adapters in (2, 1)
    }
    p50 = {key: value.p50 for key, value in ttft.items() if value}
    p90 = {key: value.p90 for key, value in ttft.items() if value}
    # The smaller batch takes a third off the median with two adapter settings, and two thirds with one; p90 it leaves alone.
    assert p50[512, 2] < 0.75 * p50[2048, 2]
    assert p50[512, 1] < 0.6 * p50[2048, 1]
    assert p90[512, 2] > 0.8 * p90[2048, 2]
    # One setting for all takes a third off p90 and more.
    assert p90[2048, 1] < 0.67 * p90[2048, 2]
    assert p90[512, 1] < 0.67 * p90[512, 2]
