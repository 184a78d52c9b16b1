"""Bad hours: which are tried, what breaks a plan, and that the document somebody pastes is felt by those beside it."""

from typing import Any

import pytest

from planner.core.errors import InputError
from planner.core.request import read_request
from planner.core.simulating.hardship import Hardship, first_broken, hardships
from planner.core.simulating.hardship_report import hardships_json, hardships_text
from planner.sources import find_model

# A production server of 2026: five users, 800 tokens/s of prefill, 52 of decode.
SLOW = {
    "model": "Qwen/Qwen3-8B", "device": "rtx-4090", "engine": "llama-server", "context": 32768, "users": 5, "prompt_tokens": 1000,
    "output_tokens": 300, "think_seconds": 60, "prefill_rate": 800, "decode_rate": 52,
}  # fmt: skip
QWEN = find_model(read_request({"model": "Qwen/Qwen3-8B"}), None)


def tried(**changes: Any) -> dict[str, Hardship]:
    return {hardship.code: hardship for hardship in hardships({**SLOW, **changes}, QWEN)}


@pytest.fixture(scope="module")
def hours() -> dict[str, Hardship]:
    return tried()


def test_ordinary_use_comes_first_and_the_hardest_last(hours: dict[str, Hardship]) -> None:
    assert list(hours) == ["ordinary", "more_users", "together", "long_conversations", "adapters", "paste", "no_pause"]


def test_the_first_broken_is_the_likeliest_that_is_not_survived(hours: dict[str, Hardship]) -> None:
    broken = first_broken(list(hours.values()))
    assert broken is not None
    assert not broken.survived
    assert all(hour.survived for hour in list(hours.values())[: list(hours).index(broken.code)])


def test_the_server_stays_as_the_plan_sets_it(hours: dict[str, Hardship]) -> None:
    assert len({hour.set_up.scheduler for hour in hours.values()}) == 1


def test_every_breach_is_beyond_its_limit_and_says_both(hours: dict[str, Hardship]) -> None:
    found = [breach for hour in hours.values() for breach in hour.breaches]
    assert found
    assert all(breach.found > breach.limit and breach.message for breach in found)


def test_a_document_is_felt_by_the_turns_beside_it(hours: dict[str, Hardship]) -> None:
    paste, ordinary = hours["paste"], hours["ordinary"]
    assert paste.felt.name == "beside the document"
    assert 0 < paste.felt.turns < ordinary.felt.turns
    # 32,767 tokens at 800 tokens/s take 41 s and more: who comes meanwhile waits for a part of it.
    assert paste.felt.ttft.p50 > 5 * ordinary.felt.ttft.p50
    assert paste.felt.pause.p95 > ordinary.felt.pause.p95


def test_everyone_sends_once_where_all_send_at_the_same_moment(hours: dict[str, Hardship]) -> None:
    assert hours["together"].felt.turns + hours["together"].felt.rejected == SLOW["users"]


def test_nothing_breaks_where_everything_is_borne() -> None:
    assert first_broken(list(tried(pause_target=1000, patience=10_000).values())) is None


def test_a_short_queue_turns_people_away_and_that_breaks_a_plan() -> None:
    hour = tried(engine="ollama", users=40, slots=1, max_queue=1)["no_pause"]
    assert "refused" in {breach.measure for breach in hour.breaches}


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"users": 1}, {"together", "adapters"}),  # nobody to be together with
        ({"engine": "vllm"}, {"adapters"}),  # one pass holds several adapters
        ({"adapters": 2, "switch_seconds": 0.5}, {"adapters"}),  # ordinary use has them
        ({"arrivals": "agents"}, {"no_pause"}),  # ordinary use has no pause
        ({"conversation_turns": 1000}, {"long_conversations"}),  # ordinary use has them
    ],
)
def test_an_hour_that_says_nothing_new_is_left_out(changes: dict[str, Any], missing: set[str], hours: dict[str, Hardship]) -> None:
    assert set(hours) - set(tried(**changes, duration=600)) == missing


def test_the_same_request_has_the_same_hours(hours: dict[str, Hardship]) -> None:
    assert [hour.felt for hour in tried().values()] == [hour.felt for hour in hours.values()]


def test_whoever_asks_for_no_more_has_cancelled_the_rest() -> None:
    with pytest.raises(InputError, match="too long to simulate"):
        next(iter(hardships(SLOW, QWEN, max_events=10)))


def test_the_report_names_the_first_broken_and_those_survived(hours: dict[str, Hardship]) -> None:
    every = list(hours.values())
    broken = first_broken(every)
    assert broken is not None
    result, text = hardships_json(every), hardships_text(every)
    assert result["first_broken"] == broken.code
    assert [hour["code"] for hour in result["hardships"]] == list(hours)
    assert f"The first that breaks it: {broken.title[0].lower()}{broken.title[1:]}." in text
    assert broken.breaches[0].message in text
    assert "It survives: ordinary use" in text
