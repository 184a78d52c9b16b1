"""What a machine costs at a duty cycle, by hand, beside an API; and what is said of quality, with its source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.draft import Outline, outline
from planner.core.economics import NO_TERMS, Economics, Terms, economics
from planner.core.engines import engines
from planner.core.plan import Figure
from planner.core.prices import Price
from planner.core.quality import cache_risk, context_risk, weights_risk
from planner.core.request import read_request
from planner.core.running_cost import Tariff
from planner.sources import find_model

OFFICE = Tariff(per_kwh=0.30, hours_per_day=8)
AROUND = Figure(200, "estimated", "judged", 100, 300)
# 20 users, a turn every 90 s, 8 h a day: 20 × 8 × 3,600 × 30.4375 ÷ 90 = 194,800 turns a month, when hardly anyone waits.
LOAD = {"users": 20, "generate_seconds": 12, "turn_seconds": 90, "prompt_tokens": 1500, "output_tokens": 300}


def planned(**inputs: object) -> Outline:
    request = read_request({"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "engine": "llama-server", **LOAD, **inputs})
    return outline(request, find_model(request, None), engines()[request.engine])


def costs(terms: Terms = NO_TERMS, *, tariff: Tariff = OFFICE, purchase: float | None = 2400, **beside: object) -> Economics:
    given_: dict[str, object] = {"machines": 1, "watts": 450, "around_watts": AROUND, "rent": None, "currency": "EUR", **beside}
    return economics(planned(), purchase=purchase, tariff=tariff, prompt_tokens=1500, terms=terms, **given_)  # type: ignore[arg-type]


def test_measured_watts_make_the_electricity_computed() -> None:
    found = costs(Terms(idle_watts=90, busy_watts=500))
    busy = (1 - planned().load.distribution[0]) * 8 / 24
    assert found.kwh is not None
    assert found.kwh.grade == "computed"
    assert found.kwh.value == pytest.approx((90 * (1 - busy) + 500 * busy) * 730.5 / 1000)
    assert found.running is not None
    assert found.running.value == pytest.approx(found.kwh.value * 0.30)


def test_turns_and_tokens_of_a_month_by_hand() -> None:
    found = costs()
    wait = planned().outcome.chosen.mean_wait_seconds
    assert found.turns.value == pytest.approx(20 * 8 * 3600 * 30.4375 / (90 + wait))
    assert round(found.turns.value, -3) == 195_000
    assert found.answer_tokens is not None
    assert found.answer_tokens.value == pytest.approx(found.turns.value * 300)
    assert found.answer_tokens.grade == "computed"


def test_the_break_even_is_when_the_saving_has_paid_the_purchase() -> None:
    found = costs(Terms(api_input=0.5, api_output=2.0, idle_watts=90, busy_watts=500))
    assert found.api is not None
    assert found.running is not None
    assert found.break_even_months is not None
    api = found.turns.value * (1500 * 0.5 + 300 * 2.0) / 1e6
    assert found.api.value == pytest.approx(api)
    assert found.break_even_months.value == pytest.approx(2400 / (api - found.running.value))
    assert not found.never


def test_a_machine_that_costs_more_than_the_api_never_breaks_even() -> None:
    found = costs(Terms(api_output=0.001, idle_watts=400, busy_watts=500))
    assert found.never
    assert found.break_even_months is None


def test_a_rented_machine_has_its_electricity_in_the_rent() -> None:
    found = costs(purchase=0.0, rent=Price(120.0, "EUR", per="month"), watts=None)
    assert found.kwh is None
    assert found.running is not None
    assert found.running.value == 120.0


def test_what_is_not_known_is_named_and_left_out() -> None:
    found = costs(tariff=Tariff(None, 8), purchase=None)
    assert found.running is found.per_million is found.break_even_months is None
    assert {"the price of a kWh", "the price of the machine"} <= set(found.unknown)
    assert "the board power" in costs(watts=None).unknown


def test_answers_without_a_length_are_an_estimate_from_the_speed() -> None:
    request = planned(prompt_tokens=None, output_tokens=None)
    found = economics(request, watts=450, around_watts=AROUND, purchase=0, rent=None, currency="EUR", tariff=Tariff(), prompt_tokens=1024)
    assert found.answer_tokens is not None
    assert found.answer_tokens.grade == "estimated"
    assert (found.answer_tokens.low or 0) < found.answer_tokens.value < (found.answer_tokens.high or 0)


@given(st.integers(1, 5000), st.floats(0.01, 1), st.floats(0.1, 24), st.floats(0.01, 100))
def test_ranges_hold_what_they_are_about(purchase: int, kwh: float, hours: float, api: float) -> None:
    found = costs(Terms(api_output=api), tariff=Tariff(kwh, hours), purchase=purchase)
    for figure in (found.kwh, found.running, found.per_million, found.api, found.api_per_million, found.break_even_months):
        if figure is not None:
            low = figure.value if figure.low is None else figure.low
            assert low <= figure.value * (1 + 1e-9)
            assert figure.high is None or figure.value <= figure.high * (1 + 1e-9)


def test_two_machines_share_the_users_and_double_the_boards() -> None:
    one, two = costs(), costs(machines=2)
    assert one.kwh is not None
    assert two.kwh is not None
    assert one.kwh.value < two.kwh.value < 2 * one.kwh.value


# Format, grade, words: perplexities of llama.cpp's scoreboard against 6.2332, by hand (6.3829 ÷ 6.2332 = 1.024).
RISKS = [
    ("Q8_0", "measured", "0.018 %"),
    ("Q4_K_M", "measured", "2.4 %"),
    ("Q3_K_M", "measured", "11 %"),
    ("FP8", "measured", "arXiv:2411.02355"),
    ("AWQ", "measured", "came close to 8 bits"),
    ("NVFP4", "judged", "Judgement"),
]


@pytest.mark.parametrize(("name", "grade", "words"), RISKS)
def test_quality_is_measured_with_a_source_or_called_a_judgement(name: str, grade: str, words: str) -> None:
    risk = weights_risk(name)
    assert risk.grade == grade
    assert words in f"{risk.text} {risk.source}"
    assert bool(risk.source) == (grade == "measured")


def test_caches_and_contexts_too() -> None:
    assert (cache_risk("q8_0").grade, cache_risk("fp8").grade, context_risk(4096).grade) == ("measured", "judged", "judged")
    assert "4,096 tokens" in context_risk(4096).text
